// SPDX-License-Identifier: BSD-3-Clause
#include "plan/layers.hpp"

#include <gtest/gtest.h>

#include "unit/plan/plan_support.hpp"

namespace oratorio::test::layers_test {
namespace {

/// Returns the numbers of the local aggregators among `ranks` ranks of a node.
std::vector<int> places(int ranks, int count) {
    std::vector<int> places;
    for (int i = 0; i < count; ++i) places.push_back(place_of_local_aggregator(i, ranks, count));
    EXPECT_EQ(place_of_local_aggregator(count, ranks, count), ranks);
    return places;
}

Layers layers_of(const Nodes& topology, const PlanOptions& options) {
    const Summaries summaries(static_cast<std::size_t>(topology.size));
    return {topology, Groups(topology, summaries, options)};
}

PlanOptions per_node(int count) {
    PlanOptions options;
    options.local_aggregators_per_node = count;
    return options;
}

TEST(LocalAggregators, ThePapersExamples) {
    // One of the two local aggregators serves ranks 0 to 2, the other ranks 3 and 4.
    EXPECT_EQ(places(5, 2), (std::vector<int>{0, 3}));
    // Figure 1 of Kang et al. (2019) shows four local aggregators of eight ranks.
    EXPECT_EQ(places(8, 4), (std::vector<int>{0, 2, 4, 6}));
    const Layers layers = layers_of(nodes_of(5), per_node(2));
    EXPECT_EQ(layers.group_of(0), (std::vector<Rank>{0, 1, 2}));
    EXPECT_EQ(layers.group_of(3), (std::vector<Rank>{3, 4}));
    EXPECT_EQ(layers.group_ranks(), 3);
}

TEST(LocalAggregators, GroupsDifferByOneRankAtMost) {
    for (int ranks = 1; ranks <= 70; ++ranks) {
        for (int count = 1; count <= ranks; ++count) {
            for (int i = 0; i < count; ++i) {
                const int group = place_of_local_aggregator(i + 1, ranks, count) -
                                  place_of_local_aggregator(i, ranks, count);
                EXPECT_GE(group, ranks / count);
                EXPECT_LE(group, (ranks + count - 1) / count);
            }
        }
    }
}

TEST(LocalAggregators, UnevenNodesWithConsecutiveRanks) {
    Nodes topology;
    topology.size = 9;
    topology.node_of = std::vector{0, 1, 0, 2, 0, 1, 0, 0, 1};  // five, three and one ranks
    topology.node_names = {"a", "b", "c"};
    const Layers layers = layers_of(topology, per_node(2));
    EXPECT_EQ(layers.local_aggregators(), (std::vector<Rank>{0, 1, 3, 6, 8}));
    EXPECT_EQ(layers.group_of(0), (std::vector<Rank>{0, 2, 4}));
    EXPECT_EQ(layers.group_of(6), (std::vector<Rank>{6, 7}));
    EXPECT_EQ(layers.group_of(1), (std::vector<Rank>{1, 5}));
    EXPECT_EQ(layers.group_of(8), (std::vector<Rank>{8}));
    EXPECT_EQ(layers.group_of(3), (std::vector<Rank>{3}));
    for (Rank rank = 0; rank < topology.size; ++rank)
        EXPECT_EQ(topology.node(layers.local_aggregator_of(rank)), topology.node(rank));
}

TEST(LocalAggregators, HintsSayHowManyInAllAndOnANode) {
    const Nodes topology = nodes_of(32, 4);
    PlanOptions options;
    EXPECT_EQ(layers_of(topology, options).local_aggregators().size(), 8U) << "four ranks each";
    options.local_aggregators = 6;  // the first two nodes get two each
    EXPECT_EQ(layers_of(topology, options).local_aggregators(),
              (std::vector<Rank>{0, 4, 8, 12, 16, 24}));
    options.local_aggregators = 1;  // each node still has at least one
    EXPECT_EQ(layers_of(topology, options).local_aggregators(), (std::vector<Rank>{0, 8, 16, 24}));
    options.local_aggregators = 20;
    options.local_aggregators_per_node = 3;  // the smaller of the two numbers counts
    EXPECT_EQ(layers_of(topology, options).local_aggregators().size(), 12U);
    EXPECT_EQ(layers_of(topology, per_node(100)).local_aggregators().size(), 32U);
    EXPECT_EQ(layers_of(topology, per_node(100)).group_ranks(), 1);
}

TEST(LocalAggregators, ARankWithoutMemoryIsReplacedByOneOfItsGroup) {
    Summaries summaries(6);
    summaries[0].flags = flag_no_store;
    summaries[1].flags = flag_no_store;
    const Layers layers(nodes_of(6), Groups(nodes_of(6), summaries, per_node(2)));
    EXPECT_EQ(layers.group_of(2), (std::vector<Rank>{0, 1, 2}));
    EXPECT_EQ(layers.group_of(3), (std::vector<Rank>{3, 4, 5}));
}

TEST(LocalAggregators, MessagesOfAGroupFitHalfOfACollectiveBuffer) {
    PlanOptions options;
    for (const int group : {1, 2, 3, 7, 64, 500}) {
        const Bytes each = local_message_bytes(options, group);
        EXPECT_LE(each * group * 2 * kMessagesOfMember, options.cb_buffer_size / 2) << group;
        EXPECT_LE(each, message_bytes_of(options));
        EXPECT_GE(each, 4096);
    }
    options.cb_buffer_size = 64;
    EXPECT_EQ(local_message_bytes(options, 64), 4096) << "the least";
}

/// Groups are processed a few at a time, even to find what a single rank needs.
TEST(LocalAggregators, ARankOfManyGroupsKnowsItsNodeAndTheFirstOnes) {
    constexpr int kRanks = 12000;
    constexpr int kNodes = 3000;
    Nodes in_turn;  // ranks are dealt to the nodes in turn
    in_turn.size = kRanks;
    for (Rank rank = 0; rank < kRanks; ++rank) in_turn.node_of.push_back(rank % kNodes);
    Summaries summaries(kRanks);
    for (Rank rank = 0; rank < kRanks; ++rank) {
        AccessSummary& one = summaries[static_cast<std::size_t>(rank)];
        one.flags = rank % 7 == 0 ? std::uint16_t{flag_no_store} : std::uint16_t{0};
        one.bytes = 1;
        one.hull = {rank, rank + 1};
    }
    for (const Nodes& nodes : {in_turn, nodes_of(kRanks, kNodes)}) {
        const PlanOptions options = per_node(2);
        const Groups groups(nodes, summaries, options);
        std::size_t count = 0;
        groups.each([&](const Group& group) {
            const auto rank_at = [&](int i) {
                return nodes.rank_at({group.first.node, group.first.place + i});
            };
            ASSERT_EQ(group.ranks, 2);
            EXPECT_EQ(group.hull, (Extent{rank_at(0), rank_at(1) + 1}));
            EXPECT_EQ(group.local, rank_at(0) % 7 == 0 ? rank_at(1) : rank_at(0));
            ++count;
        });
        EXPECT_EQ(count, 2U * kNodes);
        const Layers whole(nodes, groups);
        for (const Rank rank : {0, 5, 7777, kRanks - 1}) {
            const Layers own = Layers(nodes, groups, rank).for_rank(rank, nodes);
            const Layers of_whole = whole.for_rank(rank, nodes);
            EXPECT_EQ(own.local_aggregators(), of_whole.local_aggregators()) << rank;
            EXPECT_EQ(own.group_of(rank), whole.group_of(rank)) << rank;
            EXPECT_EQ(own.local_aggregator_of(rank), whole.local_aggregator_of(rank)) << rank;
        }
    }
}

/// The largest run of Kang et al. (2019) has 256 local aggregators for 16 384 ranks.
TEST(LocalAggregators, SixteenThousandRanksOn256Nodes) {
    constexpr int kRanks = 16384;
    constexpr int kNodes = 256;
    const Nodes topology = nodes_of(kRanks, kNodes);
    const Layers layers = layers_of(topology, {});
    const std::vector<Rank> locals = layers.local_aggregators();
    ASSERT_EQ(locals.size(), 256U);
    for (int node = 0; node < kNodes; ++node) EXPECT_EQ(locals[node], node * 64);
    EXPECT_EQ(layers.group_ranks(), 64);
    const Layers four = layers_of(topology, per_node(4));
    EXPECT_EQ(four.local_aggregators().size(), 1024U);
    EXPECT_EQ(four.group_of(16),
              (std::vector<Rank>{16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}));
}

}  // namespace
}  // namespace oratorio::test::layers_test
