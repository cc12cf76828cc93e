// SPDX-License-Identifier: BSD-3-Clause
// What this program has from operator new. A program that asks for it has an operator new that
// counts; of one thread.
#pragma once

#include "base/extent.hpp"

namespace oratorio::count {

struct Allocated {
    Bytes now = 0;
    Bytes most = 0;  ///< since `reset_most`
};
[[nodiscard]] Allocated allocated();
void reset_most();

}  // namespace oratorio::count
