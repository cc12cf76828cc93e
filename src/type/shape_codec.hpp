// SPDX-License-Identifier: BSD-3-Clause
// Shape codec: a layout as bytes, for another process that walks this process's data, or for a
// trace. The codec encodes the tree, not a list of pieces. The bytes contain no pointers; offsets
// may be addresses (MPI_BOTTOM). A shared sub-shape is written each time it occurs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "type/shape.hpp"

namespace oratorio {

/// Returns true if decode() is sure to accept what encode() would append; false for layouts close
/// to or beyond the limits of decode(). Takes O(1) time.
[[nodiscard]] bool can_be_encoded(const Layout& layout);
/// Returns the number of bytes that encode() appends.
[[nodiscard]] Bytes encoded_bytes(const Layout& layout);
/// Appends the layout to `out`.
void encode(const Layout& layout, std::vector<std::byte>& out);

/// Returns the layout that was encoded, with its shape in normal form. Validates all bytes, because
/// they come from another process. Fails with ErrorKind::internal if they end early or late, hold
/// an unknown kind of node or an impossible count, are nested deeper than 100 levels, or hold
/// numbers that a walk couldn't add up in 64 bits: a shape that reaches further than 2^60 from its
/// origin or has more than 2^60 data bytes, an extent beyond 2^61, or an origin beyond 2^62.
[[nodiscard]] Result<Layout> decode(std::span<const std::byte> bytes);

}  // namespace oratorio
