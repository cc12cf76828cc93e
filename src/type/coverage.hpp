// SPDX-License-Identifier: BSD-3-Clause
// Coverage without lists: a sum of hashes that tells whether pieces tile a range exactly once.
// Each piece [s,e) adds H(e) - H(s); inner ends cancel, so the sum over all ranks is H(b) - H(a)
// exactly when the pieces cover [a,b) once. Equal by chance with probability 2^-64.
// (docs/architecture.md, "coverage")
#pragma once

#include <cstdint>

#include "type/cursor.hpp"

namespace oratorio {

/// Keyed 64-bit mix of an offset.
[[nodiscard]] std::uint64_t mix(Offset at);
[[nodiscard]] std::uint64_t coverage(const StridedRun& run);
[[nodiscard]] std::uint64_t coverage(Extent whole);
/// Sum over the data bytes from where `cursor` stands to data position `to`, where it stands then.
[[nodiscard]] std::uint64_t coverage(Cursor& cursor, Bytes to);
/// Sum over the data bytes of `layout` in data positions [from, to).
[[nodiscard]] std::uint64_t coverage(const Layout& layout, Bytes from, Bytes to);

}  // namespace oratorio
