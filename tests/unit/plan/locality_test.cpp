// SPDX-License-Identifier: BSD-3-Clause
// The planner's estimate of how much data stays on its rank or its node, compared with where plans
// really put the data.
#include "plan/locality.hpp"

#include <gtest/gtest.h>

#include "plan/methods.hpp"
#include "unit/plan/plan_support.hpp"

namespace oratorio::test::locality_test {
namespace {

constexpr int kRanks = 8;

/// Returns summaries of ranks with one hull each, of which half is data.
Summaries with_hulls(const std::vector<Extent>& hulls) {
    Summaries summaries;
    for (const Extent hull : hulls)
        summaries.push_back({.hull = hull, .bytes = hull.length() / 2, .pieces = 2});
    return summaries;
}

/// Returns hulls of `each` bytes, one rank's after another's.
std::vector<Extent> one_after_another(Bytes each) {
    std::vector<Extent> hulls;
    for (Rank rank = 0; rank < kRanks; ++rank) hulls.push_back({rank * each, (rank + 1) * each});
    return hulls;
}

TEST(Locality, WithInterleavedDataANodeKeepsItsShare) {
    const Summaries summaries = with_hulls(std::vector<Extent>(kRanks, {0, 1 << 20}));
    for (const int nodes : {1, 2, 4, 8}) {
        const Locality found =
            locality_of(summaries, nodes_of(kRanks, nodes), {0, 1 << 20}, {0, 2, 4, 6});
        EXPECT_DOUBLE_EQ(found.own, 4.0 / kRanks / 4) << nodes;
        EXPECT_DOUBLE_EQ(found.node, nodes == 8 ? 1.0 / 8 : 1.0 / nodes) << nodes;
    }
}

TEST(Locality, ConsecutiveDataStaysOnItsNode) {
    const Summaries summaries = with_hulls(one_after_another(1 << 20));
    const Extent hull{0, kRanks << 20};
    const Locality all =
        locality_of(summaries, nodes_of(kRanks, 2), hull, {0, 1, 2, 3, 4, 5, 6, 7});
    EXPECT_DOUBLE_EQ(all.own, 1);
    EXPECT_DOUBLE_EQ(all.node, 1);
    const Locality two_each = locality_of(summaries, nodes_of(kRanks, 2), hull, {0, 2, 4, 6});
    EXPECT_DOUBLE_EQ(two_each.own, 0.5) << "a domain has data of two ranks; one aggregates it";
    EXPECT_DOUBLE_EQ(two_each.node, 1);
}

/// Returns the aggregators in the order of their domains, and the share of data that stays on its
/// switch.
std::pair<std::vector<Rank>, double> near_data(const std::vector<Extent>& hulls,
                                               std::vector<int> switch_of,
                                               std::vector<Rank> aggregators) {
    Nodes nodes = nodes_of(kRanks, 4);
    nodes.switch_of = std::move(switch_of);
    const Summaries summaries = with_hulls(hulls);
    const Extent all{0, kRanks << 20};
    put_near_data(aggregators, summaries, nodes, all);
    return {aggregators, locality_of(summaries, nodes, all, aggregators).on_switch};
}

TEST(Locality, ADomainGoesToTheSwitchWithMostOfItsData) {
    using Near = std::pair<std::vector<Rank>, double>;
    std::vector<Extent> hulls = one_after_another(1 << 20);
    const std::vector<Rank> any_order{4, 2, 6, 0};
    EXPECT_EQ(near_data(hulls, {}, any_order), (Near{{0, 2, 4, 6}, 1}));
    EXPECT_EQ(near_data(hulls, {0, 0, 1, 1}, any_order), (Near{{0, 2, 4, 6}, 1}));
    std::ranges::reverse(hulls);
    EXPECT_EQ(near_data(hulls, {0, 0, 1, 1}, any_order), (Near{{4, 6, 0, 2}, 1}));
    EXPECT_DOUBLE_EQ(near_data(hulls, {0, 1, 0, 1}, {0, 2, 6}).second, 2.0 / 3)
        << "switch 1 has two of three domains, but half of the data";
}

TEST(Locality, InterleavedDataKeepsAggregatorsInRankOrder) {
    const std::vector<Extent> hulls(kRanks, {0, kRanks << 20});
    const auto [order, share] = near_data(hulls, {0, 0, 1, 1}, {6, 0, 4, 2});
    EXPECT_EQ(order, (std::vector<Rank>{0, 2, 4, 6}));
    EXPECT_DOUBLE_EQ(share, 0.5);
}

TEST(Locality, AHalfOfTheFileOfEachNodeStaysOnIt) {
    std::vector<Extent> hulls(4, {100, 100 + 4096});
    hulls.resize(8, {100 + 4096, 100 + 8192});
    const Extent hull{100, 100 + 8192};
    const Locality found = locality_of(with_hulls(hulls), nodes_of(kRanks, 2), hull, {0, 2, 4, 6});
    EXPECT_DOUBLE_EQ(found.node, 1);
    EXPECT_DOUBLE_EQ(found.own, 0.25) << "two of four ranks have a half of a half each";
}

TEST(Locality, RanksWithoutDataAndAccessesWithoutAnyCountForNothing) {
    std::vector<Extent> hulls(kRanks, Extent{});
    EXPECT_EQ(locality_of(with_hulls(hulls), nodes_of(kRanks, 2), {}, {0, 4}).node, 0);
    hulls[1] = {0, 4096};
    const Locality found = locality_of(with_hulls(hulls), nodes_of(kRanks, 2), {0, 4096}, {0, 4});
    EXPECT_DOUBLE_EQ(found.node, 0.5);
    EXPECT_DOUBLE_EQ(found.own, 0);
}

TEST(Locality, ManyRanksAreEstimatedFromASample) {
    constexpr int kMany = 1 << 16;
    constexpr int kNodes = kMany / 64;
    std::vector<Rank> aggregators;
    for (Rank rank = 0; rank < kMany; rank += 32) aggregators.push_back(rank);
    const Extent hull{0, Bytes{kMany} << 12};
    const Summaries everywhere = with_hulls(std::vector<Extent>(kMany, hull));
    const Locality thin = locality_of(everywhere, nodes_of(kMany, kNodes), hull, aggregators);
    EXPECT_NEAR(thin.node, 1.0 / kNodes, 0.3 / kNodes);
    EXPECT_NEAR(thin.own, 1.0 / kMany, 0.5 / kMany);
    std::vector<Extent> hulls;
    for (Bytes rank = 0; rank < kMany; ++rank) hulls.push_back({rank << 12, (rank + 1) << 12});
    const Locality all = locality_of(with_hulls(hulls), nodes_of(kMany, kNodes), hull, aggregators);
    EXPECT_DOUBLE_EQ(all.node, 1);
    EXPECT_NEAR(all.own, 1.0 / 32, 0.1 / 32);
}

TEST(Locality, IsThatOfThePlansDomains) {
    Summaries summaries = with_hulls(one_after_another(200003));
    summaries[3].hull = {0, kRanks * 200003};
    FlatTerms terms = all_allowed();
    terms.method = find_method("two_phase");
    terms.cb_nodes = 4;
    const Plan plan = plan_of(summaries, terms, 0, Direction::write, 2);
    const std::vector<Rank> aggregators(plan.aggregators.begin(), plan.aggregators.end());
    ASSERT_EQ(aggregators.size(), 4U);
    double near = 0;
    double all = 0;
    for (Rank rank = 0; rank < kRanks; ++rank) {
        const AccessSummary& one = summaries[static_cast<std::size_t>(rank)];
        for (Offset at = one.hull.begin; at < one.hull.end; ++at) {
            const double byte = double(one.bytes) / double(one.hull.length());
            const Rank owner = aggregators[static_cast<std::size_t>(plan.domains.owner(at))];
            near += owner / 4 == rank / 4 ? byte : 0;
            all += byte;
        }
    }
    const Locality found = locality_of(summaries, nodes_of(kRanks, 2), plan.hull, aggregators);
    EXPECT_NEAR(found.node, near / all, 0.002);
}

}  // namespace
}  // namespace oratorio::test::locality_test
