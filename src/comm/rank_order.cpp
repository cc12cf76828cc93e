// SPDX-License-Identifier: BSD-3-Clause
#include "comm/rank_order.hpp"

#include <cstring>
#include <vector>

namespace oratorio {

namespace {

class MovedBlocks {
  public:
    MovedBlocks(std::span<std::byte> list, std::size_t bytes)
        : list_(list), bytes_(bytes), kept_(bytes) {}
    /// Moves `count` blocks; source and destination may overlap.
    void move(std::size_t to, std::size_t from, std::size_t count = 1) {
        if (to != from) std::memmove(at(to), at(from), count * bytes_);
    }
    void keep(std::size_t from) { std::memcpy(kept_.data(), at(from), bytes_); }
    void put(std::size_t to) { std::memcpy(at(to), kept_.data(), bytes_); }

  private:
    [[nodiscard]] std::byte* at(std::size_t i) const { return list_.data() + i * bytes_; }
    std::span<std::byte> list_;
    std::size_t bytes_;
    std::vector<std::byte> kept_;
};

/// Closes the gaps after the blocks of nodes with fewer ranks than the largest node. Returns the
/// new index of each node's first block.
std::vector<std::size_t> close_up(MovedBlocks& blocks, const Nodes& nodes) {
    const auto most = static_cast<std::size_t>(nodes.node_of.most());
    std::vector<std::size_t> begins;
    std::size_t begin = 0;
    for (int node = 0; node < nodes.nodes(); ++node) {
        const auto ranks = static_cast<std::size_t>(nodes.ranks_of(node));
        blocks.move(begin, begins.size() * most, ranks);
        begins.push_back(begin);
        begin += ranks;
    }
    return begins;
}

}  // namespace

void put_in_rank_order(std::span<std::byte> list, std::size_t block, const Nodes& nodes) {
    if (block == 0 || nodes.node_of.empty()) return;
    MovedBlocks blocks(list, block);
    const std::vector<std::size_t> begins = close_up(blocks, nodes);
    const auto source = [&](std::size_t rank) {
        const NodeSlot slot = nodes.slot(static_cast<Rank>(rank));
        return begins[static_cast<std::size_t>(slot.node)] + static_cast<std::size_t>(slot.place);
    };
    // The moves form cycles: the place that a block leaves is filled by the next block of its
    // cycle. The first block of a cycle is kept aside until its place is free.
    std::vector<bool> placed(static_cast<std::size_t>(nodes.size));
    for (std::size_t first = 0; first < placed.size(); ++first) {
        if (placed[first] || source(first) == first) continue;
        blocks.keep(first);
        std::size_t to = first;
        for (std::size_t from = source(to); from != first; from = source(to)) {
            blocks.move(to, from);
            placed[to] = true;
            to = from;
        }
        blocks.put(to);
        placed[to] = true;
    }
}

}  // namespace oratorio
