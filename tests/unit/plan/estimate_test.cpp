// SPDX-License-Identifier: BSD-3-Clause
// Tests of the cost estimates to which the parts of a method contribute.
#include "plan/estimate.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/flat_terms.hpp"

namespace oratorio::test::estimate_test {
namespace {

PlanInputs situation_of(const FlatTerms& options, Direction direction) {
    PlanInputs s;
    s.direction = direction;
    s.collective = true;
    s.ranks = s.ranks_with_data = 4;
    s.cores = 2;
    s.aggregators = 2;
    s.bytes = 64 << 20;
    s.bytes_max = s.bytes / 4;
    s.hull = {0, s.bytes};
    s.hulls = 4.0 * static_cast<double>(s.bytes);
    s.pieces = s.memory_pieces = s.bytes / 64;
    s.covered = true;
    s.options = &options;
    s.facts = &options;
    return s;
}

/// The situation is one in which each method does something different: some ranks wait for their
/// turn, and nodes have several ranks.
TEST(Estimate, NoTwoMethodsCostTheSame) {
    for (const int nodes : {1, 4}) {
        for (const Direction direction : {Direction::read, Direction::write}) {
            FlatTerms options;
            options.striping_unit = 4 << 20;
            options.group = 1;
            PlanInputs s = situation_of(options, direction);
            s.nodes = nodes;
            s.ranks = s.ranks_with_data = 16;
            std::map<double, std::string_view> seen;
            for (const Method& method : methods()) {
                const auto [other, is_new] = seen.emplace(method.seconds(s), method.name);
                EXPECT_TRUE(is_new || !method.refuses(s).empty())
                    << method.name << " and " << other->second << ", nodes " << nodes;
            }
        }
    }
}

/// Returns costs in which only this constant is above zero, which shows how often an estimate
/// counts it.
Costs only(double Costs::*one) {
    Costs costs;
#define COST(name, memory, disk, server, doc) costs.name = 0;
#include "plan/costs.def"
#undef COST
    costs.*one = 1;
    return costs;
}

/// Returns how often the estimate of a write counts this constant. `ranks` ranks are on `nodes`
/// nodes, and each hull is the whole file.
double count(double Costs::*one, const char* method, int nodes, int ranks) {
    FlatTerms options;
    options.costs = only(one);
    PlanInputs s = situation_of(options, Direction::write);
    s.nodes = nodes;
    s.ranks = s.ranks_with_data = ranks;
    s.cores = 64;
    s.aggregators = 2 * nodes;
    s.bytes = Bytes{16 << 20} * s.aggregators;
    s.hull = {0, s.bytes};
    s.hulls = static_cast<double>(ranks) * static_cast<double>(s.bytes);
    return 1e9 * find_method(method)->seconds(s);
}

TEST(Estimate, AgreeingGrowsWithTheRanksOfANodeAndTheLogarithmOfNodes) {
    EXPECT_NEAR(count(&Costs::collective, "list_io", 1, 64), 2 * 64, 1e-6);
    EXPECT_NEAR(count(&Costs::collective, "list_io", 256, 64 * 256), 2 * 64, 1e-6);
    EXPECT_NEAR(count(&Costs::far_message, "list_io", 1, 64), 0, 1e-6);
    EXPECT_NEAR(count(&Costs::far_message, "list_io", 2, 128), 2 * 1, 1e-6);
    EXPECT_NEAR(count(&Costs::far_message, "list_io", 256, 64 * 256), 2 * 8, 1e-6);
    EXPECT_NEAR(count(&Costs::far_message, "two_phase", 256, 64 * 256), 4 * 8 + 2 * 512 / 4, 1e-6)
        << "and a round trip for every four of a rank's 512 messages";
}

TEST(Estimate, MessagesWithinANodeAreWorkOfItsAggregators) {
    EXPECT_NEAR(count(&Costs::message, "two_phase", 256, 64 * 256), 63, 1e-6)
        << "from the other ranks of its node";
    EXPECT_NEAR(count(&Costs::message, "list_io", 256, 64 * 256), 0, 1e-9);
}

TEST(Estimate, NodesReceiveTheirShareOfCrossingData) {
    constexpr int kNodes = 256;
    constexpr int kRanks = 64 * kNodes;
    const double summaries = (kRanks - 64) * double(sizeof(AccessSummary));
    const double data = 2.0 * (16 << 20) * (1 - 1.0 / kNodes);  // the data of a node's two
                                                                // aggregators that comes from other
                                                                // nodes
    EXPECT_NEAR(count(&Costs::far_byte, "two_phase", kNodes, kRanks), summaries + data, 1);
    EXPECT_NEAR(count(&Costs::far_byte, "one_writer", kNodes, kRanks), summaries + data * kNodes,
                1e4);
    EXPECT_NEAR(count(&Costs::far_byte, "list_io", kNodes, kRanks), summaries, 1e-6);
    EXPECT_NEAR(count(&Costs::endpoint_message, "two_phase", kNodes, kRanks),
                kRanks * (1 - 1.0 / kNodes), 1e-6)
        << "an aggregator gets messages from all ranks of other nodes";
}

TEST(Estimate, WritersWaitForEachOtherOnTheirNodeAlone) {
    const double here = count(&Costs::write_byte, "two_phase", 1, 64);
    EXPECT_NEAR(here, 2 * (16 << 20), 1);
    EXPECT_NEAR(count(&Costs::write_byte, "two_phase", 256, 64 * 256), here, 1)
        << "256 nodes write 256 times as much";
    const double calls = count(&Costs::write_call, "list_io", 1, 64);
    EXPECT_NEAR(calls, (64 << 20) / 64, 1) << "one after the other";
    EXPECT_NEAR(count(&Costs::write_call, "list_io", 256, 64 * 256), calls / 256, 1);
    EXPECT_NEAR(count(&Costs::write_byte, "one_writer", 256, 64 * 256), 256 * here, 1e3)
        << "one aggregator writes all";
}

TEST(Estimate, AggregatorsOfAMachineContend) {
    const double bytes = 2 * (16 << 20);
    EXPECT_NEAR(count(&Costs::contended_byte, "two_phase", 1, 64), bytes, 1);
    EXPECT_NEAR(count(&Costs::contended_byte, "two_phase", 4, 64), bytes, 1) << "each has two";
    EXPECT_NEAR(count(&Costs::contended_byte, "one_writer", 1, 64), 0, 1e-6);
}

TEST(Estimate, ContendingCallsCostTheirContendedTime) {
    const double calls = (64 << 20) / 64;
    EXPECT_NEAR(count(&Costs::contended_call, "list_io", 1, 64), calls, 1) << "one after the other";
    EXPECT_NEAR(count(&Costs::contended_call, "list_io", 256, 64 * 256), calls / 256, 1);
    EXPECT_NEAR(count(&Costs::contended_call, "list_io", 1, 1), 0, 1e-6) << "no other rank calls";
    EXPECT_NEAR(count(&Costs::contended_call, "list_io", 64, 64), 0, 1e-6) << "alone on its node";
    EXPECT_NEAR(count(&Costs::contended_call, "two_phase", 1, 64), 0, 1e-6) << "not aggregators";
}

TEST(Estimate, ReadsOfPartsOfAPageThatOthersReadCostMore) {
    FlatTerms options;
    options.costs = only(&Costs::shared_read);
    PlanInputs s = situation_of(options, Direction::read);
    s.cores = 1;
    const auto nano = [&] { return 1e9 * find_method("list_io")->seconds(s); };
    EXPECT_NEAR(nano(), (64 << 20) / 64, 1) << "each piece";
    s.nodes = 4;
    EXPECT_NEAR(nano(), 0, 1e-3) << "ranks of other machines read pages of their own";
    s.nodes_of_machine = 4;
    s.cores = 0.25;
    EXPECT_NEAR(nano(), (64 << 20) / 64, 1);
    s.pieces = s.bytes / 4096;
    EXPECT_NEAR(nano(), 0, 1e-3) << "whole pages";
    s.pieces = s.bytes / 64;
    s.hull.end *= 64;
    s.hulls *= 64;
    EXPECT_NEAR(nano(), 0, 1e-3) << "one piece in each page";
    s.hull.end /= 64;
    s.hulls = static_cast<double>(s.bytes);
    EXPECT_NEAR(nano(), 0, 1e-3) << "ranks' parts one after another";
    s.hulls *= 4;
    s.direction = Direction::write;
    EXPECT_NEAR(nano(), 0, 1e-3);
}

TEST(Estimate, NodesOfOneMachineShareItsCoresAndItsLocks) {
    FlatTerms options;
    options.costs = only(&Costs::contended_call);
    PlanInputs s = situation_of(options, Direction::write);
    s.nodes = s.ranks = s.ranks_with_data = 4;
    const auto nano = [&](const char* method) { return 1e9 * find_method(method)->seconds(s); };
    EXPECT_NEAR(nano("list_io"), 0, 1e-6) << "each alone on a machine";
    s.nodes_of_machine = 2;
    EXPECT_NEAR(nano("list_io"), (1 << 20) / 2.0, 1e-3) << "two locks";
    s.nodes_of_machine = 4;
    EXPECT_NEAR(nano("list_io"), 1 << 20, 1e-3) << "one";
    options.costs = only(&Costs::copy_byte);
    s.cores = 0.5;
    EXPECT_NEAR(nano("list_io"), (64 << 20) / 2.0, 1) << "half a core each makes two";
}

TEST(Estimate, IsOfThePartsNotOfTheRow) {
    const FlatTerms options;
    for (const Direction direction : {Direction::read, Direction::write}) {
        const PlanInputs s = situation_of(options, direction);
        Method mine{.name = "mine", .summary = "", .exchange = ExchangeKind::peer};
        EXPECT_DOUBLE_EQ(mine.seconds(s), find_method("two_phase")->seconds(s));
        mine.schedule.slots = 2;
        EXPECT_DOUBLE_EQ(mine.seconds(s), find_method("double_buffer")->seconds(s));
        mine.schedule = {.aggregators_max = 1};
        EXPECT_DOUBLE_EQ(mine.seconds(s), find_method("one_writer")->seconds(s));
    }
}

TEST(Estimate, SmallerSubBuffersMeanMoreCalls) {
    FlatTerms options;
    options.costs = only(&Costs::write_call);
    const PlanInputs s = situation_of(options, Direction::write);
    // Below, the second summand is the number of sub-buffers in 64 MiB. The first one is the number
    // of aggregators, each of which makes one call more.
    const double nano = 1e9;
    EXPECT_NEAR(nano * find_method("two_phase")->seconds(s), 2 + 4, 1e-6);
    EXPECT_NEAR(nano * find_method("double_buffer")->seconds(s), 2 + 8, 1e-6);
    EXPECT_NEAR(nano * find_method("multithreaded")->seconds(s), 2 + 16, 1e-6);
    EXPECT_NEAR(nano * find_method("cb_cyclic")->seconds(s), 2 + 64, 1e-6) << "blocks of 1 MiB";
    EXPECT_NEAR(nano * find_method("one_writer")->seconds(s), 1 + 4, 1e-6);
}

TEST(Estimate, SeveralSubBuffersOverlapWithADevice) {
    FlatTerms options;
    options.direct_write = true;
    const PlanInputs s = situation_of(options, Direction::write);
    const double one = find_method("two_phase")->seconds(s);
    const double by_thread = find_method("double_buffer")->seconds(s);
    EXPECT_LT(by_thread, 0.9 * one);
    options.asynchronous = true;
    EXPECT_LE(find_method("double_buffer")->seconds(s), by_thread) << "no thread need be woken";
    EXPECT_DOUBLE_EQ(find_method("two_phase")->seconds(s), one) << "it has no other sub-buffer";
}

/// A call by way of a staging buffer copies, but finds the buffer in the processor's cache.
TEST(Estimate, CallsWithTheUsersMemoryCopyNothingButMeetNoCache) {
    FlatTerms options;
    for (const Direction direction : {Direction::read, Direction::write}) {
        PlanInputs s = situation_of(options, direction);
        const auto bytes = static_cast<double>(s.bytes);
        const auto nano = [&](double Costs::*one, const char* method) {
            options.costs = only(one);
            return 1e9 * find_method(method)->seconds(s);
        };
        const bool reads = direction == Direction::read;
        double Costs::*const uncached = reads ? &Costs::into_memory_byte : &Costs::from_memory_byte;
        EXPECT_NEAR(nano(&Costs::copy_byte, "list_io"), bytes / 2, 1);
        EXPECT_NEAR(nano(uncached, "list_io"), 0, 1e-6) << "by way of a buffer";
        s.memory_pieces = 4;
        EXPECT_NEAR(nano(&Costs::copy_byte, "list_io"), 0, 1e-6) << "no staging";
        EXPECT_NEAR(nano(uncached, "list_io"), reads ? bytes / 2 : bytes, 1)
            << "writers wait for each other's calls";
        EXPECT_NEAR(nano(uncached, "two_phase"), 0, 1e-6);
        (reads ? options.direct_read : options.direct_write) = true;
        EXPECT_NEAR(nano(uncached, "list_io"), 0, 1e-6) << "a device";
        (reads ? options.direct_read : options.direct_write) = false;
    }
}

TEST(Estimate, StagedPartsThatInterleaveTakeACallForEachSlice) {
    FlatTerms options;
    options.costs = only(&Costs::write_call);
    PlanInputs s = situation_of(options, Direction::write);
    s.pieces = 4 * 32;
    s.memory_pieces = s.bytes / 8;
    s.parts = 32;
    EXPECT_NEAR(1e9 * find_method("list_io")->seconds(s), 32 * 128, 1e-3) << "of 512 KiB / 32 each";
}

/// A rank that accesses the file independently competes with the other ranks for the machine's
/// cores and the file's lock.
TEST(Estimate, IndependentAccessAssumesThatOtherRanksDoTheSame) {
    const auto nano = [](double Costs::*one, Direction direction, int ranks) {
        FlatTerms options;
        options.costs = only(one);
        options.ranks_of_machine = ranks;
        options.cores_of_machine = 2;
        AccessSummary mine;
        mine.hull = {0, 8000};
        mine.bytes = 4000;
        mine.pieces = mine.memory_pieces = 2;
        return 1e9 * make_own_plan(direction, 0, mine, **terms_of(options)).seconds();
    };
    EXPECT_NEAR(nano(&Costs::read_byte, Direction::read, 1), 4000, 1e-3);
    EXPECT_NEAR(nano(&Costs::read_byte, Direction::read, 2), 4000, 1e-3) << "a core for each";
    EXPECT_NEAR(nano(&Costs::read_byte, Direction::read, 8), 4 * 4000, 1e-3);
    EXPECT_NEAR(nano(&Costs::contended_byte, Direction::write, 1), 0, 1e-3);
    EXPECT_NEAR(nano(&Costs::contended_byte, Direction::write, 8), 8 * 4000, 1e-3) << "one lock";
}

TEST(Estimate, HolesAreReadDuringWritesOfOthers) {
    const auto nano = [](double Costs::*one) {
        FlatTerms options;
        options.costs = only(one);
        options.costs.write_call = 1;
        PlanInputs s = situation_of(options, Direction::write);
        s.covered = false;
        s.pieces = 100 * s.bytes;  // enough pieces that writing around the holes would cost more
        s.sharing.shared_ready = true;
        return 1e9 * find_method("shared_buffer")->seconds(s) / static_cast<double>(s.bytes);
    };
    EXPECT_NEAR(nano(&Costs::write_byte), 1.2, 1e-3) << "one writes at a time, and ranks wait";
    EXPECT_NEAR(nano(&Costs::read_byte), 1.2 / 2, 1e-3) << "two cores";
}

TEST(Estimate, HolesAreLeftOutWhereThatTakesLess) {
    const auto nano = [](std::int64_t pieces) {
        FlatTerms options;
        options.costs = only(&Costs::write_call);
        options.costs.write_byte = options.costs.read_byte = 1;
        PlanInputs s = situation_of(options, Direction::write);
        s.covered = false;
        s.bytes = s.hull.length() / 2;
        s.pieces = pieces;
        s.cores = 1;
        s.sharing.shared_ready = true;
        return 1e9 * find_method("shared_buffer")->seconds(s) / 1.2;
    };
    const double half = 32 << 20;
    EXPECT_NEAR(nano(1000), half + 1000, 1) << "a call for each, and no hole is read";
    EXPECT_NEAR(nano(1 << 30), 4 * half + 2 * 129, 200) << "all is read and written";
}

/// The access has 24 parts, whose values of 8 bytes lie side by side in memory.
TEST(Estimate, SlicesAreForWhereACallCostsLessThanTheLinesItSaves) {
    const auto pays = [](double call) {
        FlatTerms options;
        options.costs = only(&Costs::piece_line);
        options.costs.write_call = call;
        PlanInputs s = situation_of(options, Direction::write);
        s.parts = 24;
        s.memory_pieces = s.bytes / 8;
        s.memory_lines = s.bytes / 64;
        return slices_pay(s);
    };
    // Slices save a cache line for 7 of 8 pieces, on two cores, and cost 23 more calls for each of
    // 128 buffers.
    const double saved = (64 << 20) / 64 * 7 / 2.0;
    EXPECT_TRUE(pays(0.99 * saved / (23 * 128)));
    EXPECT_FALSE(pays(1.01 * saved / (23 * 128)));
}

TEST(Estimate, EachPartOfASliceIsACall) {
    const auto calls = [](std::int64_t parts) {
        FlatTerms options;
        options.costs = only(&Costs::read_call);
        PlanInputs s = situation_of(options, Direction::read);
        s.parts = parts;
        s.cores = 1;
        s.sharing.shared_ready = true;
        return 1e9 * find_method("shared_buffer")->seconds(s) / 1.1;
    };
    EXPECT_NEAR(calls(24) / calls(1), 24, 1e-6);
}

}  // namespace
}  // namespace oratorio::test::estimate_test
