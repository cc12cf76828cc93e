// SPDX-License-Identifier: BSD-3-Clause
// Shape codec: a layout as bytes, for another process that walks this process's data. The codec
// encodes the tree and not its pieces. The bytes contain no absolute addresses. A shared sub-shape
// is written each time it occurs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "type/shape.hpp"

namespace oratorio {

/// Returns true if decode() accepts what encode() would append. Takes O(1) time.
[[nodiscard]] bool can_be_encoded(const Layout& layout);
/// Returns the number of bytes that encode() appends.
[[nodiscard]] Bytes encoded_bytes(const Layout& layout);
void encode(const Layout& layout, std::vector<std::byte>& out);

/// Returns the layout that was encoded, with its shape in normal form. Checks everything, because
/// the bytes come from another process. Fails with ErrorKind::internal if they end early or late,
/// are nested deeper than 100 levels, or hold numbers that a walk couldn't add up in 64 bits: a
/// shape with data 2^60 or further from its origin, or with more data than that, an extent beyond
/// 2^61, or an origin beyond 2^62.
[[nodiscard]] Result<Layout> decode(std::span<const std::byte> bytes);

}  // namespace oratorio
