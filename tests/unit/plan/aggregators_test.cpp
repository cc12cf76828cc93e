// SPDX-License-Identifier: BSD-3-Clause
#include "plan/aggregators.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>

namespace oratorio::test::aggregators_test {
namespace {

/// Returns `nodes` nodes of `each` ranks, named n0, n1, ...
Nodes topology_of(int nodes, int each) {
    Nodes topology;
    topology.size = nodes * each;
    for (int node = 0; node < nodes; ++node) {
        topology.node_names.push_back("n" + std::to_string(node));
        for (int i = 0; i < each; ++i) topology.node_of.push_back(node);
    }
    return topology;
}

std::vector<Rank> choose(int nodes, int each, const PlanOptions& options,
                         Bytes hull = Bytes{1} << 40) {
    const Nodes topology = topology_of(nodes, each);
    const Summaries all(static_cast<std::size_t>(nodes * each));
    return choose_aggregators(topology, able_ranks(all), options, hull);
}

TEST(ConfigList, HostsNumbersAndStars) {
    const auto entries = parse_config_list("alpha:2,beta:*,gamma,*:1");
    ASSERT_EQ(entries.size(), 4U);
    EXPECT_EQ(entries[0].host, "alpha");
    EXPECT_EQ(entries[0].count, 2);
    EXPECT_EQ(entries[1].count, INT_MAX);
    EXPECT_EQ(entries[2].count, 1);
    EXPECT_EQ(entries[3].host, "*");
}

TEST(ConfigList, ANumberThatNoMachineHasMeansAll) {
    const auto entries = parse_config_list("a:99999999999999999999,b:2147483648");
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[0].count, INT_MAX);
    EXPECT_EQ(entries[1].count, INT_MAX);
}

TEST(ConfigList, MalformedTextGivesNothing) {
    EXPECT_TRUE(parse_config_list("").empty());
    EXPECT_TRUE(parse_config_list(":2").empty());
    EXPECT_TRUE(parse_config_list("a:x").empty());
    EXPECT_TRUE(parse_config_list("a:-1").empty());
    EXPECT_TRUE(parse_config_list("a:-99999999999").empty());
}

TEST(Aggregators, NodesTakeTurnsAndRanksAreSpreadWithinANode) {
    EXPECT_EQ(choose(2, 4, {}), (std::vector<Rank>{0, 4, 2, 6}));
}

TEST(Aggregators, SwitchesHaveThemInProportionToTheirNodes) {
    Nodes topology = topology_of(8, 2);
    const Summaries all(16);
    PlanOptions options;
    const auto on_switch_0 = [&](int count, std::vector<int> switch_of) {
        topology.switch_of = std::move(switch_of);
        options.cb_nodes = count;
        const auto chosen = choose_aggregators(topology, able_ranks(all), options, 1 << 30);
        EXPECT_EQ(std::ssize(chosen), count);
        return std::ranges::count(chosen, 0, [&](Rank rank) { return topology.switch_at(rank); });
    };
    EXPECT_EQ(on_switch_0(2, {}), 2);
    EXPECT_EQ(on_switch_0(2, {0, 0, 0, 0, 1, 1, 1, 1}), 1);
    EXPECT_EQ(on_switch_0(4, {0, 0, 0, 0, 0, 0, 1, 1}), 3);
    EXPECT_EQ(on_switch_0(4, {0, 1, 1, 0, 1, 1, 1, 1}), 1);
    EXPECT_EQ(on_switch_0(12, {0, 0, 0, 0, 1, 1, 1, 1}), 6)
        << "each node has one, and four nodes have a second";
    EXPECT_EQ(on_switch_0(16, {0, 0, 0, 0, 1, 1, 1, 1}), 8);
}

TEST(Aggregators, CbNodesIsExactWhereRanksSuffice) {
    PlanOptions options;
    for (const int wanted : {1, 2, 3, 5, 8}) {
        options.cb_nodes = wanted;
        EXPECT_EQ(choose(2, 4, options).size(), static_cast<std::size_t>(wanted)) << wanted;
    }
    options.cb_nodes = 100;
    EXPECT_EQ(choose(2, 4, options).size(), 8U);
}

TEST(Aggregators, ConfigListBoundsEachHost) {
    PlanOptions options;
    options.cb_config_list = "n1:3,*:1";
    EXPECT_EQ(choose(3, 4, options), (std::vector<Rank>{0, 4, 8, 5, 6}));
    options.cb_config_list = "n2:*";
    EXPECT_EQ(choose(3, 2, options), (std::vector<Rank>{4, 5}));
}

TEST(Aggregators, AListThatNamesNoHostOfOursStillLeavesOne) {
    PlanOptions options;
    options.cb_config_list = "elsewhere:4";
    EXPECT_EQ(choose(2, 2, options), (std::vector<Rank>{0}));
}

TEST(Aggregators, ARankWithoutTheFileIsPassedOver) {
    const Nodes topology = topology_of(1, 4);
    Summaries summaries(4);
    summaries[0].flags = flag_no_store;
    summaries[2].flags = flag_no_store;
    EXPECT_EQ(choose_aggregators(topology, able_ranks(summaries), {}, Bytes{1} << 30),
              (std::vector<Rank>{1, 3}));
    for (auto& one : summaries) one.flags = flag_no_store;
    EXPECT_TRUE(choose_aggregators(topology, able_ranks(summaries), {}, Bytes{1} << 30).empty());
}

/// The nodes' ranks are mixed, and some ranks cannot aggregate. The expected ranks were determined
/// by hand, node by node.
TEST(Aggregators, EachNodeHasItsShareSpreadOverItsAbleRanks) {
    Nodes topology;
    // Five ranks on each of two nodes, and two on the third.
    topology.node_of = std::vector{0, 1, 0, 2, 0, 1, 0, 0, 1, 2, 1, 1};
    topology.size = static_cast<int>(topology.node_of.size());
    topology.node_names = {"a", "b", "c"};
    constexpr Bytes kLong = Bytes{1} << 40;
    const auto all = [](Rank) { return true; };
    EXPECT_EQ(choose_aggregators(topology, all, {}, kLong), (std::vector<Rank>{0, 1, 3, 4, 8, 9}));
    const auto some = [](Rank rank) { return rank != 0 && rank != 8 && rank != 3; };
    EXPECT_EQ(choose_aggregators(topology, some, {}, kLong), (std::vector<Rank>{1, 2, 9, 6, 10}));
    PlanOptions options;
    options.cb_nodes = 4;  // fewer than the two of each node that would be chosen otherwise
    EXPECT_EQ(choose_aggregators(topology, some, options, kLong), (std::vector<Rank>{1, 2, 9, 6}));
    EXPECT_EQ(choose_aggregators(topology, some, {}, kLong, kEveryRank).size(), 9U);
}

std::vector<Rank> choose_for_targets(int nodes, int each, const PlanOptions& options) {
    const Nodes topology = topology_of(nodes, each);
    const Summaries all(static_cast<std::size_t>(nodes * each));
    return choose_target_aggregators(topology, able_ranks(all), options, kAggregatorsPerNode);
}

TEST(Aggregators, EachStorageTargetHasOneAggregatorOnOneNodeAfterTheOther) {
    PlanOptions options;
    EXPECT_EQ(choose_for_targets(2, 8, options).size(), 4U) << "the number of targets is unknown";
    options.striping_factor = 3;
    EXPECT_EQ(choose_for_targets(2, 8, options), (std::vector<Rank>{0, 8, 4}));
    EXPECT_EQ(choose_for_targets(4, 8, options), (std::vector<Rank>{0, 8, 16}));
    options.striping_factor = 56;
    EXPECT_EQ(choose_for_targets(64, 64, options).size(), 56U);
    EXPECT_EQ(choose_for_targets(5, 8, options).size(), 28U) << "the largest divisor up to 40";
    options.cb_nodes = 9;
    EXPECT_EQ(choose_for_targets(5, 8, options).size(), 8U);
    options.cb_nodes = 100;
    EXPECT_EQ(choose_for_targets(64, 64, options).size(), 56U);
    const Nodes topology = topology_of(1, 2);
    EXPECT_TRUE(choose_target_aggregators(
                    topology, [](Rank) { return false; }, options, 1)
                    .empty());
}

TEST(Aggregators, NamedRanksAreTakenInTheirOrderIfTheyCanBe) {
    PlanOptions options;
    options.aggregators = {6, 1, 4, 99};
    options.cb_config_list = "n1:1";
    EXPECT_EQ(choose(2, 4, options), (std::vector<Rank>{6, 1, 4}));
    EXPECT_EQ(choose(2, 4, options, 1000), (std::vector<Rank>{6, 1, 4})) << "for a small hull";
    const auto but_6 = [](Rank rank) { return rank != 6; };
    const Nodes topology = topology_of(2, 4);
    EXPECT_EQ(choose_aggregators(topology, but_6, options, 1000), (std::vector<Rank>{1, 4}));
    const auto only_3 = [](Rank rank) { return rank == 3; };
    EXPECT_EQ(choose_aggregators(topology, only_3, options, 1000), (std::vector<Rank>{3}));
    options.striping_factor = 2;
    EXPECT_EQ(choose_for_targets(2, 4, options), (std::vector<Rank>{6, 1, 4}));
    options.cb_nodes = 2;
    EXPECT_EQ(choose(2, 4, options), (std::vector<Rank>{6, 1}));
}

TEST(Aggregators, ASmallHullGetsOne) {
    EXPECT_EQ(choose(4, 4, {}, 1000).size(), 1U);
}

TEST(Aggregators, SixteenThousandRanksOn256Nodes) {
    const auto chosen = choose(256, 64, {});
    EXPECT_EQ(chosen.size(), 512U);
    EXPECT_EQ(chosen[255], 255 * 64);
    EXPECT_EQ(chosen[256], 32);
}

}  // namespace
}  // namespace oratorio::test::aggregators_test
