// SPDX-License-Identifier: BSD-3-Clause
// Combiners: one rule per datatype constructor of MPI (MPI-4.1, 5.1), from its arguments to a
// shape.
#pragma once

#include <span>

#include "mpi/datatype_contents.hpp"
#include "mpi/decode.hpp"

namespace oratorio {

/// Returns a * b or, if that overflows, INT64_MAX, which shapes refuse.
[[nodiscard]] inline Offset product(std::int64_t a, std::int64_t b) {
    Offset made = 0;
    return __builtin_mul_overflow(a, b, &made) ? INT64_MAX : made;
}

/// Returns the shape of a derived datatype. `members` are its decoded member types, in the order of
/// contents.members(). Long lists are allocated from `memory`, which may be null.
[[nodiscard]] Result<ShapePtr> combine(const DatatypeContents& contents,
                                       std::span<const DecodedType> members,
                                       const std::shared_ptr<BlockCache>& memory = nullptr);

/// Returns the shape of a predefined datatype of `size` data bytes. The pair types of MINLOC may
/// have a hole between their two values.
[[nodiscard]] Result<ShapePtr> predefined_shape(MPI_Datatype type, Bytes size, Bytes extent);

}  // namespace oratorio
