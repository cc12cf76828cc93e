// SPDX-License-Identifier: BSD-3-Clause
#include "store/target_rule.hpp"

#include <algorithm>

namespace oratorio {

namespace {

constexpr Bytes kBytesOfTarget = Bytes{1} << 30;
constexpr std::int64_t kTargetsOfNode = 8;
/// The largest number of targets of a file on Lustre.
constexpr std::int64_t kTargetsOfFile = 2000;

std::int64_t most_targets(const TargetLimits& limits) {
    const std::int64_t of_nodes = std::min(kTargetsOfNode * limits.nodes, kTargetsOfFile);
    return limits.targets > 0 ? std::min(of_nodes, limits.targets) : of_nodes;
}

}  // namespace

std::int64_t proposed_targets(Bytes size, const TargetLimits& limits) {
    const std::int64_t of_size = size / kBytesOfTarget + (size % kBytesOfTarget != 0 ? 1 : 0);
    return std::clamp<std::int64_t>(of_size, 1, most_targets(limits));
}

std::vector<LayoutPart> growing_layout(const TargetLimits& limits) {
    constexpr Bytes kGrowth = 8;
    std::vector<LayoutPart> parts;
    for (Bytes end = kBytesOfTarget; proposed_targets(end, limits) < most_targets(limits);
         end *= kGrowth)
        parts.push_back({end, proposed_targets(end, limits)});
    parts.push_back({INT64_MAX, most_targets(limits)});
    return parts;
}

}  // namespace oratorio
