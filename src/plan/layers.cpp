// SPDX-License-Identifier: BSD-3-Clause
#include "plan/layers.hpp"

#include <algorithm>

#include "plan/plan.hpp"

namespace oratorio {

namespace {

/// Selects the entries of the table that one rank needs. REQUIRES: called for all entries in rank
/// order.
class Known {
  public:
    Known(Rank rank, Rank local, int node) : rank_(rank), local_(local), node_(node) {}
    bool operator()(Rank other, Rank by, int node) {
        const bool is_local = other == by;
        const bool tells = is_local && told_ < kRanksTold;
        told_ += tells ? 1 : 0;
        const bool deals = other == rank_ || other == local_ || by == rank_;
        return tells || deals || (is_local && node == node_);
    }

  private:
    Rank rank_;
    Rank local_;
    int node_;
    std::size_t told_ = 0;
};

/// Returns the group of the rank at `place`: the inverse of place_of_local_aggregator.
int group_at(int place, int ranks, int count) {
    const int larger = ranks % count;
    const int less = ranks / count;
    const int in_larger = (less + 1) * larger;
    return place < in_larger ? place / (less + 1) : larger + (place - in_larger) / less;
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
    int largest = 1;
    for (int node = 0; node < topology.nodes(); ++node) {
        const int ranks = topology.ranks_of(node);
        const int count = local_aggregators_of(ranks, node, topology.nodes(), options);
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

Groups::Groups(const Nodes& topology, AllSummaries summaries, const PlanOptions& options)
    : topology_(topology),
      summaries_(summaries),
      options_(options),
      group_ranks_(largest_group(topology, options)),
      message_bytes_(local_message_bytes(options, group_ranks_)) {
    for (int node = 0; node < topology.nodes(); ++node) {
        const int count = count_on(node);
        size_ += static_cast<std::size_t>(count);
        most_on_node_ = std::max(most_on_node_, count);
    }
}

double Groups::hulls() const {
    double sum = 0;
    each([&](const Group& group) { sum += static_cast<double>(group.hull.length()); });
    return sum;
}

int Groups::count_on(int node) const {
    return local_aggregators_of(topology_.ranks_of(node), node, topology_.nodes(), options_);
}

std::vector<Group> Groups::of_nodes(int first, int last) const {
    std::vector<Group> groups;
    std::vector<std::size_t> begins;  // first group of each node
    groups.reserve(static_cast<std::size_t>((last - first) * most_on_node_));
    begins.reserve(static_cast<std::size_t>(last - first));
    for (int node = first; node < last; ++node) {
        begins.push_back(groups.size());
        const int ranks = topology_.ranks_of(node);
        const int count = count_on(node);
        for (int i = 0; i < count; ++i) {
            const int place = place_of_local_aggregator(i, ranks, count);
            const int next = place_of_local_aggregator(i + 1, ranks, count);
            groups.push_back({{node, place}, next - place});
        }
    }
    topology_.each_on(first, last, [&](Rank rank, NodeSlot slot) {
        const AccessSummary& one = summaries_[static_cast<std::size_t>(rank)];
        const int i = group_at(slot.place, topology_.ranks_of(slot.node), count_on(slot.node));
        Group& group = groups[begins[std::size_t(slot.node - first)] + std::size_t(i)];
        const bool able = (one.flags & flag_no_store) == 0;
        if (group.local < 0 || (able && !group.able)) group.local = rank;
        group.able = group.able || able;
        if (one.bytes > 0) group.hull = hull(group.hull, one.hull);
    });
    return groups;
}

Layers::Layers(const Nodes& topology, const Groups& groups, std::optional<Rank> rank)
    : local_aggregators_(groups.size()),
      group_ranks_(groups.group_ranks()),
      message_bytes_(groups.message_bytes()),
      most_on_node_(groups.most_on_node()) {
    std::vector<Served> served;
    std::vector<Rank> told;  // the lowest local aggregators of other nodes
    groups.each([&](const Group& group) {
        if (rank && group.first.node != topology.node(*rank)) {
            told.insert(std::ranges::upper_bound(told, group.local), group.local);
            if (told.size() > kRanksTold) told.pop_back();
            return;
        }
        for (int i = 0; i < group.ranks; ++i) {
            const Rank one = topology.rank_at({group.first.node, group.first.place + i});
            served.push_back({one, group.local});
        }
    });
    for (const Rank one : told) served.push_back({one, one});
    std::ranges::sort(served, {}, &Served::rank);
    served_ = std::make_shared<const std::vector<Served>>(std::move(served));
}

/// Makes windows whose data, together with the headers that precede it, fills one message.
Layers Layers::with_windows(Bytes message_bytes) const {
    constexpr Bytes kBefore = 512;
    Layers layers = *this;
    layers.window_bytes_ = message_bytes - kBefore;
    return layers;
}

Bytes Layers::windows_bytes(Direction direction) const {
    const Bytes masks = direction == Direction::write ? window_bytes_ : 0;
    return windows_max * (window_room + window_bytes_ + masks);
}

Layers Layers::for_rank(Rank rank, const Nodes& topology) const {
    if (!two()) return *this;
    Known known(rank, local_aggregator_of(rank), topology.node(rank));
    std::vector<Served> served;
    for (const Served& one : *served_) {
        if (known(one.rank, one.by, topology.node(one.rank))) served.push_back(one);
    }
    Layers layers = *this;
    layers.served_ = std::make_shared<const std::vector<Served>>(std::move(served));
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
