// SPDX-License-Identifier: BSD-3-Clause
// Scratch files for measuring a file system.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "session.hpp"
#include "store/store.hpp"

namespace oratorio::calibrate {

/// Opens `count` stores of one new file, as the library opens files in this folder without hints
/// or, with `direct`, with hints for direct I/O, which bypasses the page cache. The file disappears
/// with the stores, however this process ends.
Result<std::vector<std::unique_ptr<Store>>> open_scratch(const std::string& folder, int count,
                                                         bool direct);

/// Returns true if each call of the store goes to a server, because nothing is cached here.
[[nodiscard]] inline bool asks_server(const Store& store) {
    return !store.limits().mappable;
}

/// Returns the number of bytes that small calls move: fewer where each call goes to a server.
[[nodiscard]] Bytes data_of_small_calls(const Store& store, const Scale& scale);

}  // namespace oratorio::calibrate
