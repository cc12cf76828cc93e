// SPDX-License-Identifier: BSD-3-Clause
// The plan cache: a collective access of the same shape as the one before is planned without a
// message. An access of another shape, on any rank, is still done correctly.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "support/memory_store.hpp"
#include "support/method_names.hpp"
#include "support/rank_file.hpp"
#include "support/same_bytes.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test::kept_plan_test {
namespace {

constexpr int kRanks = 4;
constexpr Bytes kPiece = 8;
constexpr Bytes kStripe = 320;
constexpr Bytes kTile = kRanks * kPiece * 2;  // with `holes`, half of each tile belongs to no rank

struct Call {
    Bytes from = 0;  ///< first data byte of the view to access
    Bytes bytes = 0;
};
/// For each step, the call of each rank.
using Steps = std::vector<std::array<Call, kRanks>>;

std::byte value_of(Rank rank, Bytes data) {
    return static_cast<std::byte>(1 + (static_cast<Bytes>(rank) * 61 + data * 7) % 250);
}

Layout file_of(Rank rank, bool holes) {
    return {Shape::run(kPiece), holes ? kTile : kTile / 2, rank * kPiece, Layout::unbounded};
}

struct Report {
    std::vector<Stats> stats{kRanks};
    /// For each rank, the number of participants in its cached graph.
    std::vector<std::size_t> known = std::vector<std::size_t>(kRanks);
    /// For each rank, the estimated seconds of its cached plan.
    std::vector<double> seconds = std::vector<double>(kRanks);
    SimReport sim;
};

FlatTerms options_of(const std::string& method) {
    FlatTerms options;
    options.method = find_method(method);
    options.cb_buffer_size = 8192;
    options.agents = few_agents(100);
    options.mappable = options.coherent = true;
    // In the tests of KeptPlan, equal steps are whole turns of stripes of this size apart.
    if (method == "cb_file_layout") options.striping_unit = kStripe;
    if (method == "auto") {  // `auto` sends messages if there are many pieces
        options.mappable = false;
        options.ds_read = Toggle::disable;
        options.cb_buffer_size = 1 << 20;
        options.costs.write_call = options.costs.read_call = 1e6;
    }
    return options;
}

Report run_steps(const std::string& method, Direction direction, const Steps& steps, bool holes,
                 MemoryDisk& disk, std::uint64_t seed = 1) {
    Report report;
    const FlatTerms options = options_of(method);
    report.sim = run_ranks({.ranks = kRanks, .seed = seed}, [&](Transport& transport) {
        const auto rank = static_cast<std::size_t>(transport.topology().rank);
        MemoryStore store(disk);
        // Without node memory, `auto` must send messages.
        RankFile file(transport, store, options, report.stats[rank],
                      {.shares_memory = method != "auto"});
        // All steps use the same shape object, as accesses through one view do.
        const ShapePtr shape = file_of(0, holes).shape;
        for (const auto& step : steps) {
            const Call call = step[rank];
            std::vector<std::byte> memory(static_cast<std::size_t>(call.bytes));
            for (Bytes i = 0; i < call.bytes && direction == Direction::write; ++i)
                memory[static_cast<std::size_t>(i)] =
                    value_of(static_cast<Rank>(rank), call.from + i);
            Access access;
            access.direction = direction;
            access.file = file_of(static_cast<Rank>(rank), holes);
            access.file.shape = shape;
            access.from = call.from;
            access.memory = {Shape::run(call.bytes), call.bytes, 0, 1};
            access.buffer = memory.data();
            const Outcome outcome = file.access(access);
            ASSERT_EQ(outcome.error.kind, ErrorKind::none) << describe(outcome.error, "file");
            ASSERT_EQ(outcome.bytes, call.bytes);
            for (Bytes i = 0; i < call.bytes && direction == Direction::read; ++i)
                ASSERT_EQ(memory[static_cast<std::size_t>(i)],
                          value_of(static_cast<Rank>(rank), call.from + i));
        }
        const Plan& kept = file.plans.plan(direction);
        report.known[rank] = kept.graph.size();
        if (kept.method != nullptr) report.seconds[rank] = kept.seconds();
    });
    return report;
}

void expect_written(const Steps& steps, bool holes, const MemoryDisk& disk) {
    std::vector<std::byte> expected(static_cast<std::size_t>(disk.size()), std::byte{0x5a});
    for (const auto& step : steps) {
        for (Rank rank = 0; rank < kRanks; ++rank) {
            const Call call = step[static_cast<std::size_t>(rank)];
            const Layout file = file_of(rank, holes);
            for (Bytes i = call.from; i < call.from + call.bytes; ++i) {
                const Offset at = file.origin + i / kPiece * file.extent + i % kPiece;
                ASSERT_LT(at, disk.size());
                expected[static_cast<std::size_t>(at)] = value_of(rank, i);
            }
        }
    }
    ASSERT_TRUE(same_bytes(disk.contents({0, disk.size()}), expected));
}

void fill(MemoryDisk& disk, Bytes bytes) {
    disk.write(0, std::vector<std::byte>(static_cast<std::size_t>(bytes), std::byte{0x5a}));
}

constexpr Bytes kBytes = 8000;
Steps equal_steps(int count, Bytes step) {
    Steps steps;
    for (int i = 0; i < count; ++i) {
        steps.emplace_back();
        steps.back().fill({i * step, kBytes});
    }
    return steps;
}

/// Returns false for methods that exchange something between ranks before each access, so that they
/// do not cache plans.
bool keeps_plans(const Method* method) {
    return method == nullptr || (!method->schedule.asks_places && !method->graph_part().is_thinned);
}

class KeptPlan : public testing::TestWithParam<std::string> {};

TEST_P(KeptPlan, ASecondAccessOfTheSameShapeSendsOnlyItsData) {
    const Method* const method = find_method(GetParam());
    const bool sparse = method != nullptr && method->graph_part().is_thinned;
    const bool keeps = keeps_plans(method);
    for (const Bytes step : {Bytes{0}, kPiece * 100}) {
        std::vector<SimCounters> before;
        std::uint64_t data_messages = 0;
        for (const int count : {1, 2, 3}) {
            MemoryDisk disk;
            const Report report =
                run_steps(GetParam(), Direction::write, equal_steps(count, step), false, disk);
            for (std::size_t rank = 0; rank < kRanks; ++rank) {
                EXPECT_EQ(report.stats[rank].plans, keeps ? 1U : static_cast<unsigned>(count));
                if (before.empty()) continue;
                // One reduction ends a collective access. The method mmap takes two more, to
                // agree on the length that the file must have before it is written through
                // mappings. Without a cached plan the summaries are gathered and the order is
                // broadcast; in a sparse graph the summaries and the edges are gathered, and no
                // reduction ends the access.
                const std::uint64_t each = sparse ? 2 : GetParam() == "mmap" || !keeps ? 3 : 1;
                EXPECT_EQ(report.sim.counters[rank].collectives, before[rank].collectives + each);
            }
            before = report.sim.counters;
            std::uint64_t sent = 0;
            std::uint64_t counted = 0;
            for (std::size_t rank = 0; rank < kRanks; ++rank) {
                sent += report.sim.counters[rank].messages;
                counted += report.stats[rank].messages_sent;
            }
            EXPECT_EQ(sent, counted);
            if (data_messages == 0) data_messages = sent;
            // Without a cached plan, an access at another offset gets file domains with other
            // boundaries, so the number of messages may differ.
            if (keeps || step == 0) {
                EXPECT_EQ(sent, data_messages * static_cast<std::uint64_t>(count));
            }
        }
    }
}

TEST_P(KeptPlan, EachAccessAddsTheEstimateOfItsPlan) {
    const Method* const method = find_method(GetParam());
    if (!keeps_plans(method)) return;
    for (const int count : {1, 3}) {
        MemoryDisk disk;
        const Report report =
            run_steps(GetParam(), Direction::write, equal_steps(count, 0), false, disk);
        for (std::size_t rank = 0; rank < kRanks; ++rank) {
            const auto once = std::llround(report.seconds[rank] * 1e9);
            EXPECT_GT(once, 0);
            EXPECT_EQ(report.stats[rank].estimated_time, static_cast<std::uint64_t>(count * once));
        }
    }
}

TEST_P(KeptPlan, AnyRankMayChangeItsShapeAtAnyTime) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        for (const bool holes : {false, true}) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << (holes ? ", holes" : ""));
            Steps steps = equal_steps(6, kBytes);
            const auto odd = static_cast<std::size_t>(seed % kRanks);
            steps[1][odd].bytes -= 3 * kPiece;  // fewer bytes than before
            steps[2][odd].from += 5 * kPiece;   // another offset than the other ranks
            steps[3][odd].bytes = 0;            // no bytes at all
            steps[4][odd].bytes += 11;          // more bytes, and not whole pieces
            MemoryDisk disk;
            fill(disk, 6 * kBytes * kRanks * 2 + 4096);
            const Report report = run_steps(GetParam(), Direction::write, steps, holes, disk, seed);
            ASSERT_NO_FATAL_FAILURE(expect_written(steps, holes, disk));
            EXPECT_GT(report.stats[0].plans, 1U);
        }
    }
}

