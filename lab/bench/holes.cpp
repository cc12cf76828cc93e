// SPDX-License-Identifier: BSD-3-Clause
#include "holes.hpp"

#include <algorithm>
#include <memory>

namespace bench {

Holes periodic_holes(std::uint64_t period, std::uint64_t kept) {
    if (kept == period) return {};
    return {[=](std::uint64_t offset) {
        const std::uint64_t start = offset / period * period;
        return Span{start + kept, start + period};
    }};
}

Holes holes_between(std::vector<Span> covered) {
    std::sort(covered.begin(), covered.end(),
              [](const Span& a, const Span& b) { return a.begin < b.begin; });
    const auto holes = std::make_shared<std::vector<Span>>();
    std::uint64_t end = 0;
    for (const Span& span : covered) {
        if (span.begin > end) holes->push_back({end, span.begin});
        end = std::max(end, span.end);
    }
    if (holes->empty()) return {};
    return {[holes](std::uint64_t offset) {
        const auto after =
            std::upper_bound(holes->begin(), holes->end(), offset,
                             [](std::uint64_t at, const Span& hole) { return at < hole.end; });
        return after == holes->end() ? no_span : *after;
    }};
}

}  // namespace bench
