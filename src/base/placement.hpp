// SPDX-License-Identifier: BSD-3-Clause
// Placement: which rank sits where, in as few words as the job is regular. With a million ranks a
// number for each would be megabytes in every one of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/extent.hpp"

namespace oratorio {

/// A rank's node, and its place among the ranks of that.
struct Seat {
    int node = 0;
    int place = 0;
    bool operator==(const Seat&) const = default;
};

/// A value. Kept as sweeps: so many consecutive ranks on a node, as many on the next one, and so
/// on. Ranks placed node by node, or dealt to equal nodes in turn, take one sweep for each time
/// that the nodes are gone through; at worst there is one for each rank, of 16 bytes.
class Placement {
  public:
    Placement() = default;
    /// Of each rank the node; nodes are numbered by first appearance.
    Placement(const std::vector<int>& node_of);  // NOLINT(google-explicit-constructor)

    /// The next rank's node.
    void push_back(int node);
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] int nodes() const { return static_cast<int>(counts_.size()); }
    /// Ranks of a node.
    [[nodiscard]] int count(int node) const { return counts_[static_cast<std::size_t>(node)]; }
    /// Of the node that has the most.
    [[nodiscard]] int most() const;
    /// O(log sweeps).
    [[nodiscard]] Seat seat(Rank rank) const;
    [[nodiscard]] int operator[](std::size_t rank) const {
        return seat(static_cast<Rank>(rank)).node;
    }
    /// Who sits there; -1: nobody. O(sweeps).
    [[nodiscard]] Rank rank_at(Seat seat) const;
    /// visit(rank, seat) for all, in the order of ranks. O(1) each.
    template <class Visit>
    void each(Visit visit) const {
        each_on(0, nodes(), visit);
    }
    /// The same of those on nodes from `first` to before `last`. O(1) each, and for each sweep.
    template <class Visit>
    void each_on(int first, int last, Visit visit) const {
        for (std::size_t i = 0; i < sweeps_.size(); ++i) {
            const Sweep& sweep = sweeps_[i];
            const Rank end = std::min(end_of(i), sweep.begin_of(last));
            Rank rank = sweep.begin_of(first);
            Seat seat{std::max(first, sweep.node), sweep.place};
            for (; rank < end; ++rank) {
                visit(rank, seat);
                if (++seat.place == sweep.place + sweep.ranks) seat = {seat.node + 1, sweep.place};
            }
        }
    }
    /// Each list has one form.
    bool operator==(const Placement&) const = default;
    [[nodiscard]] std::size_t sweeps() const { return sweeps_.size(); }

  private:
    /// From rank `first` on: `ranks` on `node` at `place` and after it, as many on the next node.
    struct Sweep {
        Rank first = 0;
        std::int32_t node = 0;
        std::int32_t place = 0;
        std::int32_t ranks = 0;
        bool operator==(const Sweep&) const = default;
        /// The first rank on node `of` or behind it, if the sweep goes on for so long.
        [[nodiscard]] Rank begin_of(int of) const {
            const std::int64_t before = std::max(0, of - node);
            return static_cast<Rank>(std::min<std::int64_t>(first + before * ranks, INT32_MAX));
        }
        [[nodiscard]] Seat seat(Rank rank) const {
            const Rank i = rank - first;
            return {node + i / ranks, place + i % ranks};
        }
    };
    [[nodiscard]] Rank end_of(std::size_t sweep) const {
        return sweep + 1 < sweeps_.size() ? sweeps_[sweep + 1].first : static_cast<Rank>(size_);
    }

    std::size_t size_ = 0;
    std::vector<Sweep> sweeps_;
    std::vector<int> counts_;  ///< by node
};

}  // namespace oratorio
