// SPDX-License-Identifier: BSD-3-Clause
// RankMap: the map between ranks and nodes. It is small if ranks are placed on nodes regularly. An
// uncompressed list would take megabytes on each of a million ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/extent.hpp"

namespace oratorio {

/// The node of a rank, and its index among that node's ranks.
struct NodeSlot {
    int node = 0;
    int place = 0;
    bool operator==(const NodeSlot&) const = default;
};

/// A rank map, which can be copied and compared. It is stored as sweeps. A sweep is a number of
/// consecutive ranks on one node, the same number on the next node, and so on. Ranks placed node by
/// node, or dealt to equal nodes in turn, need one sweep for each pass over the nodes. The worst
/// case is one sweep of 16 bytes per rank.
class RankMap {
  public:
    RankMap() = default;
    /// Makes the map from the node of each rank. Nodes are numbered by first appearance.
    RankMap(const std::vector<int>& node_of);  // NOLINT(google-explicit-constructor)

    /// Appends the next rank's node.
    void push_back(int node);
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] int nodes() const { return static_cast<int>(counts_.size()); }
    /// Returns the number of ranks on a node.
    [[nodiscard]] int count(int node) const { return counts_[static_cast<std::size_t>(node)]; }
    /// Returns the largest number of ranks on any node.
    [[nodiscard]] int most() const;
    /// Returns a rank's node and index. Takes O(log sweeps) time. REQUIRES: 0 <= rank < size().
    [[nodiscard]] NodeSlot slot(Rank rank) const;
    [[nodiscard]] int operator[](std::size_t rank) const {
        return slot(static_cast<Rank>(rank)).node;
    }
    /// Returns the rank at `slot`, or -1 if there is none. Takes O(sweeps) time.
    [[nodiscard]] Rank rank_at(NodeSlot slot) const;
    /// Calls visit(rank, slot) for all ranks in their order. Takes O(1) time per rank.
    template <class Visit>
    void each(Visit visit) const {
        each_on(0, nodes(), visit);
    }
    /// Calls visit(rank, slot) for the ranks on nodes in [first, last). Takes O(1) time per rank
    /// and per sweep.
    template <class Visit>
    void each_on(int first, int last, Visit visit) const {
        for (std::size_t i = 0; i < sweeps_.size(); ++i) {
            const Sweep& sweep = sweeps_[i];
            const Rank end = std::min(end_of(i), sweep.begin_of(last));
            Rank rank = sweep.begin_of(first);
            NodeSlot slot{std::max(first, sweep.node), sweep.place};
            for (; rank < end; ++rank) {
                visit(rank, slot);
                if (++slot.place == sweep.place + sweep.ranks) slot = {slot.node + 1, sweep.place};
            }
        }
    }
    /// A list of nodes has only one representation as sweeps, so comparing members is enough.
    bool operator==(const RankMap&) const = default;
    [[nodiscard]] std::size_t sweeps() const { return sweeps_.size(); }

  private:
    /// A run of ranks that begins with rank `first`: `ranks` ranks on `node` at index `place` and
    /// after it, and the same number on each following node.
    struct Sweep {
        Rank first = 0;
        std::int32_t node = 0;
        std::int32_t place = 0;
        std::int32_t ranks = 0;
        bool operator==(const Sweep&) const = default;
        /// Returns the sweep's first rank on node `of` or a later one, as if the sweep had no end.
        [[nodiscard]] Rank begin_of(int of) const {
            const std::int64_t before = std::max(0, of - node);
            return static_cast<Rank>(std::min<std::int64_t>(first + before * ranks, INT32_MAX));
        }
        [[nodiscard]] NodeSlot slot(Rank rank) const {
            const Rank i = rank - first;
            return {node + i / ranks, place + i % ranks};
        }
    };
    [[nodiscard]] Rank end_of(std::size_t sweep) const {
        return sweep + 1 < sweeps_.size() ? sweeps_[sweep + 1].first : static_cast<Rank>(size_);
    }

    std::size_t size_ = 0;
    std::vector<Sweep> sweeps_;
    std::vector<int> counts_;  ///< number of ranks on each node
};

}  // namespace oratorio
