// SPDX-License-Identifier: BSD-3-Clause
// What nodes have brought one after the other, in the order of ranks.
#pragma once

#include <cstddef>
#include <span>

#include "base/topology.hpp"

namespace oratorio {

/// `list` has a block of so many bytes for each rank, node by node, and for each node as much room
/// as the largest needs. In place: afterwards the blocks of ranks 0, 1, ... lie at its begin. Takes
/// O(ranks) time, and 8 bytes of each node and a bit of each rank.
void put_in_rank_order(std::span<std::byte> list, std::size_t block, const Nodes& nodes);

}  // namespace oratorio
