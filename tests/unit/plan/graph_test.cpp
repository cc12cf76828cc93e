// SPDX-License-Identifier: BSD-3-Clause
// The communication graph, compared with a search through all participants.
#include "plan/graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/random.hpp"

namespace oratorio::test::graph_test {
namespace {

struct Drawn {
    std::vector<Participant> participants;
    Graph graph;
};

/// Returns a graph of ranks with hulls that are adjacent, overlap, or contain each other. About a
/// quarter of the ranks have no data.
Drawn draw(test::Random& random, int ranks) {
    Drawn drawn;
    for (Rank rank = 0; rank < ranks; ++rank) {
        const auto begin = static_cast<Offset>(random.below(10'000));
        const auto most = random.chance(20) ? 10'000 : 200;
        const auto length = static_cast<Bytes>(random.chance(25) ? 0 : 1 + random.below(most));
        drawn.participants.push_back({rank, {begin, begin + length}});
    }
    drawn.graph = Graph(drawn.participants);
    return drawn;
}

Region draw_region(test::Random& random) {
    const auto whole = static_cast<Offset>(random.below(11'000));
    Region region;
    region.begin = static_cast<Offset>(random.below(10'000));
    region.length = static_cast<Bytes>(1 + random.below(300));
    region.stride = region.length + static_cast<Bytes>(random.below(900));
    region.count = static_cast<std::int64_t>(random.below(5));
    region.clip = {whole / 4, whole};
    return region;
}

std::vector<Rank> touching(const Graph& graph, const Region& region) {
    std::vector<Rank> ranks;
    EXPECT_TRUE(graph.each_touching(region, [&](std::size_t i) {
        ranks.push_back(graph.participant(i).rank);
        return true;
    }));
    std::ranges::sort(ranks);
    return ranks;
}

std::vector<Rank> expected(const Drawn& drawn, const Region& region, Offset moved) {
    std::vector<Rank> ranks;
    for (const auto& [rank, hull] : drawn.participants) {
        const Extent there{hull.begin + moved, hull.end + moved};
        if (!hull.empty() && region.touches(there)) ranks.push_back(rank);
    }
    return ranks;
}

TEST(Graph, FindsTheSameRanksAsAFullScan) {
    test::Random random(7);
    for (int round = 0; round < 3000; ++round) {
        const Drawn drawn = draw(random, static_cast<int>(random.below(40)));
        const Region region = draw_region(random);
        const Offset by = random.chance(50) ? 0 : static_cast<Offset>(random.below(5000)) - 2500;
        const Graph graph = drawn.graph.moved(by);
        const auto ranks = expected(drawn, region, by);
        ASSERT_EQ(touching(graph, region), ranks) << round;
    }
}

TEST(Graph, KnowsEachHullByItsRank) {
    test::Random random(11);
    for (const int ranks : {0, 1, 2, 33}) {
        const Drawn drawn = draw(random, ranks);
        const Graph moved = drawn.graph.moved(100).moved(-30);
        for (const auto& [rank, hull] : drawn.participants) {
            const Extent there = hull.empty() ? Extent{} : Extent{hull.begin + 70, hull.end + 70};
            EXPECT_EQ(moved.hull_of(rank).begin, there.begin) << rank;
            EXPECT_EQ(moved.hull_of(rank).end, there.end) << rank;
        }
        EXPECT_TRUE(moved.hull_of(ranks).empty());
    }
}

TEST(Graph, StopsWhereTheVisitorHasSeenEnough) {
    const Graph graph({{0, {0, 10}}, {1, {5, 15}}, {2, {8, 20}}});
    const Region region{0, 100, 100, 1, {0, 100}};
    int visits = 0;
    EXPECT_FALSE(graph.each_touching(region, [&](std::size_t) { return ++visits < 2; }));
    EXPECT_EQ(visits, 2);
}

TEST(Graph, LooksAtFewOfManyForARegion) {
    std::vector<Participant> participants;
    constexpr int kRanks = 1 << 20;
    for (Rank rank = 0; rank < kRanks; ++rank)
        participants.push_back({rank, {rank * 64L, rank * 64L + 64}});
    const Graph graph(std::move(participants));
    // Checking all participants for each of a million regions would be 10^12 checks.
    std::int64_t touched = 0;
    for (Rank rank = 0; rank < kRanks; ++rank)
        touched += std::ssize(touching(graph, {rank * 64L + 32, 64, 64, 1, {0, kRanks * 64L}}));
    EXPECT_EQ(touched, 2L * kRanks - 1);
}

}  // namespace
}  // namespace oratorio::test::graph_test
