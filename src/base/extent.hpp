// SPDX-License-Identifier: BSD-3-Clause
// Offsets, lengths and half-open file ranges. All quantities are bytes and 64-bit.
#pragma once

#include <algorithm>
#include <cstdint>

namespace oratorio {

using Offset =
    std::int64_t;            ///< a position in a file or, relative to the user's pointer, in memory
using Bytes = std::int64_t;  ///< a length
using Rank = int;            ///< a rank of the file's communicator

/// No byte of a file lies at or after this offset (4 EiB), and no datatype reaches further from its
/// origin in either direction: the sum of any two offsets fits 64 bits. Locks that protect no data
/// lie at and after it.
constexpr Offset kOffsetLimit = Offset{1} << 62;

/// What the page caches of nearly all machines and file systems keep at once. Where this machine's
/// own pages matter, as for mappings and guards, the system is asked.
constexpr Bytes kPage = 4096;

/// Half-open byte range [begin, end) of a file.
struct Extent {
    Offset begin = 0;
    Offset end = 0;

    [[nodiscard]] constexpr Bytes length() const { return end - begin; }
    [[nodiscard]] constexpr bool empty() const { return end <= begin; }
    [[nodiscard]] constexpr bool contains(Offset at) const { return at >= begin && at < end; }
    constexpr bool operator==(const Extent&) const = default;
};

[[nodiscard]] constexpr Extent intersect(Extent a, Extent b) {
    const Extent both{std::max(a.begin, b.begin), std::min(a.end, b.end)};
    return both.empty() ? Extent{both.begin, both.begin} : both;
}

/// Smallest extent that holds both; an empty one adds nothing.
[[nodiscard]] constexpr Extent hull(Extent a, Extent b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

}  // namespace oratorio
