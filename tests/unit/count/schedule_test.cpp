// SPDX-License-Identifier: BSD-3-Clause
// The messages that nodes send in each round, as computed for plans in which ranks send messages.
// tests/sim/sent_test.cpp compares them with messages that are really sent.
#include "count/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <sstream>

#include "count/layouts.hpp"
#include "count/run_file.hpp"
#include "support/temporary_folder.hpp"

namespace oratorio::count {
namespace {

constexpr int kRanks = 16;
constexpr int kNodes = 4;

Job job_of(const LayoutOf& layout_of) {
    Job job{.nodes = nodes_of(kRanks, kNodes), .layout_of = layout_of};
    job.options.cb_buffer_size = 256 << 10;
    return job;
}

LayoutOf lattice() {
    return [](Rank rank) { return layout_of(Lattice{.n = 12, .site = 100}, kRanks, rank); };
}

Sample all_of(const Plan& plan) {
    Sample sample{.nodes = std::vector<int>(kNodes, 1)};
    sample.rounds.resize(static_cast<std::size_t>(plan.rounds));
    std::iota(sample.rounds.begin(), sample.rounds.end(), 0);
    return sample;
}

Flow sum_of(const std::vector<Flow>& flows) {
    Flow sum;
    for (const Flow& flow : flows) {
        sum.senders += flow.senders;
        sum.messages += flow.messages;
        sum.pieces += flow.pieces;
        sum.bytes += flow.bytes;
        sum.described += flow.described;
        sum.own += flow.own;
        sum.own_pieces += flow.own_pieces;
    }
    return sum;
}

TEST(Schedule, OneLayerEqualsTheCountedMessages) {
    const Job job = job_of(lattice());
    const Plan plan = plan_of(job, "two_phase");
    ASSERT_GT(plan.rounds, 2);
    Sent sent;
    Bytes placed = 0;
    for (const RoundSchedule& round : schedule_of(job, plan, all_of(plan))) {
        EXPECT_TRUE(round.gathered.empty());
        Bytes of_round = 0;
        for (int node = 0; node < kNodes; ++node) {
            for (std::size_t to = 0; to < plan.aggregators.size(); ++to) {
                const Flow& flow =
                    round.sent[static_cast<std::size_t>(node) * plan.aggregators.size() + to];
                const bool near = job.nodes.node(plan.aggregators[to]) == node;
                (near ? sent.near_messages : sent.far_messages) += flow.messages;
                (near ? sent.near_bytes : sent.far_bytes) += flow.bytes;
                sent.description_bytes += flow.described;
                of_round += flow.bytes + flow.own;
            }
        }
        placed += of_round;
    }
    EXPECT_EQ(sent, count_sent(job, plan));
    EXPECT_EQ(placed, plan.bytes);
}

TEST(Schedule, TwoLayersSendEachByteOnceInEachLayer) {
    Job job = job_of(lattice());
    job.options.local_aggregators_per_node = 2;
    const Plan plan = plan_of(job, "two_layer");
    ASSERT_TRUE(plan.layers().two());
    Flow sent;
    Flow gathered;
    for (const RoundSchedule& round : schedule_of(job, plan, all_of(plan))) {
        const Flow up = sum_of(round.sent);
        const Flow local = sum_of(round.gathered);
        EXPECT_EQ(up.bytes + up.own, local.bytes + local.own);
        // Local aggregators join pieces that touch, so they describe at most as many as they
        // received.
        EXPECT_LE(up.pieces + up.own_pieces, local.pieces + local.own_pieces);
        EXPECT_LE(up.senders, 2 * kNodes * std::ssize(plan.aggregators));
        sent.bytes += up.bytes + up.own;
        gathered.own += local.own;
    }
    EXPECT_EQ(sent.bytes, plan.bytes);
    EXPECT_EQ(gathered.own, plan.bytes / 2) << "one rank of each group of two sends nothing";
}

TEST(Schedule, RanksThatAreNeighboursInTheFileAreOnePieceOfTheirLocalAggregator) {
    constexpr Transposed transposed{.piece = 1000, .pieces = 200};
    Job job = job_of([&](Rank rank) { return layout_of(transposed, kRanks, rank); });
    job.options.local_aggregators_per_node = 1;
    const Plan plan = plan_of(job, "two_layer");
    std::int64_t pieces = 0;
    std::int64_t messages = 0;
    for (const RoundSchedule& round : schedule_of(job, plan, all_of(plan))) {
        const Flow sent = sum_of(round.sent);
        pieces += sent.pieces + sent.own_pieces;
        messages += sent.messages;
    }
    // A piece may be cut where a region or a message ends, so that there may be more pieces.
    const std::int64_t cut = plan.rounds * std::ssize(plan.aggregators) + messages;
    EXPECT_GE(pieces, kNodes * transposed.pieces);
    EXPECT_LE(pieces, kNodes * transposed.pieces + cut);
}

/// If pieces are known to tile the file, the plan equals the one that walking the pieces leads to.
TEST(Schedule, PiecesThatAreKnownToTileNeedNotBeWalked) {
    Job job = job_of(lattice());
    const Plan looked = plan_of(job, "two_phase");
    job.thorough = false;
    EXPECT_FALSE(plan_of(job, "two_phase").covered);
    job.tiles = true;
    EXPECT_TRUE(looked.covered);
    EXPECT_EQ(fingerprint(plan_of(job, "two_phase")), fingerprint(looked));
}

TEST(Schedule, IsOfFewRoundsAtEvenDistances) {
    Plan plan;
    plan.rounds = 100;
    EXPECT_EQ(sampled_rounds(plan, 1000, 4, 1000), (std::vector<std::int64_t>{12, 37, 62, 87}));
    EXPECT_EQ(sampled_rounds(plan, 1000, 4, 20), (std::vector<std::int64_t>{25, 75}));
    EXPECT_EQ(sampled_rounds(plan, 1000, 4, 1), (std::vector<std::int64_t>{50}));
    plan.rounds = 2;
    EXPECT_EQ(sampled_rounds(plan, 1000, 4, 1000), (std::vector<std::int64_t>{0, 1}));
}

TEST(Schedule, NodesThatAreNotWalkedAreRepresentedByOthers) {
    constexpr int kMany = 256;
    constexpr int kManyNodes = 64;
    constexpr Transposed transposed{.piece = 1000, .pieces = 20};
    Job job{.nodes = nodes_of(kMany, kManyNodes),
            .layout_of = [&](Rank rank) { return layout_of(transposed, kMany, rank); }};
    job.options.cb_nodes = 3;
    const Plan plan = plan_of(job, "two_phase");
    EXPECT_EQ(sampled_nodes(job.nodes, plan, kMany), std::vector<int>(kManyNodes, 1));
    Sample sample{.rounds = {0}, .nodes = sampled_nodes(job.nodes, plan, kMany / 4)};
    EXPECT_EQ(std::ranges::count_if(sample.nodes, [](int one) { return one > 0; }), 16);
    EXPECT_EQ(std::accumulate(sample.nodes.begin(), sample.nodes.end(), 0), kManyNodes);
    for (const Rank rank : plan.aggregators)
        EXPECT_EQ(sample.nodes[static_cast<std::size_t>(job.nodes.node(rank))], 1);
    const auto walked = schedule_of(job, plan, sample);
    sample.nodes.assign(kManyNodes, 1);
    const auto all = schedule_of(job, plan, sample);
    Bytes stood_for = 0;
    for (std::size_t pair = 0; pair < all.front().sent.size(); ++pair) {
        const auto nodes = sampled_nodes(job.nodes, plan, kMany / 4)[pair / 3];
        const Flow& flow = walked.front().sent[pair];
        if (nodes > 0) {
            EXPECT_EQ(flow, all.front().sent[pair]);
        }
        stood_for += nodes * (flow.bytes + flow.own);
    }
    const Flow whole = sum_of(all.front().sent);
    EXPECT_EQ(stood_for, whole.bytes + whole.own) << "all nodes are alike here";
}

TEST(Schedule, CountsCommunicatingPairsWithoutEnumeration) {
    const Job job = job_of(lattice());
    for (const char* const method : {"two_phase", "two_layer", "cb_cyclic", "sparse"}) {
        Plan plan = plan_of(job, method);
        if (plan.partners() != Partners::by_hull) plan = thinned(job, std::move(plan));
        std::int64_t edges = 0;
        for (int index = 0; index < static_cast<int>(plan.aggregators.size()); ++index)
            for (std::int64_t round = 0; round < plan.rounds; ++round)
                edges += plan.count_participants(index, round);
        EXPECT_EQ(count_edges(plan), edges) << method;
        EXPECT_GT(edges, 0);
    }
}

TEST(Schedule, SummariesOfBtioNeedNoLayout) {
    for (const int ranks : {1, 16, 64}) {
        const Btio btio{.n = 6, .variables = 3};  // with 8 x 8 ranks, some ranks have no data
        const BtioSummaries summaries(btio, ranks);
        for (Rank rank = 0; rank < ranks; ++rank) {
            const Access access = access_of(Direction::write, layout_of(btio, ranks, rank));
            EXPECT_EQ(summaries.of(rank), summarise(access, false)) << rank << " of " << ranks;
        }
    }
}

std::vector<std::int64_t> numbers(const std::string& text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::int64_t>(in), {}};
}

class OfRunFile : public ::testing::Test {
  protected:
    void write(const std::vector<std::int64_t>& numbers) {
        folder_.make("runs", {reinterpret_cast<const char*>(numbers.data()),
                              numbers.size() * sizeof(std::int64_t)});
    }

