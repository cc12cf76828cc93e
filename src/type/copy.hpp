// Copy kernels: strided pieces at memory speed, and cursors over user memory on top of them.
#pragma once

#include <cstddef>
#include <span>

#include "type/cursor.hpp"

namespace oratorio {

/// Copies `count` pieces of `length` bytes; strides in bytes, any sign, no overlap between source
/// and target. Lengths 1 2 4 8 16 have kernels of their own.
void copy_strided(std::byte* to, Bytes to_stride, const std::byte* from, Bytes from_stride,
                  Bytes length, std::int64_t count);

/// Packs the next out.size() data bytes at the cursor into `out` and moves the cursor on. `base` is
/// where the layout's offset 0 lies.
void gather_bytes(Cursor& memory, const std::byte* base, std::span<std::byte> out);
/// Unpacks `in` to the next in.size() data bytes at the cursor and moves the cursor on.
void scatter_bytes(Cursor& memory, std::byte* base, std::span<const std::byte> in);

}  // namespace oratorio
