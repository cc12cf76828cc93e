// SPDX-License-Identifier: BSD-3-Clause
// The write mask: which bytes of a round's buffer, or of a window (two_layer/windows), some rank
// has written, one mask byte per data byte (0xff: written). An aggregator with a mask changes only
// those bytes of the file. It need not read the file before the data arrives: the mask shows
// afterwards whether to write the pieces one by one or to read the bytes in between first.
// See docs/internals/decisions/holes-and-locks.md.
#pragma once

#include <cstddef>
#include <span>

#include "plan/domains.hpp"
#include "type/cursor.hpp"

namespace oratorio {

/// The buffer of a round; Region::buffer_position gives the place of each byte of the region.
struct RoundBuffer {
    std::span<std::byte> data;
    std::span<std::byte> mask;  ///< the write mask, as long as `data`; empty if it isn't needed
};

/// Marks the pieces of `run`; `at` is where the mask of its first byte lies.
void mark_written(std::byte* at, const StridedRun& run);
/// Marks the data of `file` in [from, to) that lies in `extent`; `base` is where the mask of file
/// offset 0 would lie.
void mark_written(std::byte* base, Cursor& file, Bytes from, Bytes to, Extent extent);

}  // namespace oratorio
