// SPDX-License-Identifier: BSD-3-Clause
// The message counts that are computed without data must equal those that ranks really send.
#include <gtest/gtest.h>

#include <numeric>

#include "count/layouts.hpp"
#include "count/schedule.hpp"
#include "engine/run.hpp"
#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test {
namespace {

constexpr int kRanks = 16;
constexpr int kOfNode = 4;

/// Runs the job with real data. Returns the messages and their bytes, summed over all ranks.
Stats sent_by(const count::Job& job, const char* method) {
    MemoryDisk disk;
    if (job.direction == Direction::read) disk.resize(count::plan_of(job, method).hull.end);
    std::vector<Stats> stats(kRanks);
    FlatTerms options;
    static_cast<PlanOptions&>(options) = job.options;
    options.method = find_method(method);
    run_ranks({.ranks = kRanks, .ranks_per_node = kOfNode}, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        MemoryStore store(disk);
        Access access = count::access_of(job.direction, job.layout_of(rank));
        std::vector<std::byte> memory(static_cast<std::size_t>(access.bytes()));
        access.buffer = memory.data();
        RankFile file(transport, store, options, stats[static_cast<std::size_t>(rank)]);
        const Outcome outcome = file.access(access);
        EXPECT_EQ(outcome.error.kind, ErrorKind::none);
        EXPECT_EQ(outcome.bytes, access.bytes());
    });
    Stats sum;
    for (const Stats& one : stats) {
        sum.messages_sent += one.messages_sent;
        sum.message_bytes += one.message_bytes;
    }
    return sum;
}

void expect_as_counted(count::Job job, const char* method) {
    Plan plan = count::plan_of(job, method);
    if (plan.partners() != Partners::by_hull) plan = count::thinned(job, std::move(plan));
    const count::Sent counted = count::count_sent(job, plan);
    const Stats sent = sent_by(job, method);
    EXPECT_EQ(sent.messages_sent,
              static_cast<std::uint64_t>(counted.near_messages + counted.far_messages))
        << method;
    EXPECT_EQ(sent.message_bytes,
              static_cast<std::uint64_t>(counted.near_bytes + counted.far_bytes +
                                         counted.description_bytes))
        << method;
    EXPECT_GT(counted.far_messages, 0);
}

TEST(Sent, IsAsCountedWithoutData) {
    count::Job job{.nodes = count::nodes_of(kRanks, kRanks / kOfNode), .layout_of = {}};
    job.nodes.cores = 1;  // as in run_ranks, because the method `auto` depends on it
    job.options.cb_buffer_size = 256 << 10;
    job.options.cb_write = job.options.cb_read = Toggle::enable;
    const count::Lattice lattice{.n = 12, .site = 100};
    const count::Transposed transposed{.piece = 1000, .pieces = 200};
    const count::Sparse sparse{.block = 3000, .blocks = 40, .per_cent = 10};
    const std::vector<count::LayoutOf> layouts{
        [&](Rank rank) { return count::layout_of(lattice, kRanks, rank); },
        [&](Rank rank) { return count::layout_of(transposed, kRanks, rank); },
        [&](Rank rank) { return count::layout_of(sparse, kRanks, rank); }};
    for (const count::LayoutOf& layout_of : layouts) {
        job.layout_of = layout_of;
        for (const auto direction : {Direction::read, Direction::write}) {
            job.direction = direction;
            for (const char* const method : {"two_phase", "sparse", "cb_cyclic", "auto"})
                expect_as_counted(job, method);
        }
    }
    EXPECT_EQ(count::plan_of(job).partners(), Partners::by_data)
        << "auto queries which ranks have data if the data is sparse";
    const count::Sent dense = count::count_sent(job, count::plan_of(job, "two_phase"));
    const count::Sent found = count::count_sent(job, count::thinned(job, count::plan_of(job)));
    EXPECT_LT(found.far_messages, dense.far_messages / 2);
    EXPECT_EQ(found.far_bytes, dense.far_bytes);
}

TEST(Sent, DiskDirectedIsAsCountedWithoutData) {
    count::Job job{.nodes = count::nodes_of(kRanks, kRanks / kOfNode), .layout_of = {}};
    job.options.striping_unit = 16 << 10;
    job.options.cb_nodes = 3;
    const count::Transposed transposed{.piece = 1000, .pieces = 200};
    const count::Sparse sparse{.block = 3000, .blocks = 40, .per_cent = 10};
    const std::vector<count::LayoutOf> layouts{
        [&](Rank rank) { return count::layout_of(transposed, kRanks, rank); },
        [&](Rank rank) { return count::layout_of(sparse, kRanks, rank); }};
    for (const count::LayoutOf& layout_of : layouts) {
        job.layout_of = layout_of;
        for (const auto direction : {Direction::read, Direction::write}) {
            job.direction = direction;
            expect_as_counted(job, "disk_directed");
        }
    }
}

