// SPDX-License-Identifier: BSD-3-Clause
// Copy: moves data between two layouts in memory, or between a layout and packed bytes, with the
// cursors of both sides and no list and no buffer in between. For whoever holds a user's buffer and
// a place to fill: exchanges, collective buffers in shared memory, mapped files.
#pragma once

#include <cstddef>
#include <span>

#include "type/cursor.hpp"

namespace oratorio {

/// What becomes of the target after a copy.
enum class Target {
    reused,    ///< it is read or written again soon
    streamed,  ///< it isn't: large pieces are written past the caches, which evicts nothing
};

/// Copies the next `bytes` data bytes from where `from` stands to where `to` stands; both move on.
/// Bases are where offset 0 of each layout lies; they need not point into memory themselves. Both
/// cursors have that many bytes left; source and target don't overlap. (Hastings & Choudhary 2006,
/// section 2: two datatype iterators walked together.) Streamed stores are ordered before later
/// ones when it returns. It neither allocates nor locks, so that a signal's jump may leave it
/// anywhere.
void copy_between(Cursor& to, std::byte* to_base, Cursor& from, const std::byte* from_base,
                  Bytes bytes, Target target = Target::reused);

/// Packs the next out.size() data bytes at the cursor into `out` and moves the cursor on. `base` is
/// where the layout's offset 0 lies.
void gather_bytes(Cursor& memory, const std::byte* base, std::span<std::byte> out);
/// Unpacks `in` to the next in.size() data bytes at the cursor and moves the cursor on.
void scatter_bytes(Cursor& memory, std::byte* base, std::span<const std::byte> in);

}  // namespace oratorio