    /// A file of two maps of 4 processes. A map holds the size of an element and the numbers of
    /// elements and of variables; then, for each process, the number of its runs, their offsets and
    /// their lengths.
    const std::vector<std::int64_t> whole_ = numbers(
        "3552870968014877509 4 2 "
        "4 8 3  2 6 0 1 1  2 3 1 1 1  1 4 2  2 2 7 1 1 "
        "8 4 1  1 3 1  1 2 1  1 1 1  1 0 1");
    const test::TemporaryFolder folder_;
    const std::string path_ = folder_.file("runs");
};

TEST_F(OfRunFile, RanksHaveTheirProcessesPiecesInTheOrderOfTheFile) {
    write(whole_);
    const RunFile file(path_, 2);
    std::vector<Extent> pieces;
    for (Cursor cursor(file.layout_of(0));;) {
        const StridedRun run = cursor.next();
        if (run.count == 0) break;
        for (std::int64_t i = 0; i < run.count; ++i) {
            const Offset begin = run.offset + i * run.stride;
            pieces.push_back({begin, begin + run.length});
        }
    }
    // Rank 0 has the elements of processes 0 and 1: elements 0, 1, 3 and 6 of three variables of 32
    // bytes, and elements 2 and 3 of the one variable of the second map.
    const std::vector<Extent> own{{0, 8},   {12, 16}, {24, 28}, {32, 40}, {44, 48},
                                  {56, 60}, {64, 72}, {76, 80}, {88, 92}, {112, 128}};
    EXPECT_EQ(pieces, own);
    EXPECT_EQ(file.layout_of(0).size() + file.layout_of(1).size(), 3 * 8 * 4 + 4 * 8);
}

TEST_F(OfRunFile, MoreRanksThanProcessesShareTheirPoints) {
    write(whole_);
    const RunFile all(path_, 4);
    const RunFile shared(path_, 12);
    for (Rank process = 0; process < 4; ++process) {
        Bytes bytes = 0;
        for (Rank part = 0; part < 3; ++part) bytes += shared.layout_of(3 * process + part).size();
        EXPECT_EQ(bytes, all.layout_of(process).size());
    }
    // Process 1 has elements 3 and 1 of the first map, in its own order, and element 2 of the
    // second map.
    EXPECT_EQ(shared.layout_of(3).size(), 0);
    EXPECT_EQ(shared.layout_of(4).size(), 3 * 4);
    EXPECT_EQ(shared.layout_of(5).size(), 3 * 4 + 8);
    const Extent first = shared.layout_of(4).shape->first_piece();
    EXPECT_EQ(first.begin, 3 * 4);
}

TEST_F(OfRunFile, RejectsEntriesThatDoNotFit) {
    write(whole_);
    EXPECT_THROW(RunFile(path_, 3), std::runtime_error);
    EXPECT_THROW(RunFile(path_ + "-none", 2), std::runtime_error);
    for (std::size_t count = 0; count < whole_.size(); ++count) {
        write({whole_.begin(), whole_.begin() + static_cast<std::ptrdiff_t>(count)});
        EXPECT_THROW(RunFile(path_, 2), std::runtime_error) << count << " numbers";
    }
}

}  // namespace
}  // namespace oratorio::count
