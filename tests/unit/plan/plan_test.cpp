// SPDX-License-Identifier: BSD-3-Clause
#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/learning.hpp"
#include "plan/methods.hpp"
#include "unit/plan/plan_support.hpp"

namespace oratorio::test::plan_test {
namespace {

TEST(Plan, InterleavedPiecesThatTileTheHullAreCoveredAndOthersNot) {
    Summaries summaries = interleaved(4, 8, 1000);
    EXPECT_TRUE(plan_of(summaries, {}).covered);
    // One rank's pieces occur twice and another's are missing, so that the byte count still fits.
    summaries[2] = summaries[1];
    EXPECT_FALSE(plan_of(summaries, {}).covered);
}

TEST(Plan, IsTheSameOnAllRanksExceptForTheRankItself) {
    const Summaries summaries = interleaved(8, 8, 100000);
    FlatTerms options;
    options.method = find_method("two_phase");
    const std::string first = explain(plan_of(summaries, options, 0));
    for (Rank rank = 1; rank < 8; ++rank)
        EXPECT_EQ(explain(plan_of(summaries, options, rank)), first);
}

TEST(Plan, FinePiecesAreExchangedAndCoarseOnesAreNot) {
    EXPECT_TRUE(plan_of(interleaved(8, 8, 100000), {}).method->aggregated());
    EXPECT_EQ(plan_of(interleaved(8, 1 << 20, 16), {}).method->name, "list_io");
}

TEST(Plan, TheCollectiveBufferingHintsAreObeyed) {
    FlatTerms options;
    options.cb_write = Toggle::disable;
    EXPECT_FALSE(plan_of(interleaved(8, 8, 100000), options).method->aggregated());
    options.cb_write = Toggle::enable;
    EXPECT_TRUE(plan_of(interleaved(8, 1 << 20, 16), options).method->aggregated());
}

TEST(Plan, WritesAreNeverSievedUnlessTheHintSaysSo) {
    AccessSummary mine = interleaved(4, 8, 10000)[0];
    FlatTerms options;
    EXPECT_EQ(make_own_plan(Direction::write, 0, mine, **terms_of(options)).method->name,
              "list_io");
    options.ds_write = Toggle::enable;
    EXPECT_EQ(make_own_plan(Direction::write, 0, mine, **terms_of(options)).method->name, "sieve");
    EXPECT_EQ(make_own_plan(Direction::read, 0, mine, {}).method->name, "sieve");
}

TEST(Plan, EveryMethodCanBeForcedByNameWhereItApplies) {
    FlatTerms options;
    options.mappable = options.coherent = true;
    options.agents = few_agents();
    for (const Method& method : methods()) {
        options.method = &method;
        EXPECT_EQ(plan_of(interleaved(4, 64, 5000), options).method->name, method.name);
    }
}

TEST(Plan, AgentsCombineTheRequestsOfCollectiveAccessesWhereTheyCan) {
    FlatTerms options;
    options.method = find_method("data_shipping");
    options.agents = few_agents(256 << 10);
    options.domains = DomainsChoice::even;  // has no effect: the domains are the agents' blocks
    Summaries summaries = interleaved(4, 64, 1 << 18);
    const Plan plan = plan_of(summaries, options);
    EXPECT_TRUE(plan.method->aggregated());
    EXPECT_TRUE(std::ranges::equal(plan.aggregators, std::vector<Rank>{0, 2}));
    EXPECT_EQ(plan.slots, 2);
    for (std::int64_t block = 0; block < plan.hull.end / (256 << 10); ++block)
        EXPECT_EQ(plan.domains.owner(block * (256 << 10)), block % 2);
    const auto expect_uncombined = [&](std::string_view why) {
        const Plan alone = plan_of(summaries, options);
        ASSERT_EQ(alone.method, options.method);
        EXPECT_NE(std::get<Shipped>(alone.route).uncombined.find(why), std::string_view::npos);
        EXPECT_NE(explain(alone).find(why), std::string::npos);
    };
    summaries[2].flags |= flag_no_store;
    expect_uncombined("no memory");
    summaries[2].flags = 0;
    options.cb_write = Toggle::disable;
    expect_uncombined("romio_cb_");
    options.cb_write = Toggle::automatic;
    options.atomic = true;
    expect_uncombined("atomic mode");
}

TEST(Plan, ReplacesAMethodThatDoesNotApplyAndExplains) {
    FlatTerms options;
    options.method = find_method("two_phase");
    options.atomic = true;
    const Plan plan = plan_of(interleaved(4, 64, 5000), options);
    EXPECT_EQ(plan.method->name, "list_io");
    EXPECT_NE(explain(plan).find("atomic mode"), std::string::npos);
}

TEST(Plan, BuffersOfAllSlotsStayWithinTheHint) {
    FlatTerms options;
    options.method = find_method("double_buffer");
    options.cb_buffer_size = 100000;
    const Plan plan = plan_of(interleaved(4, 8, 100000), options);
    EXPECT_EQ(plan.slots, 2);
    EXPECT_LE(plan.slot_bytes * plan.slots, 100000);
    EXPECT_LE(plan.message_bytes, 100000 / 8);
}

TEST(Plan, AutoLimitsAggregatorsPerNodeSoThatPairsHaveFullMessages) {
    constexpr int kNodes = 2;
    const auto aggregators = [](std::int64_t pieces, const FlatTerms& options, int ranks = 16) {
        return std::ssize(
            plan_of(interleaved(ranks, 8, pieces), options, 0, Direction::write, kNodes)
                .aggregators);
    };
    // A piece has 8 bytes. Each rank's hull is the whole file, so that each rank exchanges with all
    // aggregators.
    EXPECT_EQ(aggregators(1 << 20, {}), 8 * kNodes) << "32 full messages of each rank";
    EXPECT_EQ(aggregators(6 * (32 << 10), {}), 3 * kNodes) << "6 full messages";
    EXPECT_EQ(aggregators(32 << 10, {}, 64), 2 * kNodes) << "1 full message";
    FlatTerms options;
    options.method = find_method("two_phase");
    EXPECT_EQ(aggregators(1 << 20, options), 2 * kNodes) << "as the papers compare it";
    options = {};
    options.cb_nodes = 5;
    EXPECT_EQ(aggregators(1 << 20, options), 5) << "a hint says otherwise";
}

TEST(Plan, AutoTakesSubBuffersThatStayInACache) {
    const auto slot = [](const FlatTerms& options, int ranks = 8) {
        const Plan plan = plan_of(interleaved(ranks, 8, 1 << 20), options, 0, Direction::write, 2);
        EXPECT_TRUE(plan.sends_messages());
        return plan.slot_bytes;
    };
    constexpr Bytes kMiB = 1 << 20;
    FlatTerms options;
    options.local_file_system = true;
    EXPECT_EQ(slot(options), kMiB);
    EXPECT_EQ(slot(options, 64), 4 * kMiB) << "64 KiB of each of 64 ranks";
    options.cb_buffer_size = kMiB / 2;
    EXPECT_LE(slot(options), kMiB / 2) << "a hint bounds all slots together";
    options.cb_buffer_size = 16 * kMiB;
    options.local_file_system = false;
    EXPECT_EQ(slot(options), 4 * kMiB) << "long calls for a network file system";
    options.striping_unit = 8 * kMiB;
    EXPECT_EQ(slot(options), 8 * kMiB) << "whole stripes";
    options.sub_buffer = kMiB;
    EXPECT_EQ(slot(options), kMiB) << "a hint says otherwise";
    options = {};
    options.direct_write = true;
    EXPECT_GE(slot(options), 8 * kMiB) << "long calls for a device";
    options = {};
    options.method = find_method("two_phase");
    EXPECT_EQ(slot(options), 16 * kMiB) << "as the papers compare it";
}

/// Tsujita et al. (2014) vary the number of slots while each keeps its buffer, so that the number
/// of rounds (cycles) stays the same.
TEST(Plan, AHintGivesEachSlotABufferOfItsOwn) {
    FlatTerms options;
    options.method = find_method("two_phase");
    options.cb_buffer_size = 1 << 20;
    const Summaries summaries = interleaved(8, 1024, 4096);  // 32 MiB in total
    const auto plan_with = [&](int slots) {
        options.slots = slots;
        return plan_of(summaries, options);
    };
    const std::int64_t rounds = plan_with(1).rounds;
    EXPECT_EQ(plan_with(8).rounds, 8 * rounds) << "the slots divide one buffer";
    options.buffer_per_slot = true;
    for (const int slots : {1, 2, 4, 8}) {
        const Plan plan = plan_with(slots);
        EXPECT_EQ(plan.rounds, rounds) << slots << " slots";
        EXPECT_EQ(plan.slot_bytes, 1 << 20);
        EXPECT_EQ(plan.buffer_bytes(), slots * plan.slot_bytes);
    }
}

struct Cycles {
    std::int64_t all = 0;
    int in_last = 0;  ///< aggregators with data in the last one
    bool operator==(const Cycles&) const = default;
};

Cycles cycles_of(const Plan& plan) {
    Cycles cycles{plan.rounds};
    for (int index = 0; index < static_cast<int>(plan.aggregators.size()); ++index)
        cycles.in_last += plan.region(index, plan.rounds - 1).empty() ? 0 : 1;
    return cycles;
}

/// Tsujita et al. (2014), figure 5 (c): 30 aggregators access 274 GiB. Buffers of 2 GiB make 5
/// cycles: all aggregators take part in the first four, and 17 in the last. With 10 cycles, 4 take
/// part in the last.
TEST(Plan, ChunksAreDealtInThePapersCycles) {
    constexpr Bytes kMiB = 1 << 20;
    constexpr Bytes kGiB = 1 << 30;
    FlatTerms options;
    options.method = find_method("multithreaded");
    options.cb_nodes = 30;
    options.buffer_per_slot = true;
    const auto cycles = [&](Bytes gap) {
        // 256 ranks have 274 GiB with the gaps.
        return cycles_of(plan_of(interleaved(256, kMiB - gap, 1096, 256 * gap), options));
    };
    options.cb_buffer_size = 2 * kGiB;
    EXPECT_EQ(cycles(0), (Cycles{5, 17}));
    options.cb_buffer_size = kGiB;
    EXPECT_EQ(cycles(0), (Cycles{10, 4}));
    options.cb_buffer_size = 4 * kGiB;  // half of it is the write mask
    EXPECT_EQ(cycles(1024), (Cycles{5, 17}));
    options.buffer_per_slot = false;
    EXPECT_EQ(cycles(1024), (Cycles{20, 17})) << "four slots divide the buffer";
    options.domains = DomainsChoice::even;
    EXPECT_EQ(cycles(1024).in_last, 30) << "a hint says otherwise";
}

TEST(Plan, ChunksThatFitAllAtOnceAreEven) {
    FlatTerms options;
    options.method = find_method("multithreaded");
    options.cb_buffer_size = 1 << 20;
    options.cb_nodes = 4;
    EXPECT_FALSE(plan_of(interleaved(8, 8, 1 << 16), options).domains.is_cyclic()) << "4 MiB";
    const Plan longer = plan_of(interleaved(8, 8, 1 << 17), options);
    EXPECT_TRUE(longer.domains.is_cyclic());
    EXPECT_EQ(longer.domains.block(), 1 << 20);
    options.striping_unit = 300000;
    EXPECT_EQ(plan_of(interleaved(8, 8, 1 << 17), options).domains.block(), 900000)
        << "whole stripes";
}

TEST(Plan, OneWriterHasOneAggregator) {
    FlatTerms options;
    options.method = find_method("one_writer");
    EXPECT_EQ(plan_of(interleaved(8, 8, 1000000), options).aggregators.size(), 1U);
}

TEST(Plan, TheBlockTargetIsOnePartOfTheFileForEachRankMovedInOneRound) {
    FlatTerms options;
    options.method = find_method("cb_block");
    const Summaries summaries = interleaved(8, 8, 100000);  // 6 400 000 bytes in total
    for (const int nodes : {1, 4}) {
        const Plan plan = plan_of(summaries, options, 0, Direction::write, nodes);
        EXPECT_EQ(plan.aggregators, (std::vector<Rank>{0, 1, 2, 3, 4, 5, 6, 7})) << nodes;
        EXPECT_EQ(plan.rounds, 1);
        EXPECT_EQ(plan.slots, 1);
        constexpr Bytes part = 802816;  // an eighth of the file, in whole pages
        EXPECT_EQ(plan.slot_bytes, part) << "the buffer is as large as the part";
        for (int index = 0; index < 8; ++index) {
            const Region region = plan.region(index, 0);
            ASSERT_EQ(region.count, 1);
            EXPECT_EQ(region.extent(0),
                      (Extent{index * part, std::min<Offset>(6400000, (index + 1) * part)}));
        }
    }
    options.cb_buffer_size = 256 << 10;  // a buffer smaller than the part
    EXPECT_EQ(plan_of(summaries, options).slot_bytes, 256 << 10);
    EXPECT_EQ(plan_of(summaries, options).rounds, 4);
    options.striping_unit = 5000;
    options.cb_buffer_size = 16 << 20;
    EXPECT_EQ(plan_of(summaries, options).rounds, 1) << "parts that aren't whole pages";
    options.cb_nodes = 2;
    EXPECT_EQ(plan_of(summaries, options).aggregators.size(), 2U) << "a hint says otherwise";
}

/// The file system and the kernel of this node allow every method.
TEST(Plan, FineGrainedDataOfOneNodeGoesThroughMemoryThatItShares) {
    const FlatTerms options = all_allowed();
    const Summaries fine = interleaved(8, 8, 1 << 20);
    EXPECT_EQ(plan_of(fine, options).method->name, "shared_buffer");
    EXPECT_EQ(plan_of(fine, options, 0, Direction::read).method->name, "shared_buffer");
    const Summaries large = interleaved(8, 4 << 20, 4);
    EXPECT_EQ(plan_of(large, options).method->name, "list_io");
    EXPECT_EQ(plan_of(large, options, 0, Direction::read).method->name, "list_io");
}

TEST(Plan, LoadsAreSharedWhereACallKeepsACoreBusy) {
    FlatTerms options;
    options.method = find_method("shared_buffer");
    const auto shared = [&](const Summaries& summaries, Direction direction = Direction::read) {
        const Plan plan = plan_of(summaries, options, 0, direction);
        EXPECT_EQ(plan.any_rank_loads(),
                  explain(plan).find("any idle rank loads") != std::string::npos);
        return plan.any_rank_loads();
    };
    const Summaries fine = interleaved(4, 8, 1000);
    EXPECT_TRUE(shared(fine));
    EXPECT_FALSE(shared(fine, Direction::write));
    Summaries sparse = fine;  // with large holes, ranks must be asked what to load
    sparse[3].hull.end += 1 << 30;
    EXPECT_FALSE(shared(sparse));
    options.asynchronous = true;
    EXPECT_FALSE(shared(fine));
    options.asynchronous = false;
    options.method = find_method("shared_data");
    EXPECT_FALSE(shared(fine));
}

TEST(Plan, NeverUsesWhatANodeRefuses) {
    FlatTerms options = all_allowed();
    const auto method_where = [&](const NodeSharing& sharing) {
        const Summaries fine = interleaved(4, 8, 1000);
        return plan_of(fine, options, 0, Direction::write, 1, sharing).method->name;
    };
    for (const char* method : {"shared_buffer", "shared_buffer_list", "shared_data"}) {
        options.method = find_method(method);
        EXPECT_EQ(method_where({}), method);
        EXPECT_NE(method_where({.shared_memory = false}), method);
    }
    options.method = find_method("shared_data");
    EXPECT_NE(method_where({.cross_memory = false}), "shared_data");
    options = all_allowed();
    options.direct_write = true;
    options.method = find_method("mmap");
    EXPECT_NE(plan_of(interleaved(4, 8, 1000), options).method->name, "mmap");
    EXPECT_EQ(plan_of(interleaved(4, 8, 1000), options, 0, Direction::read).method->name, "mmap");
}

TEST(Plan, SmallPiecesPastThePageCacheAreGatheredFirst) {
    FlatTerms options = all_allowed();
    options.costs = built_in_costs(Storage::disk);
    const auto method_for = [&](Bytes piece, std::int64_t count, Direction direction) {
        return std::string(
            plan_of(interleaved(4, piece, count), options, 0, direction).method->name);
    };
    // Through the page cache, one call for each piece is cheap enough.
    EXPECT_EQ(method_for(64 << 10, 100, Direction::read), "list_io");
    EXPECT_EQ(method_for(1 << 20, 25, Direction::read), "list_io");
    options.direct_read = options.direct_write = true;
    for (const Direction direction : {Direction::read, Direction::write}) {
        EXPECT_EQ(method_for(4 << 10, 5000, direction), "shared_buffer");
        EXPECT_EQ(method_for(64 << 10, 500, direction), "shared_buffer");
    }
    EXPECT_EQ(method_for(16 << 20, 4, Direction::read), "list_io");
}

TEST(Plan, RanksOfSeveralNodesShareNoMemory) {
    FlatTerms options = all_allowed();
    options.method = find_method("shared_buffer");
    const Plan plan = plan_of(interleaved(4, 8, 1000), options, 0, Direction::write, 2);
    EXPECT_NE(plan.method->name, "shared_buffer");
}

/// Returns an access to `cells` cells in memory, each with `variables` values of 8 bytes side by
/// side. In the file the variables follow one another, and within each, the ranks' parts.
Access interleaved_variables(Rank rank, int ranks, std::int64_t variables, std::int64_t cells) {
    Access access;
    access.direction = Direction::write;
    const ShapePtr one = Shape::strided(Shape::run(8), cells, 8 * variables);
    access.memory = {Shape::strided(one, variables, 8), 8 * variables * cells, 0, 1};
    const Bytes part = 8 * cells;
    access.file = {Shape::strided(Shape::run(part), variables, part * ranks),
                   part * ranks * variables, rank * part, 1};
    return access;
}

TEST(Plan, VariablesSideBySideInMemoryAreMetTogether) {
    constexpr int kRanks = 4;
    constexpr std::int64_t kCells = 100000;
    Summaries summaries;
    for (Rank rank = 0; rank < kRanks; ++rank)
        summaries.push_back(summarise(interleaved_variables(rank, kRanks, 6, kCells), true));
    EXPECT_EQ(summaries[1].parts(), 6);
    EXPECT_EQ(summaries[1].period, 8 * kCells * kRanks);
    FlatTerms options = all_allowed();
    for (const char* method : {"shared_buffer", "mmap", "list_io"}) {
        options.method = find_method(method);
        const Plan plan = plan_of(summaries, options);
        EXPECT_EQ(plan.domains.parts(), 6) << method;
        EXPECT_EQ(plan.region(0, 0).count, 6) << method;
    }
    // These methods have only one piece of a rank outstanding, or move through the file in order.
    for (const char* method : {"naive", "prefetch"}) {
        options.method = find_method(method);
        EXPECT_EQ(plan_of(summaries, options).domains.parts(), 1) << method;
    }
    options.group_pieces = 3;
    options.method = find_method("list_io");
    EXPECT_EQ(plan_of(summaries, options).domains.parts(), 1);
    options.group_pieces = 0;
    // The two variables are as far apart as a summary can describe, and then one byte further.
    Access apart = interleaved_variables(0, 1, 2, kCells);
    const auto at = [&](Bytes period) {
        apart.file = {Shape::strided(Shape::run(8 * kCells), 2, period), 2 * period, 0, 1};
        return summarise(apart, true);
    };
    EXPECT_EQ(at(AccessSummary::kPeriodMost).period, AccessSummary::kPeriodMost);
    EXPECT_EQ(at(AccessSummary::kPeriodMost).parts(), 2);
    EXPECT_EQ(at(AccessSummary::kPeriodMost + 1).period, 0);
    // With few cells, the data stays in the cache from one variable to the next, so that slices
    // gain nothing.
    EXPECT_EQ(summarise(interleaved_variables(0, kRanks, 6, 100), true).parts(), 1);
    // If one rank has another layout, no rank slices the shared buffers.
    summaries[2] = summarise(interleaved_variables(2, kRanks, 12, kCells / 2), true);
    options.method = find_method("shared_buffer");
    EXPECT_EQ(plan_of(summaries, options).domains.parts(), 1);
}

TEST(Plan, MovedPlansDealTheSameRegionsFurtherOn) {
    FlatTerms options = all_allowed();
    options.cb_buffer_size = 1 << 16;
    for (const char* method : {"two_phase", "cb_cyclic", "shared_buffer"}) {
        options.method = find_method(method);
        const Plan plan = plan_of(interleaved(4, 64, 5000), options);
        const Plan moved = plan.moved(12345);
        EXPECT_EQ(moved.graph.hull_of(2).begin, plan.graph.hull_of(2).begin + 12345);
        ASSERT_EQ(moved.rounds, plan.rounds);
        for (std::int64_t round = 0; round < plan.rounds; ++round) {
            const Region before = plan.region(0, round), after = moved.region(0, round);
            ASSERT_EQ(after.begin, before.begin + 12345);
            ASSERT_EQ(after.length, before.length);
            ASSERT_EQ(after.count, before.count);
        }
    }
}

/// Accesses that begin at stripes 0, 1 and 5 have the same owners, and as many aggregators as the
/// file has storage targets.
TEST(Plan, TheOwnerOfAStripeDoesNotDependOnTheAccess) {
    constexpr Bytes kStripe = 65536;
    constexpr int kTargets = 3;
    FlatTerms options = all_allowed();
    options.striping_unit = kStripe;
    options.striping_factor = kTargets;
    options.method = find_method("cb_file_layout");
    for (const Offset begin : {Offset{0}, kStripe, 5 * kStripe}) {
        Summaries summaries = interleaved(8, kStripe / 8, 20);
        for (AccessSummary& one : summaries)
            one.hull = {one.hull.begin + begin, one.hull.end + begin};
        const Plan plan = plan_of(summaries, options, 0, Direction::write, 2);
        EXPECT_EQ(plan.aggregators.size(), std::size_t{kTargets});
        for (Offset at = begin; at < begin + 20 * kStripe; at += kStripe / 2)
            ASSERT_EQ(plan.domains.owner(at), at / kStripe % kTargets) << at;
        EXPECT_NE(explain(plan).find("stripes of 65536 bytes"), std::string::npos);
        EXPECT_TRUE(plan.can_move(0));
        EXPECT_FALSE(plan.can_move(kStripe));
        EXPECT_TRUE(plan.can_move(kTargets * kStripe));
    }
}

TEST(Plan, AHintSelectsTheFileDomainsOfMethodsWithMessages) {
    FlatTerms options = all_allowed();
    options.striping_unit = 65536;
    options.cyclic_block = 10000;
    const std::vector<std::pair<DomainsChoice, const char*>> texts{
        {DomainsChoice::even, "file domains even, 131072 bytes each"},
        {DomainsChoice::block, "file domains even, 128000 bytes each"},
        {DomainsChoice::cyclic, "file domains cyclic(10000)"},
        {DomainsChoice::stripes, "file domains stripes of 65536 bytes"}};
    EXPECT_EQ(texts.size() + 1, static_cast<std::size_t>(DomainsChoice::count));
    options.cb_nodes = 2;
    const Summaries summaries = interleaved(8, 1000, 32);
    for (const auto& [domains, text] : texts) {
        options.domains = domains;
        for (const char* method : {"two_phase", "cb_cyclic", "two_layer", "sparse", "cb_gather"}) {
            options.method = find_method(method);
            const std::string told = explain(plan_of(summaries, options, 0, Direction::write, 2));
            EXPECT_NE(told.find(text), std::string::npos) << method << "\n" << told;
        }
        options.method = find_method("shared_buffer");
        EXPECT_FALSE(plan_of(summaries, options).domains.is_cyclic());
    }
}

/// Methods with contiguous domains have their aggregators in rank order; blocks are dealt in the
/// order of the hint. Local aggregators are chosen as without the hint.
TEST(Plan, AHintNamesTheAggregatorsOfEveryMethod) {
    FlatTerms options = all_allowed();
    options.striping_unit = 65536;
    options.striping_factor = 2;
    const Summaries summaries = interleaved(8, 1 << 10, 4096);
    for (const Method& method : methods()) {
        if (!method.aggregated()) continue;
        options.method = &method;
        options.aggregators = {};
        const int nodes = method.on_node() ? 1 : 2;
        const auto locals =
            plan_of(summaries, options, 0, Direction::write, nodes).layers().local_aggregators();
        options.aggregators = {7, 2, 3};
        for (const Direction direction : {Direction::read, Direction::write}) {
            const Plan plan = plan_of(summaries, options, 0, direction, nodes);
            std::vector<Rank> expected{7, 2, 3};
            if (method.schedule.aggregators_max > 0) expected = {7};
            if (!plan.domains.is_cyclic()) std::ranges::sort(expected);
            EXPECT_EQ(plan.method, &method);
            EXPECT_EQ(plan.aggregators, expected) << method.name;
            EXPECT_EQ(plan.layers().local_aggregators(), locals) << method.name;
            std::string text = "aggregators ";
            for (const Rank rank : expected) text += " " + std::to_string(rank);
            EXPECT_NE(explain(plan).find(text), std::string::npos) << method.name;
        }
    }
}

TEST(Plan, NoDataNeedsNoRounds) {
    FlatTerms options;
    options.method = find_method("two_phase");
    const Plan plan = plan_of(Summaries(4), options);
    EXPECT_EQ(plan.rounds, 0);
    EXPECT_TRUE(plan.graph.empty());
}

TEST(Plan, ExplainTellsMethodDomainsBuffersAndCandidates) {
    FlatTerms options;
    options.method = find_method("cb_cyclic");
    options.cyclic_block = 65536;
    options.cb_buffer_size = 1 << 20;
    const std::string text = explain(plan_of(interleaved(4, 8, 100000), options));
    EXPECT_EQ(text.substr(0, text.find("  estimate  ")),
              "collective write: method cb_cyclic (requested by name)\n"
              "  what         two_phase with CYCLIC(n) file domains\n"
              "  file range   [0, 3200000)\n"
              "  data         3200000 bytes of all ranks, covered once\n"
              "  pieces       400000 in the file, 4 in memory; 3200000 bytes, ranks with data: 4\n"
              "  file domains cyclic(65536)\n"
              "  storage      buffered\n"
              "  aggregators  0 2\n"
              "  buffers      1 x 1048576 bytes per aggregator, 2 rounds\n"
              "  requests     pieces from datatype iterators, as rounds need them\n"
              "  messages     at most 131072 bytes, 4 in flight per rank and direction\n");
    EXPECT_NE(text.find(" (limited by senders), storage "), std::string::npos) << text;
    for (const Method& method : methods())
        EXPECT_NE(text.find(method.name), std::string::npos) << method.name;
}

TEST(Plan, ExplainSaysWhyACheaperMethodIsLeftOut) {
    FlatTerms options = all_allowed();
    options.cb_write = Toggle::disable;
    const std::string text = explain(plan_of(interleaved(8, 8, 1 << 20), options));
    EXPECT_NE(text.find("left out by hint romio_cb_*=disable"), std::string::npos) << text;
    EXPECT_NE(text.find("cheapest of those that auto considers"), std::string::npos) << text;
    EXPECT_NE(text.find("  cheaper is   shared_buffer, "), std::string::npos) << text;
    const std::string shared = explain(plan_of(interleaved(8, 8, 1 << 20), all_allowed()));
    EXPECT_NE(shared.find("left out: the ranks share memory"), std::string::npos) << shared;
    EXPECT_NE(shared.find("by name only"), std::string::npos) << shared;
}

/// Returns what `explain` says about a method that is a little cheaper than the plan's, and that
/// `auto` may choose.
std::string told_of_cheaper(Plan plan) {
    plan.candidates = {{plan.method->name, true, 1.05, ""}, {"naive", true, 1, ""}};
    const std::string text = explain(plan);
    constexpr std::string_view kCheaper = "  cheaper is   naive, 1000.000 ms: ";
    const std::size_t at = text.find(kCheaper);
    if (at == std::string::npos) return text;
    const std::size_t begin = at + kCheaper.size();
    return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(Plan, ExplainSaysHowTheChoicePassedOverACheaperMethod) {
    FlatTerms options = all_allowed();
    Plan plan = plan_of(interleaved(8, 8, 1 << 18), options);
    EXPECT_EQ(told_of_cheaper(plan),
              "about as cheap, but ranks wait less for each other in the chosen method");
    options.method = find_method("mmap");
    options.mappable = false;
    const Plan other = plan_of(interleaved(8, 8, 1 << 18), options);
    ASSERT_NE(other.method, options.method) << "the requested method must not apply";
    EXPECT_EQ(told_of_cheaper(other), told_of_cheaper(plan));
    options.method = plan.method;
    EXPECT_EQ(told_of_cheaper(plan_of(interleaved(8, 8, 1 << 18), options)),
              "another method was requested by name");
    plan.trial = std::make_shared<const Trial>();
    EXPECT_EQ(told_of_cheaper(plan), told_of_cheaper(other)) << "nothing is measured yet";
    plan.trial = std::make_shared<const Trial>(Trial{{}, {}, 0, "shared_buffer 2 ms"});
    EXPECT_EQ(told_of_cheaper(plan), "times of earlier accesses decided");
}

TEST(Plan, PlansThatDifferOnlyInOffsetHaveTheSameFingerprint) {
    const Plan plan = plan_of(interleaved(4, 64, 5000), all_allowed());
    EXPECT_EQ(fingerprint(plan.moved(4096)), fingerprint(plan));
    EXPECT_NE(explain(plan.moved(4096)), explain(plan));
    EXPECT_NE(fingerprint(plan_of(interleaved(4, 64, 5001), all_allowed())), fingerprint(plan));
}

TEST(Plan, EveryCheaperCandidateHasAReason) {
    FlatTerms options = all_allowed();
    for (const Toggle collective : {Toggle::automatic, Toggle::enable, Toggle::disable}) {
        for (const Toggle sieving : {Toggle::automatic, Toggle::enable, Toggle::disable}) {
            options.cb_write = options.cb_read = collective;
            options.ds_write = options.ds_read = sieving;
            for (const Direction direction : {Direction::read, Direction::write}) {
                const Plan plan = plan_of(interleaved(8, 8, 1 << 18), options, 0, direction);
                const auto taken =
                    std::ranges::find(plan.candidates, plan.method->name, &Candidate::name);
                ASSERT_NE(taken, plan.candidates.end());
                for (const Candidate& other : plan.candidates) {
                    EXPECT_TRUE(other.seconds >= taken->seconds || !other.reason.empty())
                        << other.name;
                }
            }
        }
    }
}

}  // namespace
}  // namespace oratorio::test::plan_test
