// SPDX-License-Identifier: BSD-3-Clause
// Nodes: which rank sits on which, the same on all ranks, so that plans are pure functions of it.
// Topology: that, and which rank this one is.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/placement.hpp"

namespace oratorio {

struct Nodes {
    int size = 1;              ///< ranks of the file's communicator
    int cores = 1;             ///< of the machine that has the fewest
    int nodes_of_machine = 1;  ///< most nodes that are one machine's: they share cores and kernel
    Placement node_of;         ///< node index of each rank, nodes numbered by first appearance
    std::vector<std::string> node_names;  ///< host name of each node, for cb_config_list

    [[nodiscard]] int nodes() const { return std::max(1, node_of.nodes()); }
    [[nodiscard]] bool one_node() const { return nodes() == 1; }
    [[nodiscard]] double cores_of_node() const { return double(cores) / nodes_of_machine; }
    /// All ranks are on the first node where nothing is said.
    [[nodiscard]] Seat seat(Rank rank) const {
        return node_of.empty() ? Seat{0, rank} : node_of.seat(rank);
    }
    [[nodiscard]] int node(Rank rank) const { return seat(rank).node; }
    /// Who sits there; -1: nobody.
    [[nodiscard]] Rank rank_at(Seat at) const {
        return node_of.empty() ? at.place : node_of.rank_at(at);
    }
    [[nodiscard]] int ranks_of(int node) const {
        return node_of.empty() ? size : node_of.count(node);
    }
    /// Of the node that has the most.
    [[nodiscard]] int ranks_of_node_most() const { return node_of.empty() ? size : node_of.most(); }
    /// visit(rank, seat) for all, in the order of ranks.
    template <class Visit>
    void each(Visit visit) const {
        each_on(0, nodes(), visit);
    }
    /// The same of those on nodes from `first` to before `last`.
    template <class Visit>
    void each_on(int first, int last, Visit visit) const {
        if (!node_of.empty()) return node_of.each_on(first, last, visit);
        for (Rank rank = 0; rank < size && first == 0; ++rank) visit(rank, Seat{0, rank});
    }
};

struct Topology : Nodes {
    Rank rank = 0;  ///< this process

    /// More ranks than cores on its node.
    [[nodiscard]] bool crowded() const { return ranks_of(node(rank)) > cores_of_node(); }
};

}  // namespace oratorio
