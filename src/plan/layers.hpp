// SPDX-License-Identifier: BSD-3-Clause
// Layers: local aggregators, which stand between the other ranks of their node and the aggregators
// (Kang et al. 2019, "Improving MPI Collective I/O Performance With Intra-node Request
// Aggregation"). A rank and its local aggregator are on one node.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/topology.hpp"
#include "plan/access.hpp"
#include "plan/graph.hpp"
#include "plan/options.hpp"

namespace oratorio {

/// Local aggregators of all nodes together, unless hints say otherwise: the paper's best.
inline constexpr int kLocalAggregators = 256;
/// And so many ranks to each: below that a message more costs what a message less saves.
inline constexpr int kGroupRanks = 4;
/// Messages that a local aggregator holds of each rank it serves: one is merged while the next one
/// comes. In reads their answers need as many buffers.
inline constexpr int kMessagesOfMember = 2;

/// How many of a node's `ranks` are local aggregators; `node` of `nodes`. At least one.
[[nodiscard]] int local_aggregators_of(int ranks, int node, int nodes, const PlanOptions& options);

/// Which of a node's `ranks`, counted from 0, is the i-th of its `count` local aggregators (section
/// IV-A). It serves the ranks from itself up to the next one. Gives `ranks` for i = count.
[[nodiscard]] int place_of_local_aggregator(int i, int ranks, int count);

/// Ranks of the largest group. Of the topology and the hints alone, so it is known before any plan.
[[nodiscard]] int largest_group(const Nodes& topology, const PlanOptions& options);

/// Most bytes of a message between a rank and its local aggregator: all of a group of so many ranks
/// take half of a collective buffer at most, if there are 4 KiB for each.
[[nodiscard]] Bytes local_message_bytes(const PlanOptions& options, int group_ranks);

/// A local aggregator and whom it serves: so many ranks of a node from one on.
struct Group {
    Seat first;
    int ranks = 0;
    Rank local = -1;
    bool able = false;  ///< the local aggregator could have its memory, or nobody of the group
    Extent hull = {};   ///< of all its data
};

/// The groups of all nodes: what is known of them while a plan is made, with no list of ranks.
class Groups {
  public:
    /// Pure. A local aggregator that could not have its memory (flag_no_store) is replaced by the
    /// next rank of its group that could; a group without such a rank has no data. The topology and
    /// the summaries outlive it.
    Groups(const Nodes& topology, AllSummaries summaries, const PlanOptions& options);

    /// Of all nodes.
    [[nodiscard]] std::size_t size() const { return size_; }
    /// Of the node that has the most.
    [[nodiscard]] int most_on_node() const { return most_on_node_; }
    [[nodiscard]] int group_ranks() const { return group_ranks_; }
    [[nodiscard]] Bytes message_bytes() const { return message_bytes_; }
    /// visit(group) for all, node by node. Some are there at a time, so that it takes little memory
    /// however many there are.
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

/// Who is whose local aggregator. Of all ranks, or what is kept for one: it knows those that it
/// deals with. A value; copies share the table.
class Layers {
  public:
    /// One layer: each rank speaks for itself.
    Layers() = default;
    /// Pure. Of all ranks; or of those of the node of `rank`, and the first local aggregators,
    /// which explain tells.
    Layers(const Nodes& topology, const Groups& groups, std::optional<Rank> rank = {});
    /// The same, with windows in memory of the node in place of messages between a rank and its
    /// local aggregator.
    [[nodiscard]] Layers with_windows(Bytes message_bytes) const;
    /// What `rank` needs of it.
    [[nodiscard]] Layers only(Rank rank, const Nodes& topology) const;

    [[nodiscard]] bool two() const { return served_ != nullptr; }
    /// Of a rank that is known. O(log known).
    [[nodiscard]] Rank local_aggregator_of(Rank rank) const;
    /// Ranks that it serves, itself among them, in their order. O(known).
    [[nodiscard]] std::vector<Rank> group_of(Rank local_aggregator) const;
    /// Those that are known, in the order of ranks. O(known).
    [[nodiscard]] std::vector<Rank> local_aggregators() const;
    /// Of all nodes, known or not.
    [[nodiscard]] std::size_t local_aggregators_in_all() const { return local_aggregators_; }
    /// Of the largest group.
    [[nodiscard]] int group_ranks() const { return group_ranks_; }
    /// Most bytes of a message between a rank and its local aggregator.
    [[nodiscard]] Bytes message_bytes() const { return message_bytes_; }

    /// Windows of a local aggregator, and what lies before each for the head of a message.
    static constexpr int windows_max = 4;
    static constexpr Bytes window_room = 128;
    [[nodiscard]] bool in_windows() const { return window_bytes_ > 0; }
    [[nodiscard]] Bytes window_bytes() const { return window_bytes_; }
    /// Of all windows of a local aggregator; writes mark what is given.
    [[nodiscard]] Bytes windows_bytes(Direction direction) const;
    /// Memory that each node shares for them.
    [[nodiscard]] Bytes node_bytes(Direction direction) const {
        return most_on_node_ * windows_bytes(direction);
    }

  private:
    struct Served {
        Rank rank = 0;
        Rank by = 0;
    };
    std::shared_ptr<const std::vector<Served>> served_;  ///< in the order of ranks; null: one layer
    std::size_t local_aggregators_ = 0;                  ///< of all nodes
    int group_ranks_ = 1;
    Bytes message_bytes_ = 0;
    Bytes window_bytes_ = 0;
    int most_on_node_ = 0;  ///< of those
};

}  // namespace oratorio
