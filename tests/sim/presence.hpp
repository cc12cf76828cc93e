// SPDX-License-Identifier: BSD-3-Clause
// is_shown: whether others can see that a file may be written.
#pragma once

#include <string>

#include "file/opening.hpp"
#include "store/store.hpp"

namespace oratorio::test {

/// Returns true if any rank shows to processes that open the file at `path` that it may be written.
inline bool is_shown(const std::string& path) {
    const auto other = open_posix(path, {.read = true, .write = true});
    const auto locked = (*other)->is_locked_elsewhere(kPresence);
    return locked && *locked;
}

}  // namespace oratorio::test
