// SPDX-License-Identifier: BSD-3-Clause
#include "plan/plan.hpp"

namespace oratorio {

std::int64_t Plan::next_touching(Extent range, int index, std::int64_t round, int step) const {
    if (range.empty()) return rounds;
    while (round < rounds && !region(index, round).touches(range)) round += step;
    return round;
}

RankRegions Plan::regions_of(Rank rank) const {
    return {*this, rank, graph.hull_of(rank)};
}

RankRegions::RankRegions(const Plan& plan, Rank rank, Extent hull) : plan_(&plan), hull_(hull) {
    const auto count = static_cast<int>(plan.aggregators.size());
    const int own = plan.aggregator_index(rank);
    first_ = count == 0 ? 0 : (own >= 0 ? own + 1 : rank) % count;
    if (hull.empty() || count == 0) round_ = plan.rounds;
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
    while (!at_end() && !region().touches(hull_)) next();
}

}  // namespace oratorio
