// SPDX-License-Identifier: BSD-3-Clause
// The thinned graph of an access with a sparse graph, compared with a search through every piece.
#include "plan/edges.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/methods.hpp"
#include "plan_support.hpp"
#include "support/random.hpp"

namespace oratorio::test::edges_test {
namespace {

/// An access in which each rank has some blocks at random places of a file, and its plan.
struct Thin {
    std::vector<Access> accesses;
    Plan plan;
};

Access blocks_of(Random& random, int blocks, Bytes file_bytes) {
    std::vector<Offset> offsets;
    Offset at = random.between(0, file_bytes / blocks);
    for (int i = 0; i < blocks; ++i) {
        offsets.push_back(at);
        at += random.between(100, 2 * file_bytes / blocks);
    }
    Access access;
    access.direction = Direction::write;
    const auto bytes = static_cast<Bytes>(100 * blocks);
    access.file = {Shape::runs(offsets, std::vector<Bytes>(offsets.size(), 100)), at, 0, 1};
    access.memory = {Shape::run(bytes), bytes, 0, 1};
    return access;
}

Thin draw(std::uint64_t seed, int ranks, Bytes buffer) {
    Random random(seed);
    Thin thin;
    Summaries summaries;
    for (int rank = 0; rank < ranks; ++rank) {
        thin.accesses.push_back(
            blocks_of(random, static_cast<int>(random.between(1, 9)), Bytes{1} << 20));
        summaries.push_back(summarise(thin.accesses.back(), true));
    }
    FlatTerms options;
    options.method = find_method("sparse");
    options.cb_nodes = static_cast<int>(random.between(1, ranks));
    options.cb_buffer_size = buffer;
    thin.plan = plan_of(summaries, options, 0, Direction::write, 2);
    return thin;
}

void thin_out(Thin& thin) {
    std::vector<EdgeBits> all;
    for (std::size_t rank = 0; rank < thin.accesses.size(); ++rank)
        all.push_back(edges_of(thin.plan, static_cast<Rank>(rank), thin.accesses[rank]));
    const auto agreed = Agreed<std::span<const EdgeBits>>::vouch(all);
    thin.plan.graph =
        thin.plan.graph.thinned(EdgeScale(thin.plan.aggregators.size(), thin.plan.rounds), agreed);
}

bool has_data(const Access& access, const Region& region) {
    Cursor cursor(access.file);
    for (StridedRun run = cursor.next(100); run.count > 0; run = cursor.next(100)) {
        if (region.touches({run.offset, run.end()})) return true;
    }
    return false;
}

std::vector<Rank> participants(const Plan& plan, int index, std::int64_t round) {
    std::vector<Rank> ranks;
    plan.each_participant(index, round, [&](std::size_t i) {
        ranks.push_back(plan.graph.participant(i).rank);
        return true;
    });
    std::ranges::sort(ranks);
    return ranks;
}

TEST(Edges, AreWhereRanksHaveDataAndNowhereElse) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Thin thin = draw(seed, 6, Bytes{64} << 10);
        ASSERT_EQ(thin.plan.method->name, "sparse");
        const auto dense = thin.plan;
        thin_out(thin);
        std::int64_t edges = 0;
        std::int64_t dense_edges = 0;
        for (int index = 0; index < std::ssize(thin.plan.aggregators); ++index) {
            for (std::int64_t round = 0; round < thin.plan.rounds; ++round) {
                std::vector<Rank> expected;
                for (Rank rank = 0; rank < 6; ++rank) {
                    if (has_data(thin.accesses[static_cast<std::size_t>(rank)],
                                 thin.plan.region(index, round)))
                        expected.push_back(rank);
                }
                EXPECT_EQ(participants(thin.plan, index, round), expected) << "seed " << seed;
                EXPECT_EQ(thin.plan.count_participants(index, round), std::ssize(expected));
                EXPECT_EQ(thin.plan.has_participants(index, round), !expected.empty());
                edges += std::ssize(expected);
                dense_edges += dense.count_participants(index, round);
            }
        }
        EXPECT_EQ(thin.plan.graph.edges()->count, edges);
        EXPECT_LT(edges, dense_edges);
    }
}

TEST(Edges, MoreRoundsThanBitsOmitNoRank) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Thin thin = draw(seed, 6, 4096);
        thin_out(thin);
        ASSERT_GT(thin.plan.rounds * std::ssize(thin.plan.aggregators), 250);
        for (Rank rank = 0; rank < 6; ++rank) {
            std::int64_t walked = 0;
            for (auto regions = thin.plan.regions_of(rank); !regions.at_end(); regions.advance())
                walked += has_data(thin.accesses[static_cast<std::size_t>(rank)], regions.region());
            std::int64_t all = 0;
            for (int index = 0; index < std::ssize(thin.plan.aggregators); ++index) {
                for (std::int64_t round = 0; round < thin.plan.rounds; ++round)
                    all += has_data(thin.accesses[static_cast<std::size_t>(rank)],
                                    thin.plan.region(index, round));
            }
            EXPECT_EQ(walked, all) << "seed " << seed << ", rank " << rank;
        }
    }
}

