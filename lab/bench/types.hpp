// SPDX-License-Identifier: BSD-3-Clause
// Helpers for making datatypes.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace bench {

/// Returns `value` as an MPI count; throws std::invalid_argument if it is too large for one.
int to_int(std::uint64_t value);

MPI_Datatype committed(MPI_Datatype type);
MPI_Datatype contiguous(std::uint64_t count, MPI_Datatype of);

/// Returns a type of `count` blocks of `bytes` bytes, `stride` bytes apart.
MPI_Datatype strided_bytes(std::uint64_t count, std::uint64_t bytes, std::uint64_t stride);

/// Returns a type of blocks of `bytes` bytes at these offsets. Without offsets it is one byte,
/// since a view needs a filetype that isn't empty.
MPI_Datatype scattered_bytes(const std::vector<std::uint64_t>& offsets, std::uint64_t bytes);

/// Returns the type of block [starts, starts + counts) of an array in C order.
MPI_Datatype block_of_array(const std::vector<std::uint64_t>& sizes,
                            const std::vector<std::uint64_t>& counts,
                            const std::vector<std::uint64_t>& starts, MPI_Datatype of);

/// The elements of a rank along one dimension.
struct Range {
    std::uint64_t first;
    std::uint64_t count;
};

/// Returns part `part` of `n` elements that are distributed BLOCK.
Range block_range(std::uint64_t n, int parts, int part);

/// Returns part `part` of `n` elements, as block_range does, but the sizes of the parts differ by
/// at most one. Throws std::invalid_argument if a part is empty.
Range even_range(std::uint64_t n, int parts, int part);

}  // namespace bench
