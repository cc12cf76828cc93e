// SPDX-License-Identifier: BSD-3-Clause
// RankOrder: blocks that arrive node after node are put into the order of ranks, for any placement.
#include "comm/rank_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/pretended_nodes.hpp"
#include "support/random.hpp"

namespace oratorio::test::rank_order_test {
namespace {

using Block = std::array<std::uint32_t, 3>;

/// Returns blocks in the order of nodes. Unused places hold values that no rank has.
std::vector<Block> by_node(const Nodes& nodes) {
    const auto most = static_cast<std::size_t>(nodes.node_of.most());
    std::vector<Block> blocks(static_cast<std::size_t>(nodes.nodes()) * most, Block{9, 9, 9});
    nodes.each([&](Rank rank, NodeSlot slot) {
        const auto at = static_cast<std::size_t>(slot.node) * most;
        const auto number = static_cast<std::uint32_t>(rank);
        blocks[at + static_cast<std::size_t>(slot.place)] = {number, ~number, number * 7};
    });
    return blocks;
}

void expect_in_order(const std::vector<int>& node_of) {
    const Nodes nodes = pretended_nodes(node_of);
    std::vector<Block> blocks = by_node(nodes);
    put_in_rank_order(std::as_writable_bytes(std::span(blocks)), sizeof(Block), nodes);
    for (std::uint32_t rank = 0; rank < node_of.size(); ++rank)
        ASSERT_EQ(blocks[rank], (Block{rank, ~rank, rank * 7})) << "rank " << rank;
}

/// Returns a placement with many ranks on some nodes and one on others.
std::vector<int> uneven(std::uint64_t seed) {
    Random random(seed);
    std::vector<int> node_of;
    int nodes = 0;
    for (std::uint64_t rank = 0; rank <= seed % 60; ++rank) {
        node_of.push_back(static_cast<int>(random.below(static_cast<std::uint64_t>(nodes) + 1)));
        nodes = std::max(nodes, node_of.back() + 1);
    }
    return node_of;
}

TEST(RankOrder, IsThatOfAnyPlacement) {
    expect_in_order({0});
    expect_in_order({0, 0, 1, 1, 2, 2});           // the blocks are already in order
    expect_in_order({0, 1, 2, 0, 1, 2, 0, 1, 2});  // ranks are dealt to the nodes in turn
    expect_in_order({0, 0, 0, 1, 2, 2});           // smaller nodes leave places unused
    expect_in_order({0, 1, 1, 1, 1, 0, 2});
    for (std::uint64_t seed = 1; seed <= 200; ++seed) expect_in_order(uneven(seed));
}

TEST(RankOrder, HandlesAMillionRanksDealtInTurn) {
    std::vector<int> node_of;
    for (int rank = 0; rank < 1 << 20; ++rank) node_of.push_back(rank % 16384);
    expect_in_order(node_of);
}

TEST(RankOrder, IsEmptyForNoRanks) {
    put_in_rank_order({}, 0, pretended_nodes({0, 1, 0}));
}

}  // namespace
}  // namespace oratorio::test::rank_order_test