TEST(Edges, AreTheSameFurtherOnInTheFile) {
    Thin thin = draw(3, 6, Bytes{64} << 10);
    thin_out(thin);
    const Plan moved = thin.plan.moved(12345);
    for (int index = 0; index < std::ssize(thin.plan.aggregators); ++index) {
        for (std::int64_t round = 0; round < thin.plan.rounds; ++round)
            EXPECT_EQ(participants(moved, index, round), participants(thin.plan, index, round));
    }
}

/// Both sides compute their edges from the part of the plan that each rank keeps.
TEST(Edges, AreKnownToBothSides) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        constexpr Rank kRanks = 6;
        Thin thin = draw(seed, kRanks, seed % 2 == 0 ? Bytes{64} << 10 : 4096);
        thin_out(thin);
        const Nodes nodes = nodes_of(kRanks, 2);
        std::int64_t told = 0;
        for (Rank rank = 0; rank < kRanks; ++rank) {
            const Plan mine = thin.plan.for_rank(rank, nodes);
            EXPECT_EQ(aggregators_of_edges(mine, rank), aggregators_of_edges(thin.plan, rank));
            for (const int index : aggregators_of_edges(mine, rank)) {
                const Rank other = thin.plan.aggregators[static_cast<std::size_t>(index)];
                EXPECT_NE(other, rank);
                const auto ranks = ranks_of_edges(thin.plan.for_rank(other, nodes), index);
                EXPECT_EQ(std::ranges::count(ranks, rank), 1) << "seed " << seed;
                ++told;
            }
        }
        for (int index = 0; index < std::ssize(thin.plan.aggregators); ++index)
            told -= std::ssize(ranks_of_edges(thin.plan, index));
        EXPECT_EQ(told, 0) << "seed " << seed;
    }
}

/// Returns a plan for 8 ranks and a file of 8 planes of 8 MiB. Rank r has the r-th MiB of each
/// plane.
Plan plan_of_planes(int nodes, const char* method) {
    FlatTerms options;
    options.method = find_method(method);
    options.cb_write = Toggle::enable;
    options.cb_buffer_size = 1 << 20;
    return plan_of(interleaved(8, 1 << 20, 8), options, 0, Direction::write, nodes);
}

TEST(Edges, BetweenNodesAreLookedForWhereHullsAreMostlyHoles) {
    EXPECT_EQ(plan_of_planes(4, "auto").partners(), Partners::by_data);
    EXPECT_EQ(plan_of_planes(2, "auto").partners(), Partners::by_data);
    EXPECT_EQ(plan_of_planes(1, "auto").partners(), Partners::by_hull) << "a message costs little";
    EXPECT_EQ(plan_of_planes(4, "two_phase").partners(), Partners::by_hull)
        << "a method requested by name is as in the papers";
    FlatTerms options;
    options.cb_write = Toggle::enable;
    const Plan few = plan_of(interleaved(8, 1 << 10, 8), options, 0, Direction::write, 4);
    EXPECT_EQ(few.partners(), Partners::by_hull) << "one region to talk to";
}

TEST(Edges, ShareBitsAmongManyAggregators) {
    const EdgeScale scale(600, 3);
    EXPECT_LT(scale.bit(599, 2), EdgeBits().size());
    EXPECT_EQ(scale.bit(3, 0), scale.bit(3, 2)) << "neighbouring rounds share a bit";
    const EdgeScale few(4, 96);
    EXPECT_NE(few.bit(3, 95), few.bit(3, 94));
    EXPECT_NE(few.bit(2, 95), few.bit(3, 0));
}

TEST(Edges, EndLocallyOnlyIfRequestedAndRanksSendMessages) {
    Summaries summaries = interleaved(8, 8, 1000);
    const auto told = [&](const char* method, bool hint) {
        FlatTerms options = all_allowed();
        options.method = find_method(method);
        options.sparse = hint;
        const Plan plan = plan_of(summaries, options, 0, Direction::write, 2);
        EXPECT_EQ(plan.ending() == Ending::reported,
                  explain(plan).find("waits for no other rank") != std::string::npos);
        return plan.ending() == Ending::reported;
    };
    EXPECT_TRUE(told("sparse", false));
    EXPECT_TRUE(told("cb_gather", true));
    EXPECT_FALSE(told("two_phase", false));
    EXPECT_FALSE(told("two_layer", true));
    EXPECT_FALSE(told("list_io", true));
    EXPECT_EQ(plan_of_planes(2, "auto").partners(), Partners::by_data);
    EXPECT_EQ(plan_of_planes(2, "auto").ending(), Ending::agreed) << "no hint requested it";
    FlatTerms on_node = all_allowed();
    on_node.method = find_method("shared_buffer");
    on_node.sparse = true;
    EXPECT_EQ(plan_of(summaries, on_node).ending(), Ending::agreed);
    EXPECT_EQ(plan_of(summaries, on_node).partners(), Partners::by_data);
    summaries[3].flags |= flag_agrees;
    EXPECT_FALSE(told("sparse", false));
    EXPECT_FALSE(told("cb_gather", true));
}

}  // namespace
}  // namespace oratorio::test::edges_test
