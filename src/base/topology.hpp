// SPDX-License-Identifier: BSD-3-Clause
// Topology: which rank sits on which node. A plain value; plans are pure functions of it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/extent.hpp"

namespace oratorio {

struct Topology {
    Rank rank = 0;             ///< this process
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
    /// More ranks than cores on this rank's node.
    [[nodiscard]] bool crowded() const {
        return std::ranges::count(node_of, node_of[static_cast<std::size_t>(rank)]) > cores;
    }
};

}  // namespace oratorio
