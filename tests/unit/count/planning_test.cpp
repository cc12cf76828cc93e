// SPDX-License-Identifier: BSD-3-Clause
// The memory that a rank needs to plan an access, and the memory of the plan that it keeps, in jobs
// of up to a million ranks.
#include "count/planning.hpp"

#include <gtest/gtest.h>

#include "count/facts.hpp"
#include "plan/access.hpp"

namespace oratorio::count {

void PrintTo(const KeptByRole& kept, std::ostream* out) {
    *out << kept.bytes << " bytes, " << kept.known_ranks << " known ranks, " << kept.regions
         << " regions";
}

namespace {

constexpr int kSmall = 16'384;
constexpr int kLarge = 131'072;
constexpr int kMillion = 1'048'576;

TEST(Planning, MemoryIsTheSameInAJobOfAMillionRanks) {
    constexpr Bytes kOfPlan = 4096;  // lists of methods, and of the ranks that an explanation names
    constexpr Bytes kOfKnown = 64;
    for (const char* method : {"two_phase", "cb_cyclic", "two_layer", "two_layer_shared"}) {
        const Planned small = count_plan(kSmall, method);
        for (const KeptByRole& kept : small.kept) {
            EXPECT_GT(kept.bytes, 0) << method;
            EXPECT_LE(kept.bytes, kOfPlan + kOfKnown * kept.known_ranks) << method;
        }
        EXPECT_LE(small.kept[without_role].known_ranks, 3) << method;
        EXPECT_EQ(count_plan(kLarge, method).kept, small.kept) << method;
        EXPECT_EQ(count_plan(kMillion, method).kept, small.kept) << method;
    }
}

constexpr Bytes kMebibyte = 1 << 20;

TEST(Planning, KeepsSummariesOncePerNode) {
    constexpr Bytes kRoom = 96 << 10;  // memory for groups, which are processed a few at a time
    for (const int ranks : {kSmall, kLarge, kMillion}) {
        for (const char* method : {"two_phase", "two_layer"}) {
            const Planned planned = count_plan(ranks, method);
            EXPECT_EQ(planned.list, Bytes{ranks} * 48);
            // Each board has an operand, an outgoing value and a result.
            EXPECT_LE(planned.shared - planned.list, 2 * kMebibyte);
            const auto numbers = static_cast<Bytes>(planned.aggregators * sizeof(Rank));
            EXPECT_LE(planned.most, numbers + kRoom)
                << method << ": the aggregators' numbers, once";
        }
    }
    EXPECT_EQ(count_plan(kMillion, "two_phase").list, 48 * kMebibyte);
}

TEST(Planning, ANodeOfAMillionRanksPlansIn64Mebibytes) {
    for (const char* method : {"two_phase", "cb_cyclic", "two_layer", "two_layer_shared"})
        EXPECT_LE(count_plan(kMillion, method).of_node(), 64 * kMebibyte) << method;
}

TEST(Planning, StepsGrowWithTheLogarithmOfNodes) {
    EXPECT_EQ(count_plan(kSmall, "two_phase").steps, 8);
    EXPECT_EQ(count_plan(kLarge, "two_phase").steps, 11);
    EXPECT_EQ(count_plan(kMillion, "two_phase").steps, 14);
}

TEST(Planning, AnAggregatorKnowsThoseItServes) {
    const Planned one = count_plan(kSmall, "two_phase");
    EXPECT_EQ(one.aggregators, 2U * kSmall / kRanksOfNode);
    // The 32 MiB of an aggregator's domain belong to 32 ranks. The aggregator counts once more as a
    // rank with data.
    EXPECT_EQ(one.kept[aggregator_only].known_ranks, 32 + 1);
    EXPECT_EQ(one.kept[without_role].known_ranks, 1 + 1);
    EXPECT_EQ(one.kept[without_role].regions, 1);
    const Planned two = count_plan(kSmall, "two_layer");
    EXPECT_EQ(two.kept[first_of_node].known_ranks, 1 + kRanksOfNode) << "its group";
    EXPECT_EQ(two.kept[without_role].regions, 0) << "its local aggregator has them";
}

TEST(Planning, ReturnsFactsOfTheRequestedRanks) {
    const Facts facts = count_planning(2048);
    ASSERT_FALSE(facts.empty());
    for (const Fact& fact : facts) {
        EXPECT_TRUE(fact.holds()) << fact.what;
        EXPECT_NE(fact.what.find("2048 ranks"), std::string::npos) << fact.what;
    }
}

}  // namespace
}  // namespace oratorio::count
