// SPDX-License-Identifier: BSD-3-Clause
// The rule for the number of storage targets, and its benefit: the bytes of the busiest target
// under the rules by which Lustre and BeeGFS place stripes.
#include "store/target_rule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace oratorio::test::target_rule_test {
namespace {

constexpr Bytes kMiB = 1 << 20;
constexpr Bytes kGiB = 1 << 30;

struct RuleCase {
    Bytes size;
    TargetLimits limits;
    std::int64_t proposed;
};

TEST(TargetRule, OneTargetForEachGiBWithinTheLimits) {
    for (const auto& [size, limits, proposed] : std::vector<RuleCase>{
             {0, {56, 16}, 1},
             {1, {56, 16}, 1},
             {kGiB, {56, 16}, 1},
             {kGiB + 1, {56, 16}, 2},
             {40 * kGiB, {56, 16}, 40},
             {1000 * kGiB, {56, 16}, 56},
             {1000 * kGiB, {0, 16}, 128},
             {1000 * kGiB, {56, 1}, 8},
             {1000 * kGiB, {1, 16}, 1},
             {INT64_MAX, {100'000, 100'000}, 2000},
         })
        EXPECT_EQ(proposed_targets(size, limits), proposed) << size << " " << limits.targets;
}

TEST(TargetRule, AGrowingLayoutFollowsTheRule) {
    EXPECT_EQ(growing_layout({1, 16}), (std::vector<LayoutPart>{{INT64_MAX, 1}}));
    EXPECT_EQ(growing_layout({56, 1}), (std::vector<LayoutPart>{{kGiB, 1}, {INT64_MAX, 8}}));
    EXPECT_EQ(growing_layout({56, 16}),
              (std::vector<LayoutPart>{{kGiB, 1}, {8 * kGiB, 8}, {INT64_MAX, 56}}));
    for (const LayoutPart& part : growing_layout({100'000, 100'000}))
        EXPECT_EQ(part.targets, proposed_targets(part.end, {100'000, 100'000}));
}

/// Returns the bytes on the busiest target of a file. Stripe i of the file goes to target i modulo
/// the number of targets of its part, as on Lustre and on BeeGFS. The first targets of all parts
/// are the same, which is the worst case.
Bytes busiest(Bytes size, Bytes unit, const std::vector<LayoutPart>& layout) {
    std::vector<Bytes> loads(2000);
    auto part = layout.begin();
    for (Offset at = 0; at < size; at += unit) {
        if (at >= part->end) ++part;
        loads[static_cast<std::size_t>(at / unit % part->targets)] += std::min(unit, size - at);
    }
    return *std::ranges::max_element(loads);
}

std::vector<LayoutPart> plain(std::int64_t targets) {
    return {{INT64_MAX, targets}};
}

struct LoadCase {
    Bytes size;
    Bytes lustre;   ///< busiest target with Lustre's default, one target
    Bytes beegfs;   ///< with BeeGFS's default, four targets
    Bytes rule;     ///< with as many targets as the rule proposes
    Bytes growing;  ///< with the growing layout
};

// docs/internals/decisions/opening.md has these numbers.
TEST(TargetRule, LimitsTheBytesOfTheBusiestTarget) {
    constexpr TargetLimits kLimits{56, 16};
    for (const auto& [size, lustre, beegfs, rule, growing] : std::vector<LoadCase>{
             {kGiB / 4, 256 * kMiB, 64 * kMiB, 256 * kMiB, 256 * kMiB},
             {4 * kGiB, 4096 * kMiB, 1024 * kMiB, 1024 * kMiB, 1408 * kMiB},
             {40 * kGiB, 40960 * kMiB, 10240 * kMiB, 1024 * kMiB, 2505 * kMiB},
             {400 * kGiB, 409600 * kMiB, 102400 * kMiB, 7315 * kMiB, 9088 * kMiB},
         }) {
        SCOPED_TRACE(size);
        const std::int64_t targets = proposed_targets(size, kLimits);
        EXPECT_EQ(busiest(size, kMiB, plain(1)), lustre);
        EXPECT_EQ(busiest(size, kMiB / 2, plain(4)), beegfs);
        EXPECT_EQ(busiest(size, kMiB, plain(targets)), rule);
        EXPECT_EQ(busiest(size, kMiB, growing_layout(kLimits)), growing);
    }
}

}  // namespace
}  // namespace oratorio::test::target_rule_test
