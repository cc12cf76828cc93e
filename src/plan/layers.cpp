// SPDX-License-Identifier: BSD-3-Clause
#include "plan/layers.hpp"

#include <algorithm>

#include "plan/plan.hpp"

namespace oratorio {

namespace {

/// What a rank needs of the table, asked of all in the order of ranks.
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
    : group_ranks_(largest_group(topology, options)),
      message_bytes_(local_message_bytes(options, group_ranks_)) {
    std::size_t all = 0;
    for (int node = 0; node < topology.nodes(); ++node) {
        const int ranks = topology.ranks_of(node);
        const int count = local_aggregators_of(ranks, node, topology.nodes(), options);
        nodes_.push_back({ranks, count, all});
        all += static_cast<std::size_t>(count);
    }
    groups_.resize(all);
    topology.each([&](Rank rank, Seat seat) {
        const AccessSummary& one = summaries[static_cast<std::size_t>(rank)];
        Group& group = groups_[index_of(seat)];
        const bool able = (one.flags & flag_no_store) == 0;
        if (group.local < 0 || (able && !group.able)) group.local = rank;
        group.able = group.able || able;
        if (one.bytes > 0) group.hull = hull(group.hull, one.hull);
    });
}

/// The inverse of place_of_local_aggregator.
std::size_t Groups::index_of(Seat seat) const {
    const OfNode& node = nodes_[static_cast<std::size_t>(seat.node)];
    const int larger = node.ranks % node.count;
    const int less = node.ranks / node.count;
    const int in_larger = (less + 1) * larger;
    const int group =
        seat.place < in_larger ? seat.place / (less + 1) : larger + (seat.place - in_larger) / less;
    return node.first + static_cast<std::size_t>(group);
}

int Groups::most_on_node() const {
    int most = 0;
    for (const OfNode& node : nodes_) most = std::max(most, node.count);
    return most;
}

Graph Groups::graph() const {
    std::vector<Participant> participants;
    participants.reserve(groups_.size());
    for (const Group& group : groups_) participants.push_back({group.local, group.hull});
    return Graph(std::move(participants));
}

Layers::Layers(const Nodes& topology, const Groups& groups, std::optional<Rank> rank)
    : local_aggregators_(groups.size()),
      group_ranks_(groups.group_ranks()),
      message_bytes_(groups.message_bytes()),
      most_on_node_(groups.most_on_node()) {
    const Rank of = rank.value_or(0);
    const Seat mine = topology.seat(of);
    Known known(of, groups.local_aggregator_of(mine), mine.node);
    std::vector<Served> served;
    if (!rank) served.reserve(static_cast<std::size_t>(topology.size));
    topology.each([&](Rank other, Seat seat) {
        const Rank by = groups.local_aggregator_of(seat);
        if (!rank || known(other, by, seat.node)) served.push_back({other, by});
    });
    served_ = std::make_shared<const std::vector<Served>>(std::move(served));
}

/// A message's payload and what goes before it fill a message.
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

Layers Layers::only(Rank rank, const Nodes& topology) const {
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
