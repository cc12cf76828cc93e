// SPDX-License-Identifier: BSD-3-Clause
// pretended_nodes: a made-up placement of ranks on nodes for tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "comm/topology.hpp"

namespace oratorio::test {

/// Returns nodes named node0, node1 and so on. `node_of` has the same meaning as Nodes::node_of.
inline Nodes pretended_nodes(const std::vector<int>& node_of) {
    Nodes nodes;
    nodes.size = static_cast<int>(node_of.size());
    const int count = *std::ranges::max_element(node_of) + 1;
    for (int node = 0; node < count; ++node)
        nodes.node_names.push_back("node" + std::to_string(node));
    nodes.node_of = node_of;
    return nodes;
}

/// Returns nodes of `ranks_per_node` consecutive ranks each; 0 puts all ranks on one node. The
/// first ranks are on the nodes that `node_of` names, if it is not empty.
inline Nodes pretended_nodes(int ranks, int ranks_per_node, std::vector<int> node_of = {}) {
    for (int rank = static_cast<int>(node_of.size()); rank < ranks; ++rank)
        node_of.push_back(ranks_per_node > 0 ? rank / ranks_per_node : 0);
    return pretended_nodes(node_of);
}

}  // namespace oratorio::test
