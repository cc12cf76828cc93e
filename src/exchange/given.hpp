// SPDX-License-Identifier: BSD-3-Clause
// Given bytes: which bytes of a round's buffer some rank gave, in a mask of a byte per byte (0xff:
// given). An aggregator that knows them writes nothing else, so nothing need be read before the
// data is there. docs/decisions/0002-holes-and-locks.md.
#pragma once

#include <cstddef>
#include <span>

#include "plan/domains.hpp"
#include "type/cursor.hpp"

namespace oratorio {

/// Where the data of a round's region lies, as Region::buffer_position says.
struct RoundBuffer {
    std::span<std::byte> data;
    std::span<std::byte> given;  ///< the mask, as long as the data; empty where nobody will ask
};

/// The pieces of `run` were given; the first one's mask begins at `mask`.
void mark_given(std::byte* mask, const StridedRun& run);
/// The data of `file` in [from, to) that lies in `extent` was given; `base` is where the mask of
/// the file's offset 0 would lie.
void mark_given(std::byte* base, Cursor& file, Bytes from, Bytes to, Extent extent);

}  // namespace oratorio
