// SPDX-License-Identifier: BSD-3-Clause
// Graph: who exchanges data with whom. In a dense graph a participant has edges to the aggregators
// whose regions its hull touches; a sparse one keeps of them those where it really has data. Found
// by an interval tree, so that a region costs O(log participants) and one step for each of those
// that touch it. Rounds are asked for by Plan, which knows their regions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/agreed.hpp"
#include "plan/domains.hpp"
#include "plan/edges.hpp"

namespace oratorio {

/// A rank with data, and from where to where that lies in the file.
struct Participant {
    Rank rank = -1;
    Extent hull;
};

/// A value; copies share the tree.
class Graph {
  public:
    Graph() = default;
    /// Participants without data are left out.
    explicit Graph(std::vector<Participant> participants);

    [[nodiscard]] bool empty() const { return size() == 0; }
    [[nodiscard]] std::size_t size() const {
        if (tree_ != nullptr) return tree_->nodes.size();
        return alone_.rank < 0 ? 0 : 1;
    }
    /// In the order of their hulls' begins.
    [[nodiscard]] Participant participant(std::size_t i) const {
        const Participant& one = tree_ != nullptr ? tree_->nodes[i] : alone_;
        return {one.rank, {one.hull.begin + moved_, one.hull.end + moved_}};
    }
    /// Which participant a rank is; size() for one without data. O(log size).
    [[nodiscard]] std::size_t find(Rank rank) const;
    /// Empty for a rank without data.
    [[nodiscard]] Extent hull_of(Rank rank) const;
    /// The same with fewer edges, given for each rank.
    [[nodiscard]] Graph thinned(const EdgeScale& scale,
                                const Agreed<std::span<const EdgeBits>>& of_ranks) const;
    /// The same without all participants but these, in ascending order.
    [[nodiscard]] Graph only(const std::vector<std::size_t>& participants) const;
    /// Null in a dense graph.
    [[nodiscard]] const Edges* edges() const { return edges_.get(); }
    /// A region that participant i's hull touches, in that round of that aggregator: it has data
    /// there, as far as is known.
    [[nodiscard]] bool has_edge(std::size_t i, int aggregator, std::int64_t round) const {
        return edges_ == nullptr || edges_->has(i, aggregator, round);
    }
    /// visit(i) for each participant whose hull touches the region, until one says false. Whether
    /// none did.
    template <class Visit>
    bool each_touching(const Region& region, Visit visit) const {
        const auto look = [&](std::size_t i) {
            return !region.touches(participant(i).hull) || visit(i);
        };
        if (tree_ == nullptr) return empty() || look(0);
        return each_within(0, size(), span_of(region), look);
    }
    /// The same, `by` bytes further on in the file.
    [[nodiscard]] Graph moved(Offset by) const;

  private:
    struct Tree {
        std::vector<Participant> nodes;    ///< by begin; the root of a range is its middle
        std::vector<Offset> furthest;      ///< by node: the largest end in the range it is root of
        std::vector<std::uint32_t> ranks;  ///< nodes, by rank
    };
    static Offset fill(Tree& tree, std::size_t first, std::size_t last);
    /// From the first byte to the last, where the hulls had them before they were moved.
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

    std::shared_ptr<const Tree> tree_;  ///< null where there are less than two
    Participant alone_;
    Offset moved_ = 0;
    std::shared_ptr<const Edges> edges_;
};

}  // namespace oratorio
