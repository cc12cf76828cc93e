// SPDX-License-Identifier: BSD-3-Clause
// The messages between ranks as the cost model counts them, compared with those of real plans.
#include "plan/traffic.hpp"

#include <gtest/gtest.h>

#include "unit/plan/plan_support.hpp"

namespace oratorio::test::traffic_test {
namespace {

constexpr int kRanks = 8;
constexpr int kAggregators = 4;
constexpr Bytes kHull = 64 << 20;

/// Returns the planning inputs of ranks with equal shares, each with a hull of `hull` bytes.
PlanInputs situation_of(const FlatTerms& terms, int nodes, double hull = kHull) {
    PlanInputs s;
    s.direction = Direction::write;
    s.collective = s.covered = true;
    s.ranks = s.ranks_with_data = kRanks;
    s.nodes = nodes;
    s.aggregators = kAggregators;
    s.hull = {0, kHull};
    s.bytes = kHull;
    s.hulls = kRanks * hull;
    s.options = &terms;
    s.facts = &terms;
    return s;
}

/// Numbers of pairs of a rank and a region in which the rank has data that another rank aggregates:
/// a rank of the same node (near) or of another node (far).
struct Pairs {
    double near = 0;
    double far = 0;
};

Pairs pairs_of(const Plan& plan, int nodes) {
    Pairs pairs;
    for (Rank rank = 0; rank < kRanks; ++rank) {
        for (RankRegions at = plan.regions_of(rank); !at.at_end(); at.advance()) {
            const Rank owner = plan.aggregators[static_cast<std::size_t>(at.aggregator())];
            const int per_node = kRanks / nodes;
            if (owner / per_node != rank / per_node) ++pairs.far;
            if (owner / per_node == rank / per_node && owner != rank) ++pairs.near;
        }
    }
    return pairs;
}

TEST(Traffic, EqualsThePlanIfAllRanksExchangeData) {
    for (const int nodes : {1, 2, 4}) {
        for (const char* name : {"two_phase", "double_buffer", "cb_cyclic"}) {
            FlatTerms terms = all_allowed();
            terms.method = find_method(name);
            terms.cb_buffer_size = 4 << 20;
            terms.cb_nodes = kAggregators;
            terms.message_bytes = 4 << 20;  // so large that a rank's data in a region is one
                                            // message
            const auto summaries = interleaved(kRanks, 64, kHull / 64 / kRanks);
            const Plan plan = plan_of(summaries, terms, 0, Direction::write, nodes);
            ASSERT_EQ(plan.method->name, name);
            ASSERT_EQ(std::ssize(plan.aggregators), kAggregators);
            const Pairs pairs = pairs_of(plan, nodes);
            const Traffic traffic = traffic_of(*plan.method, situation_of(terms, nodes));
            EXPECT_EQ(traffic.near_messages, pairs.near) << name << ", nodes " << nodes;
            EXPECT_EQ(traffic.far_messages, pairs.far) << name << ", nodes " << nodes;
            EXPECT_EQ(traffic.rounds, static_cast<double>(plan.rounds)) << name;
            EXPECT_EQ(traffic.slot_bytes, static_cast<double>(plan.slot_bytes)) << name;
        }
    }
}

TEST(Traffic, MoreBytesCrossWithMoreNodes) {
    const FlatTerms terms;
    const Method& two_phase = *find_method("two_phase");
    EXPECT_EQ(traffic_of(two_phase, situation_of(terms, 1)).far_bytes, 0);
    EXPECT_EQ(traffic_of(two_phase, situation_of(terms, 1)).far_messages, 0);
    EXPECT_EQ(traffic_of(two_phase, situation_of(terms, 2)).far_bytes, kHull / 2);
    EXPECT_EQ(traffic_of(two_phase, situation_of(terms, 4)).far_bytes, kHull / 4 * 3);
    EXPECT_EQ(traffic_of(two_phase, situation_of(terms, 8)).far_bytes, kHull / 8 * 7);
    EXPECT_EQ(traffic_of(two_phase, situation_of(terms, 8)).near_messages, 0) << "a rank each";
}

TEST(Traffic, DataOnItsOwnNodeDoesNotCrossTheNetwork) {
    const FlatTerms terms;
    PlanInputs s = situation_of(terms, 2);
    const Traffic everywhere = traffic_of(*find_method("cb_cyclic"), s);
    s.locality = {.own = 0.25, .node = 0.75};
    const Traffic even = traffic_of(*find_method("two_phase"), s);
    EXPECT_EQ(even.own_share, 0.25);
    EXPECT_EQ(even.far_bytes, kHull / 4);
    EXPECT_EQ(even.near_messages, 2 * even.far_messages) << "a half of all data, and a quarter";
    const Traffic cyclic = traffic_of(*find_method("cb_cyclic"), s);
    EXPECT_EQ(cyclic.far_bytes, everywhere.far_bytes) << "blocks that are dealt go everywhere";
    const Traffic one = traffic_of(*find_method("one_writer"), s);
    EXPECT_EQ(one.far_bytes, kHull / 2) << "the one writer gets all ranks' data";
    const Traffic grouped = traffic_of(*find_method("two_layer"), s);
    EXPECT_EQ(grouped.far_bytes, kHull / 4);
    EXPECT_EQ(grouped.own_share, 0.75 / (groups_of(s) / 2)) << "shared by a node's groups";
}

TEST(Traffic, NoMessageIsLargerThanTheHintSays) {
    FlatTerms terms;
    terms.message_bytes = 64 << 10;
    const Traffic traffic = traffic_of(*find_method("two_phase"), situation_of(terms, 8));
    EXPECT_EQ(traffic.far_messages, (kHull >> 16) / 8 * 7);
}

TEST(Traffic, RanksThatLieOneAfterAnotherMeetFewDomainsAndAllCyclicOnes) {
    FlatTerms terms;
    terms.cyclic_block = 64 << 10;
    PlanInputs s = situation_of(terms, 8, static_cast<double>(kHull) / kRanks);
    s.bytes = 1 << 20;  // so few that each rank sends one message to each aggregator
    const double even = traffic_of(*find_method("two_phase"), s).far_messages;
    const double cyclic = traffic_of(*find_method("cb_cyclic"), s).far_messages;
    EXPECT_EQ(cyclic, kRanks * kAggregators * 7 / 8.0) << "each rank sends to all aggregators";
    EXPECT_EQ(even, kRanks * 1.5 * 7 / 8.0) << "half a domain each, at times in two";
}

/// Returns accesses of `each` bytes, one rank's after another's.
Summaries one_after_another(Bytes each) {
    Summaries summaries;
    for (Rank rank = 0; rank < kRanks; ++rank) {
        Access access;
        access.direction = Direction::write;
        access.file = {Shape::run(each), each, rank * each, 1};
        access.memory = {Shape::run(each), each, 0, 1};
        summaries.push_back(summarise(access, true));
    }
    return summaries;
}

TEST(Traffic, ConsecutiveDataOfRanksStaysOnTheirNodes) {
    for (const int nodes : {2, 4}) {
        FlatTerms terms;
        terms.method = find_method("two_phase");
        const Plan plan =
            plan_of(one_after_another(kHull / kRanks), terms, 0, Direction::write, nodes);
        EXPECT_EQ(std::ssize(plan.aggregators), 2 * nodes);
        EXPECT_EQ(pairs_of(plan, nodes).far, 0) << nodes;
        EXPECT_GT(plan.rounds, 0);
    }
}

TEST(Traffic, BlocksThatAreDealtGoToOneNodeAfterAnother) {
    FlatTerms terms;
    terms.method = find_method("cb_cyclic");
    const Plan plan = plan_of(one_after_another(kHull / kRanks), terms, 0, Direction::write, 4);
    EXPECT_EQ(plan.aggregators, (std::vector<Rank>{0, 2, 4, 6, 1, 3, 5, 7}));
}

TEST(Traffic, OneWriterHasOneEndpoint) {
    const FlatTerms terms;
    const Traffic traffic = traffic_of(*find_method("one_writer"), situation_of(terms, 4));
    EXPECT_EQ(traffic.aggregators, 1);
    EXPECT_EQ(traffic.storing_nodes, 1);
    EXPECT_EQ(traffic_of(*find_method("two_phase"), situation_of(terms, 4)).storing_nodes, 4);
}

}  // namespace
}  // namespace oratorio::test::traffic_test
