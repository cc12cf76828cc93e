// SPDX-License-Identifier: BSD-3-Clause
// Scratch files: what is measured of a file system.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "session.hpp"
#include "store/store.hpp"

namespace oratorio::calibrate {

/// `count` stores of one new file that goes with them, however this process ends, as the library
/// opens files there when hints say nothing. `direct`: as when they ask for direct I/O, past
/// the page cache.
Result<std::vector<std::unique_ptr<Store>>> open_scratch(const std::string& folder, int count,
                                                         bool direct);

/// Whether each of its calls does, as nothing is kept here.
[[nodiscard]] inline bool asks_server(const Store& store) {
    return !store.limits().mappable;
}

/// How much small calls move: less where each asks a server.
[[nodiscard]] Bytes data_of_small_calls(const Store& store, const Scale& scale);

}  // namespace oratorio::calibrate
