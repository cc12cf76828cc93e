// SPDX-License-Identifier: BSD-3-Clause
// Offsets, lengths and half-open ranges of bytes, all of 64 bits; and ranks.
#pragma once

#include <algorithm>
#include <cstdint>

namespace oratorio {

using Offset =
    std::int64_t;            ///< a position in a file or, relative to the user's pointer, in memory
using Bytes = std::int64_t;  ///< a length
using Rank = int;            ///< a rank of the file's communicator

/// The limit of file offsets (4 EiB): no byte of a file lies at or after it, and no datatype
/// reaches further from its origin in either direction. So the sum of any two offsets fits in 64
/// bits. Byte-range locks that protect something other than data lie at and after this limit.
constexpr Offset kOffsetLimit = Offset{1} << 62;

/// The page size of the page cache on nearly all machines and file systems. Code that maps or
/// protects memory asks the system for its own page size (page_bytes()).
constexpr Bytes kPage = 4096;

/// Half-open range [begin, end) of bytes in a file, in memory or in the data of an access.
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

/// Returns the smallest extent that holds both. An empty extent adds nothing.
[[nodiscard]] constexpr Extent hull(Extent a, Extent b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

}  // namespace oratorio
