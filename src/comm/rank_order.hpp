// SPDX-License-Identifier: BSD-3-Clause
// Sorts a list that was gathered node by node into rank order.
#pragma once

#include <cstddef>
#include <span>

#include "comm/topology.hpp"

namespace oratorio {

/// Sorts the list in place. On entry `list` has a block of `block` bytes for each rank, node by
/// node, and for each node as much room as the largest node needs. On return the blocks of ranks 0,
/// 1, ... are at its start. Takes O(1) look-ups in the rank map per rank, and memory of one block,
/// 8 bytes per node and one bit per rank.
void put_in_rank_order(std::span<std::byte> list, std::size_t block, const Nodes& nodes);

}  // namespace oratorio