/// Sums up the messages from ranks to local aggregators, from local aggregators to aggregators, and
/// the replies.
count::OnWire scheduled(const count::Job& job, const Plan& plan) {
    count::Sample sample{.nodes = count::sampled_nodes(job.nodes, plan, kRanks)};
    sample.rounds.resize(static_cast<std::size_t>(plan.rounds));
    std::iota(sample.rounds.begin(), sample.rounds.end(), 0);
    count::OnWire all;
    for (const count::RoundSchedule& round : count::schedule_of(job, plan, sample)) {
        for (const auto* flows : {&round.sent, &round.gathered}) {
            for (const count::Flow& flow : *flows) {
                const count::OnWire one = count::on_wire(flow, plan);
                all.messages += one.messages;
                all.bytes += one.bytes;
            }
        }
    }
    return all;
}

void expect_as_scheduled(const count::Job& job, const Plan& plan) {
    const count::OnWire all = scheduled(job, plan);
    const Stats sent = sent_by(job, "two_layer");
    const int each = job.options.local_aggregators_per_node;
    EXPECT_EQ(sent.messages_sent, static_cast<std::uint64_t>(all.messages)) << each;
    EXPECT_EQ(sent.message_bytes, static_cast<std::uint64_t>(all.bytes)) << each;
}

TEST(Sent, TwoLayersSendTheScheduledMessages) {
    count::Job job{.nodes = count::nodes_of(kRanks, kRanks / kOfNode), .layout_of = {}};
    job.options.cb_buffer_size = 256 << 10;
    job.options.sub_buffer = 16 << 10;  // small enough that a rank's share of it fits into one
                                        // message
    const count::Lattice lattice{.n = 12, .site = 100};
    const count::Transposed transposed{.piece = 1000, .pieces = 200};
    const count::Sparse sparse{.block = 300, .blocks = 40, .per_cent = 10};
    const std::vector<count::LayoutOf> layouts{
        [&](Rank rank) { return count::layout_of(lattice, kRanks, rank); },
        [&](Rank rank) { return count::layout_of(transposed, kRanks, rank); },
        [&](Rank rank) { return count::layout_of(sparse, kRanks, rank); }};
    for (const count::LayoutOf& layout_of : layouts) {
        job.layout_of = layout_of;
        for (const auto direction : {Direction::read, Direction::write}) {
            job.direction = direction;
            for (const int each : {1, 2, 4}) {
                job.options.local_aggregators_per_node = each;
                expect_as_scheduled(job, count::plan_of(job, "two_layer"));
            }
        }
    }
    job.direction = Direction::read;
    EXPECT_TRUE(count::plan_of(job, "two_layer").asks_contents()) << "little is wanted there";
}

/// A local aggregator lists how to distribute a reply to the node's ranks, in at most half a
/// message. With more pieces, it must send several requests.
TEST(Sent, ALocalAggregatorAsksAgainWhereItsRanksWantTooManyPieces) {
    constexpr count::Sparse sparse{.block = 16, .blocks = 1000, .per_cent = 50};
    count::Job job{.nodes = count::nodes_of(kRanks, kRanks / kOfNode),
                   .layout_of = [&](Rank rank) { return count::layout_of(sparse, kRanks, rank); }};
    job.options.cb_buffer_size = 256 << 10;
    job.options.sub_buffer = 128 << 10;
    job.options.local_aggregators_per_node = 1;
    const auto written = scheduled(job, count::plan_of(job, "two_layer")).messages;
    job.direction = Direction::read;
    const Plan plan = count::plan_of(job, "two_layer");
    EXPECT_GT(scheduled(job, plan).messages, 2 * written);
    expect_as_scheduled(job, plan);
}

/// An exchange written by hand sends one message from each rank to each other rank.
TEST(Sent, ByHandSendsOneMessagePerPairInARow) {
    constexpr count::Transposed transposed{.piece = 10, .pieces = kRanks};
    const count::Job job{
        .nodes = count::nodes_of(kRanks, kRanks / kOfNode),
        .layout_of = [&](Rank rank) { return count::layout_of(transposed, kRanks, rank); }};
    const count::Sent sent =
        count::count_by_hand(job, {{{0, kRanks}, {0, Bytes{10} * kRanks * kRanks}}});
    EXPECT_EQ(sent.near_messages, kRanks * (kOfNode - 1));
    EXPECT_EQ(sent.far_messages, kRanks * (kRanks - kOfNode));
    EXPECT_EQ(sent.far_bytes, 10 * kRanks * (kRanks - kOfNode));
}

}  // namespace
}  // namespace oratorio::test