TEST_P(KeptPlan, ReadsOfChangingShapeGetTheirBytes) {
    Steps all(1);
    all[0].fill({0, 5 * kBytes});
    MemoryDisk disk;
    run_steps("list_io", Direction::write, all, false, disk);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        Steps steps = equal_steps(4, kBytes / 2 / kPiece * kPiece);
        steps[1][seed % kRanks].from += kPiece;
        steps[2][(seed + 1) % kRanks].bytes = 5;
        run_steps(GetParam(), Direction::read, steps, false, disk, seed);
    }
}

// The cached plan, moved to the beginning of the file, has regions that begin before it. One rank
// moves its plan there, and the others take part without data.
TEST(KeptPlanOfWindows, MayBeMovedToTheBeginningOfTheFile) {
    MemoryDisk disk;
    Steps all(1);
    all[0].fill({0, 8 * kBytes});
    run_steps("list_io", Direction::write, all, false, disk);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        for (const Bytes from : {504, 1016, 2040, 4000}) {
            Steps steps(2);
            steps[0].fill({from, kBytes / kPiece * kPiece});
            steps[1][1] = {0, kBytes / kPiece * kPiece};
            run_steps("two_layer_shared", Direction::read, steps, false, disk, seed);
        }
    }
}

// Under the cached plan, a rank moves its data through a small buffer of its own. The new plan
// aggregates, so that it needs the buffers of a collective access.
TEST(KeptPlanOfAnotherKind, LeavesTheNewPlanTheBuffersOfACollectiveAccess) {
    for (const Direction direction : {Direction::write, Direction::read}) {
        constexpr Bytes kMuch = 40000;
        MemoryDisk disk;
        fill(disk, kRanks * kMuch);
        Steps steps(4);
        for (std::size_t i = 0; i < 3; ++i) steps[i][0] = {0, 8};
        steps[3].fill({0, kMuch});
        steps[3][0] = {0, 8};  // rank 0 starts with the cached plan, and then must aggregate
        // With the cached plan each rank reads its own data. All ranks plan only in the next read.
        if (direction == Direction::read) steps.push_back(steps[3]);
        if (direction == Direction::read)
            (void)run_steps("two_phase", Direction::write, {steps[3]}, false, disk);
        const Report report = run_steps("auto", direction, steps, false, disk);
        expect_written({steps[3]}, false, disk);
        std::uint64_t messages = 0;
        for (const Stats& stats : report.stats) messages += stats.messages_sent;
        EXPECT_GT(messages, 0U) << "the last access doesn't aggregate";
    }
}

