// SPDX-License-Identifier: BSD-3-Clause
// Helpers for making datatypes.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace bench {

/// `value` as an MPI count; throws std::invalid_argument when it is too large for one.
int to_int(std::uint64_t value);

MPI_Datatype committed(MPI_Datatype type);
MPI_Datatype contiguous(std::uint64_t count, MPI_Datatype of);

/// `count` blocks of `bytes` bytes, `stride` bytes apart.
MPI_Datatype strided_bytes(std::uint64_t count, std::uint64_t bytes, std::uint64_t stride);

/// Blocks of `bytes` bytes at the given offsets; one byte when there are none, since a view needs
/// it.
MPI_Datatype scattered_bytes(const std::vector<std::uint64_t>& offsets, std::uint64_t bytes);

/// The block [starts, starts + counts) of an array in C order.
MPI_Datatype block_of_array(const std::vector<std::uint64_t>& sizes,
                            const std::vector<std::uint64_t>& counts,
                            const std::vector<std::uint64_t>& starts, MPI_Datatype of);

/// What a rank has along one dimension.
struct Range {
    std::uint64_t first;
    std::uint64_t count;
};

/// Part `part` of `n` elements that are distributed BLOCK.
Range block_range(std::uint64_t n, int parts, int part);

/// The same with parts that differ by one at most; throws std::invalid_argument if one is empty.
Range even_range(std::uint64_t n, int parts, int part);

}  // namespace bench
