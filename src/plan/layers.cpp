// SPDX-License-Identifier: BSD-3-Clause
#include "plan/layers.hpp"

#include <algorithm>

#include "plan/plan.hpp"
#include "plan/ranks_by_node.hpp"

namespace oratorio {

namespace {

bool any(Rank) {
    return true;
}

}  // namespace

int local_aggregators_of(int ranks, int node, int nodes, const PlanOptions& options) {
    const auto share = [&](int all) { return all / nodes + (node < all % nodes ? 1 : 0); };
    const int per_node = options.local_aggregators_per_node;
    int count = per_node > 0 ? per_node : ranks;
    if (options.local_aggregators > 0) {
        count = std::min(count, share(options.local_aggregators));
    } else if (per_node == 0) {
        count = std::min(share(kLocalAggregators), ranks / kGroupRanks);
    }
    return std::clamp(count, 1, std::max(1, ranks));
}

int place_of_local_aggregator(int i, int ranks, int count) {
    const int larger = ranks % count;  // groups with one rank more than the others
    const int less = ranks / count;
    const int more = less + (larger > 0 ? 1 : 0);
    return i < larger ? more * i : more * larger + less * (i - larger);
}

int largest_group(const Nodes& topology, const PlanOptions& options) {
    const auto nodes = ranks_by_node(topology, any);
    int largest = 1;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        const auto ranks = static_cast<int>(nodes[node].size());
        const int count = local_aggregators_of(ranks, static_cast<int>(node),
                                               static_cast<int>(nodes.size()), options);
        largest = std::max(largest, (ranks + count - 1) / count);
    }
    return largest;
}

Bytes local_message_bytes(const PlanOptions& options, int group_ranks) {
    constexpr Bytes kAligned = 64;
    const Bytes buffers = Bytes{2} * kMessagesOfMember * group_ranks;  // messages and answers
    const Bytes each = options.cb_buffer_size / 2 / buffers;
    return std::clamp(each / kAligned * kAligned, kMessageMin, message_bytes_of(options));
}

Layers::Layers(const Nodes& topology, const Summaries& summaries, const PlanOptions& options)
    : group_ranks_(largest_group(topology, options)),
      message_bytes_(local_message_bytes(options, group_ranks_)) {
    const auto nodes = ranks_by_node(topology, any);
    std::vector<Served> served(static_cast<std::size_t>(topology.size));
    const auto can = [&](Rank rank) {
        return (summaries[static_cast<std::size_t>(rank)].flags & flag_no_store) == 0;
    };
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        const auto ranks = static_cast<int>(nodes[node].size());
        const int count = local_aggregators_of(ranks, static_cast<int>(node),
                                               static_cast<int>(nodes.size()), options);
        for (int i = 0; i < count && ranks > 0; ++i) {
            const auto first = nodes[node].begin() + place_of_local_aggregator(i, ranks, count);
            const auto last = nodes[node].begin() + place_of_local_aggregator(i + 1, ranks, count);
            const auto able = std::find_if(first, last, can);
            const Rank local = able == last ? *first : *able;
            std::for_each(first, last, [&](Rank rank) {
                served[static_cast<std::size_t>(rank)] = {rank, local};
            });
            ++local_aggregators_;
        }
    }
    served_ = std::make_shared<const std::vector<Served>>(std::move(served));
}

/// A message's payload and what goes before it fill a message.
Layers Layers::with_windows(const Nodes& topology, Bytes message_bytes) const {
    constexpr Bytes kBefore = 512;
    Layers layers = *this;
    layers.window_bytes_ = message_bytes - kBefore;
    std::vector<int> on_node(std::max<std::size_t>(1, topology.node_names.size()));
    for (const Rank local : local_aggregators()) {
        const auto node = static_cast<std::size_t>(topology.node(local));
        layers.most_on_node_ = std::max(layers.most_on_node_, ++on_node[node]);
    }
    return layers;
}

Bytes Layers::windows_bytes(Direction direction) const {
    const Bytes masks = direction == Direction::write ? window_bytes_ : 0;
    return windows_max * (window_room + window_bytes_ + masks);
}

Layers Layers::only(Rank rank, const Nodes& topology) const {
    if (!two()) return *this;
    const Rank local = local_aggregator_of(rank);
    std::vector<Served> known;
    std::size_t told = 0;
    for (const Served& one : *served_) {
        const bool is_local = one.rank == one.by;
        const bool tells = is_local && told < kRanksTold;
        told += tells ? 1 : 0;
        const bool deals = one.rank == rank || one.rank == local || one.by == rank;
        if (tells || deals || (is_local && topology.node(one.rank) == topology.node(rank)))
            known.push_back(one);
    }
    Layers layers = *this;
    layers.served_ = std::make_shared<const std::vector<Served>>(std::move(known));
    return layers;
}

Rank Layers::local_aggregator_of(Rank rank) const {
    return two() ? std::ranges::lower_bound(*served_, rank, {}, &Served::rank)->by : rank;
}

std::vector<Rank> Layers::group_of(Rank local_aggregator) const {
    if (!two()) return {local_aggregator};
    std::vector<Rank> group;
    for (const Served& one : *served_) {
        if (one.by == local_aggregator) group.push_back(one.rank);
    }
    return group;
}

std::vector<Rank> Layers::local_aggregators() const {
    std::vector<Rank> locals;
    if (!two()) return locals;
    for (const Served& one : *served_) {
        if (one.rank == one.by) locals.push_back(one.rank);
    }
    return locals;
}

}  // namespace oratorio
