// SPDX-License-Identifier: BSD-3-Clause
#include "plan/plan.hpp"

namespace oratorio {

std::int64_t Plan::count_participants(int index, std::int64_t round) const {
    std::int64_t count = 0;
    each_participant(index, round, [&](std::size_t) { return ++count > 0; });
    return count;
}

bool Plan::has_participants(int index, std::int64_t round) const {
    return !each_participant(index, round, [](std::size_t) { return false; });
}

bool Plan::takes_part(const Graph& of, std::size_t i, int index, std::int64_t round) const {
    return i < of.size() && of.has_edge(i, index, round) &&
           region(index, round).touches(of.participant(i).hull);
}

std::int64_t Plan::next_round(std::size_t i, int index, std::int64_t round, int step) const {
    if (i >= graph.size()) return rounds;
    while (round < rounds && !takes_part(i, index, round)) round += step;
    return round;
}

/// Spreads the load: ranks begin at different aggregators.
int Plan::first_aggregator(Rank rank) const {
    const auto count = static_cast<int>(aggregators.size());
    if (count == 0) return 0;
    const int own = aggregator_index(rank);
    if (own < 0) return rank % count;
    return (any_rank_loads() ? own : own + 1) % count;
}

RankRegions::RankRegions(const Plan& plan, Rank rank, const Graph& graph, std::size_t i)
    : plan_(&plan), graph_(&graph), participant_(i), first_(plan.first_aggregator(rank)) {
    if (participant_ == graph.size() || plan.aggregators.empty()) round_ = plan.rounds;
    skip_untouched();
}

bool RankRegions::at_end() const {
    return round_ >= plan_->rounds;
}

int RankRegions::aggregator() const {
    return (first_ + turn_) % static_cast<int>(plan_->aggregators.size());
}

Region RankRegions::region() const {
    return plan_->region(aggregator(), round_);
}

void RankRegions::advance() {
    next();
    skip_untouched();
}

void RankRegions::next() {
    if (++turn_ < static_cast<int>(plan_->aggregators.size())) return;
    turn_ = 0;
    ++round_;
}

void RankRegions::skip_untouched() {
    while (!at_end() && !plan_->takes_part(*graph_, participant_, aggregator(), round_)) next();
}

}  // namespace oratorio
