// SPDX-License-Identifier: BSD-3-Clause
// is_shown: whether other processes can see that a file may be written.
#pragma once

#include <string>

#include "file/opening.hpp"
#include "store/store.hpp"

namespace oratorio::test {

/// Returns true if a process that opens the file at `path` can see that some rank may write it.
inline bool is_shown(const std::string& path) {
    const auto other = open_posix(path, {.read = true, .write = true});
    const auto locked = (*other)->is_locked_elsewhere(kPresence);
    return locked && *locked;
}

}  // namespace oratorio::test
