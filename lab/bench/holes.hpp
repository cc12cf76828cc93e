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
    /// Returns the first hole that ends after an offset, no_span if there is none. An empty
    /// function: no holes.
    std::function<Span(std::uint64_t)> next;
    std::byte content{0};  ///< what must stay there

    Span first_after(std::uint64_t offset) const { return next ? next(offset) : no_span; }
};

/// Returns holes that cover, in every `period` bytes, those from `kept` on.
Holes periodic_holes(std::uint64_t period, std::uint64_t kept);

/// Returns what the spans leave uncovered before the end of the last one. They may come in any
/// order.
Holes holes_between(std::vector<Span> covered);

}  // namespace bench
