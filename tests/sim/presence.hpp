// SPDX-License-Identifier: BSD-3-Clause
// What others see of a file that some rank may write.
#pragma once

#include <string>

#include "file/opening.hpp"
#include "store/store.hpp"

namespace oratorio::test {

/// Somebody shows those who open the file at `path` that it may be written.
inline bool is_shown(const std::string& path) {
    const auto other = open_posix(path, {.read = true, .write = true});
    const auto locked = (*other)->is_locked_elsewhere(kPresence);
    return locked && *locked;
}

}  // namespace oratorio::test
