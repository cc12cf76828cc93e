// SPDX-License-Identifier: BSD-3-Clause
// Copy: moves data between two layouts in memory, or between a layout and packed bytes. It walks
// the cursors of both sides, without a list or a buffer in between. Used where data moves between a
// user's buffer and other memory: messages, bounce buffers, collective buffers, mapped files.
#pragma once

#include <cstddef>
#include <span>

#include "type/cursor.hpp"

namespace oratorio {

/// How the target is used after a copy.
enum class Target {
    reused,    ///< read or written again soon
    streamed,  ///< not used soon: large pieces bypass the caches, and evict nothing from them
};

/// Copies the next `bytes` data bytes at the cursor `from` to the cursor `to`, and advances both.
/// The bases are the addresses of offset 0 of each layout, and need not be valid addresses.
/// Streamed stores are ordered before later stores on return. The function allocates and locks
/// nothing, so a signal handler may jump out of it at any point. (Hastings & Choudhary 2006,
/// section 2: two datatype iterators walked together.) REQUIRES: both cursors have `bytes` bytes
/// left; source and target don't overlap.
void copy_between(Cursor& to, std::byte* to_base, Cursor& from, const std::byte* from_base,
                  Bytes bytes, Target target = Target::reused);

/// Packs the next out.size() data bytes at the cursor into `out`, and advances the cursor. `base`
/// is the address of the layout's offset 0.
void gather_bytes(Cursor& memory, const std::byte* base, std::span<std::byte> out);
/// Unpacks `in` to the next in.size() data bytes at the cursor, and advances the cursor.
void scatter_bytes(Cursor& memory, std::byte* base, std::span<const std::byte> in);

}  // namespace oratorio
