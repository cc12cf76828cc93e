// What the ways through a node's sub-buffers say of a round: its key in the control words, and whom
// it concerns.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plan/plan.hpp"

namespace oratorio {

/// Tells a round from those of all other accesses; never 0. The upper half is the access's own.
[[nodiscard]] inline std::uint64_t round_key(unsigned sequence, std::int64_t round) {
    return (static_cast<std::uint64_t>(sequence) + 1) << 32 | static_cast<std::uint64_t>(round + 1);
}

/// Participants with data there, as far as their hulls tell.
[[nodiscard]] inline std::int64_t ranks_touching(const Plan& plan, const Region& region) {
    return std::count_if(plan.hulls.begin(), plan.hulls.end(),
                         [&](Extent hull) { return region.touches(hull); });
}

}  // namespace oratorio
