// SPDX-License-Identifier: BSD-3-Clause
// Scratch files: what is measured of a file system.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/store.hpp"

namespace oratorio::calibrate {

/// `count` stores of one new file that goes with them, however this process ends; `direct`: past
/// the page cache.
Result<std::vector<std::unique_ptr<Store>>> open_scratch(const std::string& folder, int count,
                                                         bool direct);

}  // namespace oratorio::calibrate
