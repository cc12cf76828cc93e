// SPDX-License-Identifier: BSD-3-Clause
// Graph: which ranks exchange data with which aggregators. In a dense graph a participant has edges
// to all aggregators with regions that its hull touches. A sparse graph keeps only the edges where
// the participant really has data. An interval tree finds the participants of a region, which costs
// O(log participants) and one step for each participant whose hull touches the range from the
// region's first byte to its last. Plan, which knows the regions of rounds, is the interface for
// rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/agreed.hpp"
#include "plan/domains.hpp"
#include "plan/edges.hpp"

namespace oratorio {

/// A rank that exchanges data with aggregators, and the hull of that data: its own data, or its
/// group's if the rank is a local aggregator.
struct Participant {
    Rank rank = -1;
    Extent hull;
};

/// A graph is a value; copies share the tree.
class Graph {
  public:
    Graph() = default;
    /// Drops participants without data.
    explicit Graph(std::vector<Participant> participants);

    [[nodiscard]] bool empty() const { return size() == 0; }
    [[nodiscard]] std::size_t size() const {
        if (tree_ != nullptr) return tree_->nodes.size();
        return alone_.rank < 0 ? 0 : 1;
    }
    /// Returns participant i. Participants are sorted by where their hulls begin.
    [[nodiscard]] Participant participant(std::size_t i) const {
        const Participant& one = tree_ != nullptr ? tree_->nodes[i] : alone_;
        return {one.rank, {one.hull.begin + moved_, one.hull.end + moved_}};
    }
    /// Returns the index of the rank among the participants, size() if it isn't one. Takes O(log
    /// size) time.
    [[nodiscard]] std::size_t find(Rank rank) const;
    /// Returns the hull of a rank, empty if the rank isn't a participant.
    [[nodiscard]] Extent hull_of(Rank rank) const;
    /// Returns the graph with only the given edges of each rank.
    [[nodiscard]] Graph thinned(const EdgeScale& scale,
                                const Agreed<std::span<const EdgeBits>>& of_ranks) const;
    /// Returns the graph with only these participants. REQUIRES: their indices are in ascending
    /// order.
    [[nodiscard]] Graph for_rank(const std::vector<std::size_t>& participants) const;
    /// Returns the edges of a sparse graph; null if the graph is dense.
    [[nodiscard]] const Edges* edges() const { return edges_.get(); }
    /// Returns true if participant i may have data in that round of that aggregator. REQUIRES: the
    /// participant's hull touches the round's region.
    [[nodiscard]] bool has_edge(std::size_t i, int aggregator, std::int64_t round) const {
        return edges_ == nullptr || edges_->has(i, aggregator, round);
    }
    /// Calls visit(i) for each participant with a hull that touches the region, until a call
    /// returns false. Returns true if none did.
    template <class Visit>
    bool each_touching(const Region& region, Visit visit) const {
        const auto look = [&](std::size_t i) {
            return !region.touches(participant(i).hull) || visit(i);
        };
        if (tree_ == nullptr) return empty() || look(0);
        return each_within(0, size(), span_of(region), look);
    }
    /// Returns the same graph, shifted by `by` bytes in the file.
    [[nodiscard]] Graph moved(Offset by) const;

  private:
    struct Tree {
        std::vector<Participant> nodes;    ///< sorted by begin; the root of a range is its middle
        std::vector<Offset> furthest;      ///< largest hull end in the range of each node
        std::vector<std::uint32_t> ranks;  ///< indices of nodes, sorted by rank
    };
    static Offset fill(Tree& tree, std::size_t first, std::size_t last);
    /// Returns the range from the region's first byte to its last, shifted back by `moved_` like
    /// the hulls in the tree.
    [[nodiscard]] Extent span_of(const Region& region) const;
    template <class Visit>
    bool each_within(std::size_t first, std::size_t last, Extent range, Visit visit) const {
        while (first < last) {
            const std::size_t middle = first + (last - first) / 2;
            if (tree_->furthest[middle] <= range.begin) return true;
            if (!each_within(first, middle, range, visit)) return false;
            if (tree_->nodes[middle].hull.begin >= range.end) return true;
            if (tree_->nodes[middle].hull.end > range.begin && !visit(middle)) return false;
            first = middle + 1;
        }
        return true;
    }

    std::shared_ptr<const Tree> tree_;  ///< null if there are fewer than two participants
    Participant alone_;
    Offset moved_ = 0;
    std::shared_ptr<const Edges> edges_;
};

}  // namespace oratorio
