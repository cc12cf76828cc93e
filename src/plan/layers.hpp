// SPDX-License-Identifier: BSD-3-Clause
// Layers: local aggregators, which relay data between the other ranks of their node and the
// aggregators (two-layer aggregation: Kang et al. 2019, "Improving MPI Collective I/O Performance
// With Intra-node Request Aggregation"). A rank and its local aggregator are on one node.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "comm/topology.hpp"
#include "plan/access.hpp"
#include "plan/graph.hpp"
#include "plan/options.hpp"

namespace oratorio {

/// The number of local aggregators of all nodes together, unless hints say otherwise: the best
/// number in the paper. Each node has at least one, and fewer than its share where kGroupRanks
/// demands that.
inline constexpr int kLocalAggregators = 256;
/// The minimum number of ranks per local aggregator, unless hints say otherwise. With fewer, the
/// extra messages cost as much as they save.
inline constexpr int kGroupRanks = 4;
/// The number of messages that a local aggregator holds for each rank it serves: one is merged
/// while the next one arrives. In reads, the answers need the same number of buffers.
inline constexpr int kMessagesOfMember = 2;

/// Returns the number of local aggregators among the `ranks` ranks of node `node` of `nodes`; at
/// least one.
[[nodiscard]] int local_aggregators_of(int ranks, int node, int nodes, const PlanOptions& options);

/// Returns the place, among the `ranks` ranks of a node, of the i-th of the node's `count` local
/// aggregators (section IV-A of the paper). A local aggregator serves itself and the ranks between
/// it and the next local aggregator. Returns `ranks` for i = count.
[[nodiscard]] int place_of_local_aggregator(int i, int ranks, int count);

/// Returns the number of ranks in the largest group. It depends on the topology and the hints only,
/// so it is known before any plan.
[[nodiscard]] int largest_group(const Nodes& topology, const PlanOptions& options);

/// Returns the maximum size of a message between a rank and its local aggregator: at most
/// message_bytes_of(). The buffers for the messages and answers of a group of `group_ranks` ranks
/// take at most half of a collective buffer, if that leaves kMessageMin for each.
[[nodiscard]] Bytes local_message_bytes(const PlanOptions& options, int group_ranks);

/// A local aggregator and the ranks it serves: `ranks` ranks of a node, starting at `first`.
struct Group {
    NodeSlot first;
    int ranks = 0;
    Rank local = -1;
    bool able = false;  ///< the local aggregator has its memory; false if no rank of the group
                        ///< could get the memory of a local aggregator
    Extent hull = {};   ///< hull of all data of the group
};

/// The groups of all nodes, while a plan is made. The object holds no list of ranks.
class Groups {
  public:
    /// Makes the groups. A local aggregator that could not get its memory (flag_no_store) is
    /// replaced by the next rank of its group that could; a group without such a rank has no data.
    /// Pure. REQUIRES: the topology and the summaries outlive the object.
    Groups(const Nodes& topology, AllSummaries summaries, const PlanOptions& options);

    /// Returns the number of groups on all nodes.
    [[nodiscard]] std::size_t size() const { return size_; }
    /// Returns the largest number of groups on any node.
    [[nodiscard]] int most_on_node() const { return most_on_node_; }
    [[nodiscard]] int group_ranks() const { return group_ranks_; }
    [[nodiscard]] Bytes message_bytes() const { return message_bytes_; }
    /// Returns the sum of the lengths of the groups' hulls, in bytes.
    [[nodiscard]] double hulls() const;
    /// Calls visit(group) for all groups, node by node. Makes a limited number of groups at a time,
    /// so it takes little memory for any number of them.
    template <class Visit>
    void each(Visit visit) const {
        const int step = std::max(1, kAtOnce / most_on_node_);
        for (int node = 0; node < topology_.nodes(); node += step) {
            for (const Group& group : of_nodes(node, std::min(node + step, topology_.nodes())))
                visit(group);
        }
    }

  private:
    static constexpr int kAtOnce = 1024;
    [[nodiscard]] int count_on(int node) const;
    [[nodiscard]] std::vector<Group> of_nodes(int first, int last) const;
    const Nodes& topology_;
    AllSummaries summaries_;
    const PlanOptions& options_;
    std::size_t size_ = 0;
    int most_on_node_ = 1;
    int group_ranks_ = 1;
    Bytes message_bytes_ = 0;
};

/// The table of local aggregators and the ranks that each one serves. It lists all ranks, or only
/// those that one rank deals with. Layers is a value; copies share the table.
class Layers {
  public:
    /// Makes one layer: each rank exchanges for itself.
    Layers() = default;
    /// Makes the table for all ranks; or, given `rank`, for the ranks of its node and
    /// the kRanksTold lowest local aggregators of other nodes, which only explain needs. Pure.
    Layers(const Nodes& topology, const Groups& groups, std::optional<Rank> rank = {});
    /// Returns the same table with windows in the node's shared memory instead of messages between
    /// a rank and its local aggregator. A window's data, and the headers that an aggregator needs
    /// with it, fit in a message of `message_bytes` bytes.
    [[nodiscard]] Layers with_windows(Bytes message_bytes) const;
    /// Returns the part of the table that `rank` needs.
    [[nodiscard]] Layers for_rank(Rank rank, const Nodes& topology) const;

    [[nodiscard]] bool two() const { return served_ != nullptr; }
    /// Returns the local aggregator of `rank`, which is `rank` itself with one layer. Takes
    /// logarithmic time. REQUIRES: `rank` is in the table.
    [[nodiscard]] Rank local_aggregator_of(Rank rank) const;
    /// Returns the ranks that a local aggregator serves, including itself, in order. Takes linear
    /// time.
    [[nodiscard]] std::vector<Rank> group_of(Rank local_aggregator) const;
    /// Returns the known local aggregators in rank order; none with one layer. Takes linear time.
    [[nodiscard]] std::vector<Rank> local_aggregators() const;
    /// Returns the number of local aggregators on all nodes, known or not.
    [[nodiscard]] std::size_t local_aggregators_in_all() const { return local_aggregators_; }
    /// Returns the number of ranks in the largest group.
    [[nodiscard]] int group_ranks() const { return group_ranks_; }
    /// Returns the maximum size of a message between a rank and its local aggregator.
    [[nodiscard]] Bytes message_bytes() const { return message_bytes_; }

    /// The number of windows of a local aggregator, and the number of bytes before each window for
    /// a message header.
    static constexpr int windows_max = 4;
    static constexpr Bytes window_room = 128;
    [[nodiscard]] bool in_windows() const { return window_bytes_ > 0; }
    [[nodiscard]] Bytes window_bytes() const { return window_bytes_; }
    /// Returns the size of all windows of a local aggregator, with the room for headers, and for
    /// writes with the write masks.
    [[nodiscard]] Bytes windows_bytes(Direction direction) const;
    /// Returns the size of the shared memory for windows that suffices on every node.
    [[nodiscard]] Bytes node_bytes(Direction direction) const {
        return most_on_node_ * windows_bytes(direction);
    }

  private:
    struct Served {
        Rank rank = 0;
        Rank by = 0;
    };
    std::shared_ptr<const std::vector<Served>> served_;  ///< entries in rank order; null: one layer
    std::size_t local_aggregators_ = 0;  ///< number of local aggregators on all nodes
    int group_ranks_ = 1;
    Bytes message_bytes_ = 0;
    Bytes window_bytes_ = 0;
    int most_on_node_ = 0;  ///< largest number of local aggregators on any node
};

}  // namespace oratorio
