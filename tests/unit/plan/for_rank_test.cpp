// SPDX-License-Identifier: BSD-3-Clause
// The slice of a plan that one rank keeps. An access must use the slice exactly as it would use the
// whole plan.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "support/method_names.hpp"
#include "unit/plan/plan_support.hpp"

namespace oratorio::test::for_rank_test {
namespace {

/// One region of a walk: its round, its aggregator's index, and the rank of that aggregator.
using Met = std::array<std::int64_t, 3>;

std::vector<Met> walk(const Plan& plan, RankRegions at) {
    std::vector<Met> met;
    for (; !at.at_end(); at.advance())
        met.push_back({at.round(), at.aggregator(),
                       plan.aggregators[static_cast<std::size_t>(at.aggregator())]});
    return met;
}

/// Returns what walk() returns, without the aggregators' ranks. A rank's slice need not hold these
/// for regions over which only the rank's local aggregator exchanges.
std::vector<std::array<std::int64_t, 2>> places(RankRegions at) {
    std::vector<std::array<std::int64_t, 2>> places;
    for (; !at.at_end(); at.advance()) places.push_back({at.round(), at.aggregator()});
    return places;
}

RankRegions in_the_order_of(const Plan& plan, Rank local, Rank rank) {
    return {plan, local, plan.ranks, plan.ranks.find(rank)};
}

std::vector<Rank> served(const Plan& plan, int index, std::int64_t round) {
    std::vector<Rank> ranks;
    plan.each_participant(index, round, [&](std::size_t i) {
        ranks.push_back(plan.graph.participant(i).rank);
        return true;
    });
    return ranks;
}

void expect_same_layers(const Plan& own, const Plan& whole, Rank rank) {
    const Rank local = whole.layers().local_aggregator_of(rank);
    ASSERT_EQ(own.layers().local_aggregator_of(rank), local);
    EXPECT_EQ(own.ranks.hull_of(rank), whole.ranks.hull_of(rank));
    EXPECT_EQ(own.graph.hull_of(local), whole.graph.hull_of(local));
    EXPECT_EQ(places(own.regions_of(local)), places(whole.regions_of(local)));
    EXPECT_EQ(walk(own, in_the_order_of(own, local, rank)),
              walk(whole, in_the_order_of(whole, local, rank)));
    if (local != rank) return;
    const std::vector<Rank> group = whole.layers().group_of(rank);
    ASSERT_EQ(own.layers().group_of(rank), group);
    for (const Rank member : group) {
        EXPECT_EQ(own.ranks.hull_of(member), whole.ranks.hull_of(member));
        EXPECT_EQ(walk(own, in_the_order_of(own, rank, member)),
                  walk(whole, in_the_order_of(whole, rank, member)));
    }
}

void expect_same(const Plan& own, const Plan& whole, Rank rank) {
    EXPECT_EQ(explain(own), explain(whole));
    EXPECT_EQ(walk(own, own.regions_of(rank)), walk(whole, whole.regions_of(rank)));
    const int index = whole.aggregator_index(rank);
    ASSERT_EQ(own.aggregator_index(rank), index);
    for (std::int64_t round = 0; index >= 0 && round < whole.rounds; ++round)
        EXPECT_EQ(served(own, index, round), served(whole, index, round)) << "round " << round;
    expect_same_layers(own, whole, rank);
}

/// Returns summaries of accesses near those of neighbouring ranks; some ranks have no data.
Summaries draw(std::uint64_t seed, int ranks) {
    std::mt19937_64 random(seed);
    Summaries summaries(static_cast<std::size_t>(ranks));
    Offset at = static_cast<Offset>(random() % 100000);
    for (AccessSummary& one : summaries) {
        const auto bytes = static_cast<Bytes>(random() % 60000);
        at += static_cast<Bytes>(random() % 50000);
        if (random() % 5 == 0) continue;
        one.bytes = 1 + bytes / 3;
        one.hull = {at, at + 1 + bytes};
        one.pieces = one.memory_pieces = static_cast<std::uint32_t>(1 + bytes / 100);
    }
    return summaries;
}

/// Removes random edges from the graph. Ranks without data may have edges here, which have no
/// effect.
void thin_out(Plan& plan, int ranks, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<EdgeBits> bits(static_cast<std::size_t>(ranks));
    for (EdgeBits& one : bits) {
        for (std::size_t bit = 0; bit < one.size(); ++bit) one.set(bit, random() % 3 == 0);
    }
    plan.graph = plan.graph.thinned(EdgeScale(plan.aggregators.size(), plan.rounds),
                                    Agreed<std::span<const EdgeBits>>::vouch(bits));
}

FlatTerms small_buffers(const std::string& method) {
    FlatTerms options = all_allowed();
    options.method = find_method(method);
    options.cb_buffer_size = 64 << 10;
    options.cb_write = options.cb_read = Toggle::enable;
    options.local_aggregators_per_node = 2;
    options.agents = few_agents();
    return options;
}

/// Returns the plan that is made directly for one rank, without making the whole plan.
Plan plan_for(Rank rank, const Summaries& all, const FlatTerms& options, Direction direction,
              int nodes) {
    const Nodes topology = nodes_of(static_cast<int>(all.size()), nodes);
    return make_plan_for(rank, direction, Agreed<AllSummaries>::vouch(all),
                         Agreed<const Nodes&>::vouch(topology), *terms_of(options),
                         Agreed<NodeSharing>::vouch({}));
}

class Only : public testing::TestWithParam<std::string> {};

TEST_P(Only, WalksLikeTheWholePlan) {
    constexpr int kRanks = 72;
    FlatTerms options = small_buffers(GetParam());
    for (const int nodes : {1, 2, 24}) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            for (const int cb_nodes : {0, 40}) {
                SCOPED_TRACE(testing::Message()
                             << nodes << " nodes, seed " << seed << ", cb_nodes " << cb_nodes);
                options.cb_nodes = cb_nodes;
                const auto direction = seed % 2 == 0 ? Direction::read : Direction::write;
                const Summaries all = draw(seed, kRanks);
                for (Rank rank = 0; rank < kRanks; ++rank) {
                    Plan whole = plan_of(all, options, rank, direction, nodes);
                    if (whole.partners() != Partners::by_hull) thin_out(whole, kRanks, seed);
                    const Plan own = whole.for_rank(rank, nodes_of(kRanks, nodes));
                    ASSERT_NO_FATAL_FAILURE(expect_same(own, whole, rank)) << "rank " << rank;
                    Plan made = plan_for(rank, all, options, direction, nodes);
                    if (made.partners() != Partners::by_hull) thin_out(made, kRanks, seed);
                    ASSERT_NO_FATAL_FAILURE(expect_same(made, whole, rank)) << "rank " << rank;
                    ASSERT_NO_FATAL_FAILURE(expect_same(own.moved(8192), whole.moved(8192), rank))
                        << "rank " << rank;
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Methods, Only, testing::ValuesIn(method_names()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace oratorio::test::for_rank_test
