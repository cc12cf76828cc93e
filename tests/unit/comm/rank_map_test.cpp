// SPDX-License-Identifier: BSD-3-Clause
// RankMap: conversions from a list of nodes and back, and the map's size in words.
#include "comm/rank_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/random.hpp"

namespace oratorio::test::rank_map_test {
namespace {

/// Compares everything that a rank map reports with a plain walk of the list.
void expect_tells(const RankMap& placement, const std::vector<int>& node_of) {
    ASSERT_EQ(placement.size(), node_of.size());
    std::vector<int> seen(static_cast<std::size_t>(placement.nodes()));
    std::vector<NodeSlot> visited;
    placement.each([&](Rank rank, NodeSlot slot) {
        ASSERT_EQ(static_cast<std::size_t>(rank), visited.size());
        visited.push_back(slot);
    });
    for (std::size_t i = 0; i < node_of.size(); ++i) {
        const auto rank = static_cast<Rank>(i);
        const NodeSlot slot{node_of[i], seen[static_cast<std::size_t>(node_of[i])]++};
        ASSERT_EQ(placement.slot(rank), slot) << "rank " << rank;
        ASSERT_EQ(visited[i], slot) << "rank " << rank;
        ASSERT_EQ(placement[i], slot.node);
        ASSERT_EQ(placement.rank_at(slot), rank);
    }
    for (int node = 0; node < placement.nodes(); ++node) {
        const int ranks = seen[static_cast<std::size_t>(node)];
        EXPECT_EQ(placement.count(node), ranks);
        EXPECT_EQ(placement.rank_at({node, ranks}), -1);
    }
    EXPECT_EQ(placement.most(), std::ranges::max(seen));
    for (int first = 0; first <= placement.nodes(); ++first) {
        const int last = std::min(placement.nodes(), first + 2);
        Rank next = 0;
        const auto skip = [&] {
            while (next < std::ssize(node_of) &&
                   (visited[next].node < first || visited[next].node >= last))
                ++next;
        };
        placement.each_on(first, last, [&](Rank rank, NodeSlot slot) {
            skip();
            ASSERT_EQ(rank, next) << "nodes from " << first;
            ASSERT_EQ(slot, visited[static_cast<std::size_t>(next++)]);
        });
        skip();
        EXPECT_EQ(next, std::ssize(node_of)) << "nodes from " << first;
    }
}

TEST(RankMap, ReturnsItsInput) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Random random(seed);
        std::vector<int> node_of;
        int nodes = 0;
        // Ranks of a node come in stretches, so that round-robin sweeps over the nodes begin,
        // continue and break off.
        while (node_of.size() < 40) {
            const int node = static_cast<int>(random.below(static_cast<std::uint64_t>(nodes) + 1));
            nodes = std::max(nodes, node + 1);
            node_of.insert(node_of.end(), 1 + random.below(1 + seed % 4), node);
        }
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        expect_tells(RankMap(node_of), node_of);
    }
}

TEST(RankMap, IsBuiltInAFewSweepsForAMillionRanks) {
    constexpr int kRanks = 1 << 20;
    constexpr int kEach = 64;
    RankMap by_node;
    RankMap dealt;
    RankMap dealt_by_four;
    for (int rank = 0; rank < kRanks; ++rank) {
        by_node.push_back(rank / kEach);
        dealt.push_back(rank % (kRanks / kEach));
        dealt_by_four.push_back(rank / 4 % (kRanks / kEach));
    }
    EXPECT_EQ(by_node.sweeps(), 1U);
    EXPECT_EQ(dealt.sweeps(), 64U);
    EXPECT_EQ(dealt_by_four.sweeps(), 16U);
    EXPECT_EQ(by_node.slot(kRanks - 1), (NodeSlot{kRanks / kEach - 1, kEach - 1}));
    EXPECT_EQ(dealt.slot(kRanks - 1), (NodeSlot{kRanks / kEach - 1, kEach - 1}));
}

TEST(RankMap, NodesOfUnequalSizeTakeASweepForEachChange) {
    const std::vector<int> node_of = {0, 0, 0, 1, 1, 2, 2, 2, 0};
    const RankMap placement(node_of);
    expect_tells(placement, node_of);
    EXPECT_EQ(placement.sweeps(), 3U);
}

}  // namespace
}  // namespace oratorio::test::rank_map_test
