#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include "plan/methods.hpp"
#include "type/coverage.hpp"

namespace oratorio {
namespace {

Topology topology_of(int ranks, Rank rank = 0) {
    Topology topology;
    topology.rank = rank;
    topology.size = ranks;
    topology.node_of.assign(static_cast<std::size_t>(ranks), 0);
    topology.node_names = {"n0"};
    return topology;
}

/// Rank r owns every `ranks`-th piece of `piece` bytes, `count` of them each.
Summaries interleaved(int ranks, Bytes piece, std::int64_t count) {
    Summaries summaries;
    for (int rank = 0; rank < ranks; ++rank) {
        Access access;
        access.direction = Direction::write;
        access.file = {Shape::run(piece), piece * ranks, rank * piece, Layout::unbounded};
        access.memory = {Shape::run(piece * count), piece * count, 0, 1};
        summaries.push_back(summarise(access, true));
    }
    return summaries;
}

Plan plan_of(const Summaries& summaries, const PlanOptions& options, Rank rank = 0,
             Direction direction = Direction::write) {
    return make_plan(direction, Agreed<Summaries>::vouch(summaries),
                     topology_of(static_cast<int>(summaries.size()), rank), options);
}

TEST(Summary, HullBytesPiecesAndCoverageOfPartOfAView) {
    Access access;
    access.direction = Direction::write;
    access.file = {Shape::strided(Shape::run(8), 4, 32), 128, 1000, Layout::unbounded};
    access.from = 12;
    access.memory = {Shape::run(40), 40, 0, 1};
    const AccessSummary summary = summarise(access, true);
    EXPECT_EQ(
        summary.hull,
        (Extent{1036,
                1196}));  // data bytes 12 to 51: piece 1 from its middle, to the middle of piece 6
    EXPECT_EQ(summary.bytes, 40);
    EXPECT_EQ(summary.flags, 0U);
    EXPECT_EQ(summary.coverage, coverage(access.file, 12, 52));
}

TEST(Summary, TilesThatInterleaveOrOverlapAreFlagged) {
    Access access;
    access.memory = {Shape::run(64), 64, 0, 1};
    access.file = {Shape::strided(Shape::run(4), 2, 100), 4, 0, Layout::unbounded};
    EXPECT_EQ(summarise(access, false).flags, flag_interleaved);
    access.file = {Shape::run(16), 8, 0, Layout::unbounded};
    EXPECT_EQ(summarise(access, false).flags, flag_interleaved);
}

TEST(Summary, ARefusedAccessMovesNothing) {
    Access access;
    access.file = {Shape::run(8), 8, 0, Layout::unbounded};
    access.memory = {Shape::run(64), 64, 0, 1};
    access.refused = Error::make(ErrorKind::count, "negative count");
    EXPECT_EQ(summarise(access, true), AccessSummary{});
}

TEST(Plan, InterleavedPiecesThatTileTheHullAreCoveredAndOthersNot) {
    Summaries summaries = interleaved(4, 8, 1000);
    EXPECT_TRUE(plan_of(summaries, {}).covered);
    summaries[2] =
        summaries[1];  // one rank's pieces twice, another's missing: the byte count still fits
    EXPECT_FALSE(plan_of(summaries, {}).covered);
}

TEST(Plan, IsTheSameOnAllRanksButForWhoseItIs) {
    const Summaries summaries = interleaved(8, 8, 100000);
    PlanOptions options;
    options.method = "two_phase";
    const std::string first = explain(plan_of(summaries, options, 0));
    for (Rank rank = 1; rank < 8; ++rank)
        EXPECT_EQ(explain(plan_of(summaries, options, rank)), first);
}

TEST(Plan, FinePiecesAreExchangedAndCoarseOnesAreNot) {
    EXPECT_TRUE(plan_of(interleaved(8, 8, 100000), {}).method->aggregated());
    EXPECT_EQ(plan_of(interleaved(8, 1 << 20, 16), {}).method->name, "list_io");
}

TEST(Plan, TheCollectiveBufferingHintsAreObeyed) {
    PlanOptions options;
    options.cb_write = Toggle::disable;
    EXPECT_FALSE(plan_of(interleaved(8, 8, 100000), options).method->aggregated());
    options.cb_write = Toggle::enable;
    EXPECT_TRUE(plan_of(interleaved(8, 1 << 20, 16), options).method->aggregated());
}

TEST(Plan, WritesAreNeverSievedUnlessTheHintSaysSo) {
    AccessSummary mine = interleaved(4, 8, 10000)[0];
    PlanOptions options;
    EXPECT_EQ(make_own_plan(Direction::write, 0, mine, options).method->name, "list_io");
    options.ds_write = Toggle::enable;
    EXPECT_EQ(make_own_plan(Direction::write, 0, mine, options).method->name, "sieve");
    EXPECT_EQ(make_own_plan(Direction::read, 0, mine, PlanOptions{}).method->name, "sieve");
}

TEST(Plan, EveryMethodCanBeForcedByNameWhereItApplies) {
    PlanOptions options;
    for (const Method& method : methods()) {
        options.method = method.name;
        EXPECT_EQ(plan_of(interleaved(4, 64, 5000), options).method, &method) << method.name;
    }
}

TEST(Plan, AMethodThatDoesNotApplyIsReplacedAndTheReasonIsGiven) {
    PlanOptions options;
    options.method = "two_phase";
    options.atomic = true;
    const Plan plan = plan_of(interleaved(4, 64, 5000), options);
    EXPECT_EQ(plan.method->name, "list_io");
    EXPECT_NE(explain(plan).find("atomic mode"), std::string::npos);
}

TEST(Plan, BuffersOfAllSlotsStayWithinTheHint) {
    PlanOptions options;
    options.method = "double_buffer";
    options.cb_buffer_size = 100000;
    const Plan plan = plan_of(interleaved(4, 8, 100000), options);
    EXPECT_EQ(plan.slots, 2);
    EXPECT_LE(plan.slot_bytes * plan.slots, 100000);
    EXPECT_LE(plan.message_bytes, 100000 / 8);
}

TEST(Plan, OneWriterHasOneAggregator) {
    PlanOptions options;
    options.method = "one_writer";
    EXPECT_EQ(plan_of(interleaved(8, 8, 1000000), options).aggregators.size(), 1U);
}

TEST(Plan, NoDataNeedsNoRounds) {
    PlanOptions options;
    options.method = "two_phase";
    const Plan plan = plan_of(Summaries(4), options);
    EXPECT_EQ(plan.rounds, 0);
    EXPECT_TRUE(plan.participants.empty());
}

TEST(Plan, ExplainTellsMethodDomainsBuffersAndCandidates) {
    PlanOptions options;
    options.method = "cb_cyclic";
    options.cyclic_block = 65536;
    options.cb_buffer_size = 1 << 20;
    const std::string text = explain(plan_of(interleaved(4, 8, 100000), options));
    EXPECT_EQ(text.substr(0, text.find("  candidates")),
              "collective write: method cb_cyclic (asked for by name)\n"
              "  what         two_phase with CYCLIC(n) file domains\n"
              "  file range   [0, 3200000), 3200000 bytes of data, covered once\n"
              "  file domains cyclic(65536)\n"
              "  storage      buffered\n"
              "  aggregators  0 2\n"
              "  buffers      1 x 1048576 bytes per aggregator, 2 rounds\n"
              "  messages     at most 131072 bytes, 4 in flight\n");
    for (const Method& method : methods())
        EXPECT_NE(text.find(method.name), std::string::npos) << method.name;
}

TEST(Plan, SixteenThousandRanksArePlannedWithoutAMachine) {
    PlanOptions options;
    options.method = "two_phase";
    const Plan plan = plan_of(interleaved(16384, 1024, 64), options);
    EXPECT_EQ(plan.participants.size(), 16384U);
    EXPECT_EQ(plan.hull, (Extent{0, Bytes{16384} * 1024 * 64}));
}

}  // namespace
}  // namespace oratorio
