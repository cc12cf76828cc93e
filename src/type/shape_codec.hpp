// SPDX-License-Identifier: BSD-3-Clause
// Shape codec: a layout as bytes, for another process that walks one's data. The tree is encoded,
// not its pieces, and nothing in it depends on where it lies. Sub-shapes that are shared are
// written each time they occur.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "type/shape.hpp"

namespace oratorio {

/// Whether decode() takes what encode() appends. O(1).
[[nodiscard]] bool can_be_encoded(const Layout& layout);
/// What encode() appends, in bytes.
[[nodiscard]] Bytes encoded_bytes(const Layout& layout);
void encode(const Layout& layout, std::vector<std::byte>& out);

/// The layout that was encoded, its shape in normal form. Checks everything, for the bytes come
/// from another process: ErrorKind::internal when they end early or late, are nested deeper than
/// 100 levels, or hold numbers that a walk couldn't add up in 64 bits (a shape with data at or
/// beyond
/// +-2^60 or more data than that, an extent beyond 2^61, an origin beyond 2^62).
[[nodiscard]] Result<Layout> decode(std::span<const std::byte> bytes);

}  // namespace oratorio
