// SPDX-License-Identifier: BSD-3-Clause
// Allocated: the memory that this program has from operator new, which allocated.cpp replaces.
// REQUIRES: the program has one thread.
#pragma once

#include "base/extent.hpp"

namespace oratorio::count {

struct Allocated {
    Bytes now = 0;
    Bytes most = 0;  ///< largest value of `now` since reset_most()
};
[[nodiscard]] Allocated allocated();
void reset_most();

}  // namespace oratorio::count
