// SPDX-License-Identifier: BSD-3-Clause
// Coverage without lists: a sum of hashes that shows whether pieces tile a range exactly once. Each
// piece [s,e) adds H(e) - H(s). Where pieces touch, their terms cancel, so the sum over all ranks
// is H(b) - H(a) if the pieces cover [a,b) exactly once. Other pieces give this sum with
// probability 2^-64. (docs/internals/architecture.md, "coverage")
#pragma once

#include <cstdint>

#include "type/cursor.hpp"

namespace oratorio {

/// Returns H(at), a 64-bit hash of an offset with a fixed key.
[[nodiscard]] std::uint64_t mix(Offset at);
[[nodiscard]] std::uint64_t coverage(const StridedRun& run);
[[nodiscard]] std::uint64_t coverage(Extent whole);
/// Returns the sum over the data bytes from the cursor to data position `to`, and advances the
/// cursor to it.
[[nodiscard]] std::uint64_t coverage(Cursor& cursor, Bytes to);
/// Returns the sum over the data bytes of `layout` in data positions [from, to).
[[nodiscard]] std::uint64_t coverage(const Layout& layout, Bytes from, Bytes to);

}  // namespace oratorio
