// SPDX-License-Identifier: BSD-3-Clause
// Reduces a plan to what one rank needs of it.
#include <algorithm>
#include <array>

#include "plan/methods.hpp"
#include "plan/plan.hpp"

namespace oratorio {

namespace {

using Participants = std::vector<std::size_t>;

void in_order(Participants& some) {
    std::ranges::sort(some);
    some.erase(std::ranges::unique(some).begin(), some.end());
}

void add(Participants& some, const Graph& graph, Rank rank) {
    if (const std::size_t i = graph.find(rank); i < graph.size()) some.push_back(i);
}

/// Adds all participants that have data for an aggregator in any round.
void add_served(Participants& some, const Plan& plan, int aggregator) {
    std::vector<bool> seen(plan.graph.size());
    std::size_t left = seen.size();
    for (std::int64_t round = 0; round < plan.rounds && left > 0; ++round) {
        plan.each_participant(aggregator, round, [&](std::size_t i) {
            if (!seen[i]) some.push_back(i);
            left -= seen[i] ? 0 : 1;
            seen[i] = true;
            return true;
        });
    }
}

}  // namespace

Plan Plan::for_rank(Rank rank, const Nodes& nodes) const {
    if (!method->aggregated() || method->on_node()) return *this;
    const int own = aggregator_index(rank);
    const Rank local = layers().local_aggregator_of(rank);
    const std::array dealers{own, local == rank ? own : aggregator_index(local)};
    const std::array hulls{ranks.hull_of(rank), graph.hull_of(local)};

    Participants served;
    add(served, graph, rank);
    add(served, graph, local);
    if (own >= 0) add_served(served, *this, own);
    in_order(served);
    Participants group;
    add(group, ranks, rank);
    if (layers().two() && local == rank) {
        for (const Rank member : layers().group_of(rank)) add(group, ranks, member);
    }
    in_order(group);

    Plan plan = *this;
    plan.graph = graph.for_rank(served);
    plan.ranks = ranks.for_rank(group);
    std::get<TwoPhase>(plan.route).layers = layers().for_rank(rank, nodes);
    plan.aggregators = aggregators.for_rank([&](int index) {
        return index < static_cast<int>(kRanksTold) || std::ranges::count(dealers, index) > 0 ||
               std::ranges::any_of(hulls, [&](Extent one) { return domains.touches(index, one); });
    });
    return plan;
}

}  // namespace oratorio
