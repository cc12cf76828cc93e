// SPDX-License-Identifier: BSD-3-Clause
// ranks_by_node: who is on which node, as those who choose among a node's ranks want it.
#pragma once

#include <algorithm>
#include <vector>

#include "base/topology.hpp"

namespace oratorio {

using RanksByNode = std::vector<std::vector<Rank>>;

/// For each node its ranks, in their order, that `wanted(rank)` holds for. One node at least.
template <class Wanted>
[[nodiscard]] RanksByNode ranks_by_node(const Nodes& topology, Wanted wanted) {
    RanksByNode nodes(std::max<std::size_t>(1, topology.node_names.size()));
    topology.each([&](Rank rank, Seat seat) {
        if (wanted(rank)) nodes[static_cast<std::size_t>(seat.node)].push_back(rank);
    });
    return nodes;
}

}  // namespace oratorio
