// SPDX-License-Identifier: BSD-3-Clause
// Nodes: which rank sits on which, the same on all ranks, so that plans are pure functions of it.
// Topology: that, and which rank this one is.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/extent.hpp"

namespace oratorio {

struct Nodes {
    int size = 1;              ///< ranks of the file's communicator
    int cores = 1;             ///< of the node that has the fewest
    std::vector<int> node_of;  ///< node index of each rank, nodes numbered by first appearance
    std::vector<std::string> node_names;  ///< host name of each node, for cb_config_list

    [[nodiscard]] int nodes() const {
        return node_of.empty() ? 1 : *std::ranges::max_element(node_of) + 1;
    }
    [[nodiscard]] bool one_node() const {
        return std::ranges::all_of(node_of, [](int node) { return node == 0; });
    }
};

struct Topology : Nodes {
    Rank rank = 0;  ///< this process

    /// More ranks than cores on its node.
    [[nodiscard]] bool crowded() const {
        return std::ranges::count(node_of, node_of[static_cast<std::size_t>(rank)]) > cores;
    }
};

}  // namespace oratorio
