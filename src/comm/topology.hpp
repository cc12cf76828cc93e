// SPDX-License-Identifier: BSD-3-Clause
// Nodes: the node of each rank. The object is equal on all ranks, so that plans made from it are
// equal, too. Topology: the nodes, and the rank of this process.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "comm/rank_map.hpp"

namespace oratorio {

struct Nodes {
    int size = 1;   ///< ranks of the file's communicator
    int cores = 1;  ///< smallest number of cores of any machine
    /// Largest number of nodes on any machine; the nodes of a machine share its cores and kernel.
    int nodes_of_machine = 1;
    RankMap node_of;  ///< node of each rank; nodes are numbered by first appearance
    std::vector<std::string> node_names;  ///< host name of each node, for cb_config_list and traces
    /// Network switch of each node. Switches are numbered by first appearance. Empty: one switch,
    /// or the switches aren't known.
    std::vector<int> switch_of;

    [[nodiscard]] int nodes() const { return std::max(1, node_of.nodes()); }
    [[nodiscard]] bool one_node() const { return nodes() == 1; }
    [[nodiscard]] double cores_of_node() const { return double(cores) / nodes_of_machine; }
    /// Returns a rank's node and its index there. Without a rank map all ranks are on node 0.
    [[nodiscard]] NodeSlot slot(Rank rank) const {
        return node_of.empty() ? NodeSlot{0, rank} : node_of.slot(rank);
    }
    [[nodiscard]] int node(Rank rank) const { return slot(rank).node; }
    [[nodiscard]] int switches() const {
        return switch_of.empty() ? 1 : 1 + *std::ranges::max_element(switch_of);
    }
    [[nodiscard]] int switch_at(Rank rank) const {
        return switch_of.empty() ? 0 : switch_of[static_cast<std::size_t>(node(rank))];
    }
    /// Returns the rank at that node and index, or -1 if there is none.
    [[nodiscard]] Rank rank_at(NodeSlot at) const {
        return node_of.empty() ? at.place : node_of.rank_at(at);
    }
    [[nodiscard]] int ranks_of(int node) const {
        return node_of.empty() ? size : node_of.count(node);
    }
    /// Returns the largest number of ranks on any node.
    [[nodiscard]] int ranks_of_node_most() const { return node_of.empty() ? size : node_of.most(); }
    /// Calls visit(rank, slot) for all ranks in their order.
    template <class Visit>
    void each(Visit visit) const {
        each_on(0, nodes(), visit);
    }
    /// Calls visit(rank, slot) for the ranks on nodes in [first, last).
    template <class Visit>
    void each_on(int first, int last, Visit visit) const {
        if (!node_of.empty()) return node_of.each_on(first, last, visit);
        for (Rank rank = 0; rank < size && first == 0; ++rank) visit(rank, NodeSlot{0, rank});
    }
};

struct Topology : Nodes {
    Rank rank = 0;  ///< rank of this process

    /// Returns true if this rank's node has more ranks than cores.
    [[nodiscard]] bool crowded() const { return ranks_of(node(rank)) > cores_of_node(); }
    /// Returns true if messages between this rank and `other` go from one switch to another.
    [[nodiscard]] bool on_other_switch(Rank other) const {
        return !switch_of.empty() && switch_at(other) != switch_at(rank);
    }
};

}  // namespace oratorio
