// SPDX-License-Identifier: BSD-3-Clause
// Tests the numbers that papers report. Those that take longer than a few seconds are tested at a
// smaller size; `oratorio count` counts all of them.
#include "count/facts.hpp"

#include <gtest/gtest.h>

#include <set>

#include "count/layouts.hpp"
#include "count/messages.hpp"
#include "plan/methods.hpp"

namespace oratorio::count {
namespace {

std::int64_t counted(const Facts& facts, const std::string& part) {
    for (const Fact& fact : facts) {
        if (fact.what.find(part) != std::string::npos) return fact.counted;
    }
    ADD_FAILURE() << "no fact about " << part;
    return -1;
}

void expect_all_hold(const Facts& facts) {
    int claims = 0;
    for (const Fact& fact : facts) {
        EXPECT_TRUE(fact.holds()) << fact.what << ": " << fact.counted << ", said " << fact.claimed;
        claims += fact.relation == Relation::none ? 0 : 1;
    }
    EXPECT_GT(claims, 0);
}

TEST(Facts, PiecesOfS3dOn16384Ranks) {
    const Facts facts = count_s3d(16384);
    EXPECT_EQ(counted(facts, "pieces"), 327'680'000);
    // A node has 64 consecutive ranks, which have two whole rows of blocks. These are 50 whole
    // rows of the mesh, which are one piece in each of the 50 planes of a block.
    EXPECT_EQ(counted(facts, "joined on nodes"), 16 * 50 * 16 * 16);
    expect_all_hold(facts);
}

struct BtioSaid {
    int q;  ///< the job has q x q ranks
    std::int64_t pieces;
    std::int64_t joined;
};

/// Checks the facts, and the number of joined pieces by arithmetic. Of q x q ranks in groups of g
/// neighbours in a row, a group has one piece where all its g ranks have data. In g - 1 of q layers
/// the row ends within the group, which makes one more piece in each plane of the cell.
void expect_pieces_of_btio(const BtioSaid& said) {
    const Facts facts = count_btio(said.q * said.q);
    expect_all_hold(facts);
    EXPECT_EQ(counted(facts, "pieces"), said.pieces);
    EXPECT_EQ(counted(facts, "256 local"), said.joined);
    const std::int64_t edge = 512 / said.q;
    const std::int64_t of_group = said.q * said.q / 256;
    EXPECT_EQ(said.joined, 256 * 40 * (said.q * edge * edge + (of_group - 1) * edge));
}

TEST(Facts, PiecesOfBtioOn1024Ranks) {
    expect_pieces_of_btio({32, 335'544'320, 84'377'600});
}
TEST(Facts, PiecesOfBtioOn4096Ranks) {
    expect_pieces_of_btio({64, 671'088'640, 43'171'840});
}
TEST(Facts, PiecesOfBtioOn16384Ranks) {
    expect_pieces_of_btio({128, 1'342'177'280, 23'552'000});
}

TEST(Facts, OneAggregatorGetsMessagesOfAllRanksOrOfLocalAggregators) {
    const Facts facts = count_senders(1024);
    EXPECT_EQ(counted(facts, "two_phase"), 1024);
    EXPECT_EQ(counted(facts, "1 local"), 16);
    EXPECT_EQ(counted(facts, "4 local"), 64);
    expect_all_hold(facts);
}

TEST(Facts, ASparseGraphIsMinimal) {
    const Facts facts = count_sparse(32);
    expect_all_hold(facts);
    EXPECT_EQ(counted(facts, "1 % of the stripes: edges, dense"), 9952);
    EXPECT_EQ(facts.back().counted, 1423);
}

TEST(Facts, Tokens) {
    expect_all_hold(count_tokens(16384));
    EXPECT_EQ(counted(count_tokens(128), "8 at once"), 120);
}

TEST(Facts, DiskDirectedCallsGoForwardOnTheDisk) {
    const Facts facts = count_disk(0);
    expect_all_hold(facts);
    EXPECT_EQ(counted(facts, "calls of naive"), 131072);
    EXPECT_EQ(counted(facts, "calls of disk_directed"), 2048);
    EXPECT_EQ(counted(facts, "in the order of the file"), 684);
    EXPECT_EQ(counted(facts, "in the order of the disk"), 0);
}

TEST(Facts, DiskDirectedReadsRequestEachBlockWhereThePaperSendsOneRequest) {
    const Facts facts = count_disk(0);
    EXPECT_EQ(counted(facts, "messages of its ranks"), 2 * 31 * 2048);
    EXPECT_EQ(counted(facts, "of these, requests"), 31 * 2048);
    EXPECT_EQ(counted(facts, "requests of the paper"), 6);
    EXPECT_EQ(counted(facts, "bytes of the requests"), 2'570'582);
}

TEST(Facts, AutoSendsNoMoreBetweenNodesThanTwoPhasesByHand) {
    for (const int ranks : {64, 256, 1024, 4096}) expect_all_hold(count_lattice(ranks));
    for (const int ranks : {64, 256, 1024}) expect_all_hold(count_transposed(ranks));
}

TEST(Facts, PlacedBySwitchNoMoreGoesBetweenSwitches) {
    for (const int ranks : {1024, 4096}) expect_all_hold(count_switches(ranks));
}

TEST(Facts, ComparesReportedFacts) {
    EXPECT_TRUE((Fact{"", 3, Relation::equal, 3}).holds());
    EXPECT_FALSE((Fact{"", 3, Relation::equal, 4}).holds());
    EXPECT_TRUE((Fact{"", 3, Relation::at_most, 4}).holds());
    EXPECT_FALSE((Fact{"", 5, Relation::at_most, 4}).holds());
    EXPECT_TRUE((Fact{"", 5}).holds());
}

/// Checks that the ranks' layouts tile the file: each byte belongs to one rank.
void expect_tiled(const LayoutOf& layout_of, int ranks, Bytes all) {
    Bytes sum = 0;
    for (Rank rank = 0; rank < ranks; ++rank) sum += layout_of(rank).size();
    EXPECT_EQ(sum, all);
    EXPECT_EQ(count_pieces(groups_of(ranks, 1), layout_of).joined, 1);
}

TEST(Layouts, TileTheFile) {
    const Btio btio{.n = 13, .point = 40, .variables = 3};
    for (const int ranks : {1, 4, 9, 16})
        expect_tiled([&](Rank rank) { return layout_of(btio, ranks, rank); }, ranks,
                     13 * 13 * 13 * 40 * 3);
    const S3d s3d{.n = 12, .grid = {3, 2, 2}, .components = 5};
    expect_tiled([&](Rank rank) { return layout_of(s3d, rank); }, 12, 12 * 12 * 12 * 8 * 5);
    const Lattice lattice{.n = 7, .site = 24};
    for (const int ranks : {1, 6, 16})
        expect_tiled([&](Rank rank) { return layout_of(lattice, ranks, rank); }, ranks,
                     7 * 7 * 7 * 7 * 24);
    const Transposed transposed{.piece = 16, .pieces = 5};
    expect_tiled([&](Rank rank) { return layout_of(transposed, 6, rank); }, 6, 16 * 5 * 6);
    const Sparse sparse{.block = 16, .blocks = 10, .per_cent = 100};
    expect_tiled([&](Rank rank) { return layout_of(sparse, 8, rank); }, 8, 16 * 10 * 8);
}

TEST(Layouts, SparseStripesHaveAtMostOneBlockOfOneRank) {
    const Sparse sparse{.block = 16, .blocks = 10, .per_cent = 25};
    constexpr int kRanks = 8;
    std::set<Offset> seen;
    for (Rank rank = 0; rank < kRanks; ++rank) {
        std::set<Offset> stripes;
        Cursor cursor(layout_of(sparse, kRanks, rank));
        while (!cursor.at_end()) {
            const StridedRun run = cursor.next(sparse.block);
            EXPECT_TRUE(seen.insert(run.offset).second);
            EXPECT_TRUE(stripes.insert(run.offset / (sparse.block * kRanks)).second);
        }
        EXPECT_EQ(std::ssize(stripes), 10);
        EXPECT_LT(*stripes.rbegin(), 40);
    }
}

TEST(Layouts, GridsAreThoseOfMpiDimsCreate) {
    EXPECT_EQ(even_grid(16384, 3), (std::vector<int>{32, 32, 16}));
    EXPECT_EQ(even_grid(1024, 4), (std::vector<int>{8, 8, 4, 4}));
    EXPECT_EQ(even_grid(12, 2), (std::vector<int>{4, 3}));
    EXPECT_EQ(even_grid(7, 3), (std::vector<int>{7, 1, 1}));
}

}  // namespace
}  // namespace oratorio::count
