// SPDX-License-Identifier: BSD-3-Clause
#include "comm/rank_map.hpp"

#include <algorithm>

namespace oratorio {

RankMap::RankMap(const std::vector<int>& node_of) {
    for (const int node : node_of) push_back(node);
}

void RankMap::push_back(int node) {
    if (node >= nodes()) counts_.resize(static_cast<std::size_t>(node) + 1);
    const auto rank = static_cast<Rank>(size_++);
    const NodeSlot slot{node, counts_[static_cast<std::size_t>(node)]++};
    if (!sweeps_.empty()) {
        Sweep& last = sweeps_.back();
        if (last.slot(rank) == slot) return;
        // The sweep's first node determines how many ranks each of its nodes has.
        const bool first_node = rank - last.first == last.ranks;
        if (first_node && slot == NodeSlot{last.node, last.place + last.ranks}) {
            ++last.ranks;
            return;
        }
    }
    sweeps_.push_back({rank, slot.node, slot.place, 1});
}

int RankMap::most() const {
    return counts_.empty() ? 0 : *std::ranges::max_element(counts_);
}

NodeSlot RankMap::slot(Rank rank) const {
    const auto behind = std::ranges::upper_bound(sweeps_, rank, {}, &Sweep::first);
    return std::prev(behind)->slot(rank);
}

Rank RankMap::rank_at(NodeSlot slot) const {
    for (std::size_t i = 0; i < sweeps_.size(); ++i) {
        const Sweep& sweep = sweeps_[i];
        const int node = slot.node - sweep.node;
        const int place = slot.place - sweep.place;
        if (node < 0 || place < 0 || place >= sweep.ranks) continue;
        const Rank rank = sweep.first + node * sweep.ranks + place;
        if (rank < end_of(i)) return rank;
    }
    return -1;
}

}  // namespace oratorio
