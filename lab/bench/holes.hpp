// SPDX-License-Identifier: BSD-3-Clause
// Holes: the parts of a test file that no rank writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace bench {

/// Bytes [begin, end) of a file.
struct Span {
    std::uint64_t begin;
    std::uint64_t end;
};
constexpr Span no_span{std::numeric_limits<std::uint64_t>::max(),
                       std::numeric_limits<std::uint64_t>::max()};

struct Holes {
    /// Returns the first hole that ends after an offset, or no_span if there is none. If this
    /// function is empty, the file has no holes.
    std::function<Span(std::uint64_t)> next;
    std::byte content{0};  ///< value of each byte in a hole, which a write must not change

    Span first_after(std::uint64_t offset) const { return next ? next(offset) : no_span; }
};

/// Returns a hole in every `period` bytes: all bytes but the first `kept`.
Holes periodic_holes(std::uint64_t period, std::uint64_t kept);

/// Returns the gaps that the spans leave before the end of the last span. The spans may come in any
/// order.
Holes holes_between(std::vector<Span> covered);

}  // namespace bench
