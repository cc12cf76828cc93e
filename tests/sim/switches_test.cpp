// SPDX-License-Identifier: BSD-3-Clause
// Messages and bytes between network switches: where the nodes' switches are known, so that
// aggregators are placed by them, and where the switches are unknown.
#include <gtest/gtest.h>

#include "engine/run.hpp"
#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test::switches_test {
namespace {

constexpr int kRanks = 16;
constexpr int kOfNode = 4;
constexpr Bytes kEach = 64 << 10;  // bytes of a rank; the file has 1 MiB

/// Returns the sum over all ranks.
SimCounters sum_of(const SimReport& report) {
    SimCounters sum;
    for (const SimCounters& one : report.counters) {
        sum.messages_between_switches += one.messages_between_switches;
        sum.bytes_between_switches += one.bytes_between_switches;
    }
    return sum;
}

struct Job {
    Direction direction = Direction::write;
    std::function<Layout(Rank)> file_of;
    std::vector<int> switch_of = {0, 0, 1, 1};
    int aggregators = 2;
};

/// Runs one collective access of all ranks. Returns the messages and bytes between switches.
/// Expects that the ranks' own counters agree, or are 0 if the ranks don't know the switches.
SimCounters run_job(const Job& job, bool switches_known) {
    MemoryDisk disk;
    if (job.direction == Direction::read) disk.resize(kRanks * kEach);
    FlatTerms options;
    options.method = find_method("two_phase");
    options.cb_nodes = job.aggregators;
    std::vector<Stats> stats(kRanks);
    const SimOptions cluster{.ranks = kRanks,
                             .ranks_per_node = kOfNode,
                             .switch_of = job.switch_of,
                             .switches_known = switches_known};
    const SimCounters sent = sum_of(run_ranks(cluster, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        MemoryStore store(disk);
        std::vector<std::byte> memory(static_cast<std::size_t>(kEach));
        Access access;
        access.direction = job.direction;
        access.file = job.file_of(rank);
        access.memory = {Shape::run(kEach), kEach, 0, 1};
        access.buffer = memory.data();
        RankFile file(transport, store, options, stats[static_cast<std::size_t>(rank)]);
        const Outcome outcome = file.access(access);
        EXPECT_EQ(outcome.error.kind, ErrorKind::none);
        EXPECT_EQ(outcome.bytes, kEach);
    }));
    Stats counted;
    for (const Stats& one : stats) counted.add(one);
    EXPECT_EQ(counted.messages_between_switches,
              switches_known ? sent.messages_between_switches : 0);
    EXPECT_EQ(counted.bytes_between_switches, switches_known ? sent.bytes_between_switches : 0);
    return sent;
}

/// Gives each rank one block.
Layout block(Rank number) {
    return {Shape::run(kEach), kEach, number * kEach, 1};
}
Layout blocks_in_rank_order(Rank rank) {
    return block(rank);
}
Layout blocks_in_reverse(Rank rank) {
    return block(kRanks - 1 - rank);
}
Layout interleaved_pieces(Rank rank) {
    constexpr Bytes kPiece = 4 << 10;
    return {Shape::run(kPiece), kPiece * kRanks, kPiece * rank, Layout::unbounded};
}

/// Expects that the data of `ranks` ranks, and little else, went between switches.
void expect_data_of(int ranks, const SimCounters& sent) {
    constexpr Bytes kHeadAndTable = 64;  // upper bound for a message
    const auto data = static_cast<std::uint64_t>(ranks * kEach);
    EXPECT_GE(sent.bytes_between_switches, data);
    EXPECT_LE(sent.bytes_between_switches, data + kHeadAndTable * sent.messages_between_switches);
    EXPECT_EQ(sent.messages_between_switches == 0, ranks == 0);
}

TEST(Switches, AggregatorsAreOnAllSwitchesInProportion) {
    for (const Direction direction : {Direction::write, Direction::read}) {
        const Job job{direction, blocks_in_rank_order};
        expect_data_of(kRanks / 2, run_job(job, false));  // both aggregators are on switch 0
        expect_data_of(0, run_job(job, true));
    }
}

TEST(Switches, DataGoesToAnAggregatorOfItsSwitch) {
    for (const Direction direction : {Direction::write, Direction::read}) {
        Job job{direction, blocks_in_reverse};
        expect_data_of(kRanks / 2, run_job(job, false));
        expect_data_of(0, run_job(job, true));
        job.aggregators = 4;  // one per node, in rank order
        expect_data_of(kRanks, run_job(job, false));
        expect_data_of(0, run_job(job, true));
    }
}

TEST(Switches, NodesOfASwitchNeedNotBeNeighbours) {
    const Job job{Direction::write, blocks_in_rank_order, {0, 1, 1, 0}, 4};
    expect_data_of(0, run_job(job, false));
    expect_data_of(0, run_job(job, true));
}

TEST(Switches, HalfOfInterleavedDataGoesToAnotherSwitch) {
    const Job job{Direction::write, interleaved_pieces};
    expect_data_of(kRanks / 2, run_job(job, false));
    expect_data_of(kRanks / 2, run_job(job, true));
}

}  // namespace
}  // namespace oratorio::test::switches_test
