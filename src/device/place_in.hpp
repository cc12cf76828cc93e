// SPDX-License-Identifier: BSD-3-Clause
// place_in(): the address of a layout's offset. The layout's base may be null (MPI_BOTTOM) or
// outside of all memory, so the address is computed with integers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/extent.hpp"

namespace oratorio {

template <class Byte>
[[nodiscard]] Byte* place_in(Byte* base, Offset offset) {
    return reinterpret_cast<Byte*>(reinterpret_cast<std::uintptr_t>(base) +
                                   static_cast<std::uintptr_t>(offset));
}

}  // namespace oratorio
