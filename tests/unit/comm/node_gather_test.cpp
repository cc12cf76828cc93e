// SPDX-License-Identifier: BSD-3-Clause
// NodeGather: an exchange among the ranks of a node. On several nodes it sends messages within each
// node only, not between nodes.
#include "comm/node_gather.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "support/sim_transport.hpp"

namespace oratorio::test::node_gather_test {
namespace {

Result<void> finish(NodeGather& gather, Transport& transport) {
    for (;;) {
        const auto over = gather.step(transport);
        if (!over) return over.error();
        if (*over == Step::done) return {};
        transport.idle();
    }
}

/// Gathers a number of each rank, and checks that every rank gets the numbers of its node's ranks.
SimReport gather_on(const std::vector<int>& node_of, std::uint64_t seed) {
    const auto ranks = static_cast<int>(node_of.size());
    return run_ranks({.ranks = ranks, .seed = seed, .node_of = node_of}, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        const int node = node_of[static_cast<std::size_t>(rank)];
        std::vector<std::uint64_t> expected;
        for (std::size_t other = 0; other < node_of.size(); ++other)
            if (node_of[other] == node) expected.push_back(other + 100);
        std::vector<std::uint64_t> all(expected.size());
        const std::uint64_t mine = static_cast<std::uint64_t>(rank) + 100;
        NodeGather gather(std::as_bytes(std::span(&mine, 1)),
                          std::as_writable_bytes(std::span(all)));
        ASSERT_TRUE(finish(gather, transport).ok());
        EXPECT_EQ(all, expected);
    });
}

TEST(NodeGather, ReturnsTheDataOfTheNodesRanks) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        gather_on({0}, seed);
        gather_on({0, 0, 0}, seed);
        gather_on({0, 1, 0, 1, 2}, seed);
        gather_on({0, 1, 1, 1, 1, 1, 1, 1, 0, 2, 1, 1}, seed);
    }
}

TEST(NodeGather, ARankHasTwiceTheLogarithmOfItsNodesRanksInMessages) {
    for (const int of_node : {1, 2, 3, 5, 8, 13, 64}) {
        std::vector<int> node_of;
        for (int rank = 0; rank < 2 * of_node; ++rank) node_of.push_back(rank / of_node);
        const SimReport report = gather_on(node_of, 7);
        const int steps = std::bit_width(static_cast<unsigned>(of_node - 1));
        std::uint64_t sum = 0;
        for (const SimCounters& one : report.counters) {
            EXPECT_LE(one.messages, static_cast<std::uint64_t>(steps));
            EXPECT_EQ(one.collectives, 0U) << "other nodes don't hear of it";
            sum += one.messages;
        }
        EXPECT_EQ(sum, 2U * 2U * static_cast<unsigned>(of_node - 1)) << "once up, once down";
    }
}

TEST(NodeGather, OnOneNodeUsesTheTransport) {
    for (const SimCounters& one : gather_on({0, 0, 0, 0}, 3).counters) {
        EXPECT_EQ(one.messages, 0U);
        EXPECT_EQ(one.collectives, 1U);
    }
}

TEST(NodeGather, AMessageThatFailsIsTheTransportsError) {
    int failed = 0;
    try {
        const SimOptions options{.ranks = 4, .ranks_per_node = 2, .fail_rank = 3, .fail_send = 1};
        run_ranks(options, [&](Transport& transport) {
            const Rank rank = transport.topology().rank;
            std::array<Rank, 2> all{};
            NodeGather gather(std::as_bytes(std::span(&rank, 1)),
                              std::as_writable_bytes(std::span(all)));
            if (rank == 2) return;  // rank 2 would wait for the rank that has failed
            failed += finish(gather, transport).ok() ? 0 : 1;
        });
    } catch (const SimFailure&) {
        FAIL() << "another rank waits";
    }
    EXPECT_EQ(failed, 1);
}

}  // namespace
}  // namespace oratorio::test::node_gather_test
