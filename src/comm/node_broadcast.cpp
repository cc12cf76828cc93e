// SPDX-License-Identifier: BSD-3-Clause
#include "comm/node_broadcast.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace oratorio {

namespace {

constexpr Tag kTelling = 1;

std::vector<Rank> ranks_of_node(const Topology& topology) {
    std::vector<Rank> ranks;
    const int node = topology.node(topology.rank);
    topology.each([&](Rank rank, NodeSlot slot) {
        if (slot.node == node) ranks.push_back(rank);
    });
    return ranks;
}

}  // namespace

/// Sends along a binomial tree: the parent of a place is the place without its lowest set bit.
Result<void> node_broadcast(Transport& transport, std::span<std::byte> data) {
    const Topology& topology = transport.topology();
    const std::vector<Rank> ranks = ranks_of_node(topology);
    const auto place =
        static_cast<std::size_t>(std::ranges::find(ranks, topology.rank) - ranks.begin());
    std::size_t bit = std::bit_ceil(ranks.size());
    if (place > 0) {
        bit = place & (~place + 1);
        const auto taken = transport.receive(ranks[place - bit], kTelling, data);
        if (!taken) return taken.error();
        if (auto there = wait(transport, *taken); !there) return there.error();
    }
    std::vector<Ticket> sent;
    while ((bit /= 2) > 0) {
        if (place + bit >= ranks.size()) continue;
        const auto started = transport.send(ranks[place + bit], kTelling, data);
        if (!started) return started.error();
        sent.push_back(*started);
    }
    for (const Ticket ticket : sent) {
        if (auto done = wait(transport, ticket); !done) return done.error();
    }
    return {};
}

}  // namespace oratorio