INSTANTIATE_TEST_SUITE_P(Methods, KeptPlan, testing::ValuesIn(method_names()),
                         [](const auto& tested) { return tested.param; });

TEST(KeptPlanMemory, ARankKeepsOnlyThePartnersOfItsRole) {
    for (const Direction direction : {Direction::write, Direction::read}) {
        MemoryDisk disk;
        fill(disk, kRanks * kBytes);
        const Steps steps = equal_steps(2, 0);
        if (direction == Direction::read)
            (void)run_steps("two_phase", Direction::write, steps, false, disk);
        const Report report = run_steps("two_phase", direction, steps, false, disk);
        EXPECT_EQ(report.known, (std::vector<std::size_t>{kRanks, 1, 1, 1}))
            << "rank 0 aggregates for all";
    }
}

TEST(KeptPlanOfStripes, IsMovedOnlyIfEachStripeKeepsItsOwner) {
    constexpr int kSteps = 3;
    constexpr Bytes kTurn = 2 * kStripe;  // the stripes are dealt to two aggregators
    for (const Bytes distance : {kStripe, kTurn}) {
        const Steps steps = equal_steps(kSteps, distance / kRanks);
        MemoryDisk disk;
        const Report report = run_steps("cb_file_layout", Direction::write, steps, false, disk);
        expect_written(steps, false, disk);
        for (const Stats& stats : report.stats)
            EXPECT_EQ(stats.plans, distance == kTurn ? 1U : static_cast<unsigned>(kSteps));
    }
}

TEST(KeptPlanTrust, ShapesThatChangeEveryTimeAreSoonPlannedAtOnce) {
    Steps steps;
    for (int i = 0; i < 40; ++i) {
        steps.emplace_back();
        steps.back().fill({0, kPiece * (100 + i)});
    }
    MemoryDisk disk;
    const Report report = run_steps("shared_buffer", Direction::write, steps, false, disk);
    // Every access was planned. Only the second one tried the cached plan first.
    EXPECT_EQ(report.stats[0].plans, 40U);
}

TEST(MappedWrite, TheFileIsLongEnoughBeforeAnyRankWrites) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        MemoryDisk disk;
        const Steps steps = equal_steps(1, 0);
        run_steps("mmap", Direction::write, steps, false, disk, seed);
        EXPECT_EQ(disk.counters().late_extensions, 0U);
        expect_written(steps, false, disk);
    }
}

}  // namespace
}  // namespace oratorio::test::kept_plan_test
