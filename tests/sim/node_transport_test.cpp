// SPDX-License-Identifier: BSD-3-Clause
// Collectives in shared memory (NodeTransport): they have the same results as collectives that
// send messages, in any interleaving, with several under way at once.
#include "comm/node_transport.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>

#include "sim/file_ranks.hpp"
#include "support/leader_ranks.hpp"

namespace oratorio::test::node_transport_test {
namespace {

SimReport run_on_node(int ranks, std::uint64_t seed, const std::function<void(Transport&)>& body) {
    return run_ranks({.ranks = ranks, .seed = seed}, [&](Transport& transport) {
        auto node = NodeTransport::over(std::make_unique<Lent>(transport));
        ASSERT_TRUE(node.ok());
        body(**node);
    });
}

TEST(NodeTransport, ReducesGathersAndBroadcastsWithoutMessages) {
    std::map<std::uint64_t, std::uint64_t> collectives;
    for (const int times : {1, 20}) {
        const SimReport report = run_on_node(5, 3, [&](Transport& transport) {
            const auto rank = static_cast<std::uint64_t>(transport.topology().rank);
            for (int i = 0; i < times; ++i) {
                const auto salt = static_cast<std::uint64_t>(i);
                std::array<std::uint64_t, 3> values{rank + salt, 10 - rank, UINT64_MAX};
                ASSERT_TRUE(reduce(transport, values, ReduceOp::sum).ok());
                EXPECT_EQ(values,
                          (std::array<std::uint64_t, 3>{10 + 5 * salt, 40, UINT64_MAX - 4}));
                std::uint64_t one = rank * 7 % 5;
                ASSERT_TRUE(reduce(transport, std::span(&one, 1), ReduceOp::max).ok());
                EXPECT_EQ(one, 4U);
                one = rank + 3;
                ASSERT_TRUE(reduce(transport, std::span(&one, 1), ReduceOp::min).ok());
                EXPECT_EQ(one, 3U);
                std::array<std::uint64_t, 5> all{};
                const std::uint64_t mine = rank * 100 + salt;
                ASSERT_TRUE(gather(transport, std::as_bytes(std::span(&mine, 1)),
                                   std::as_writable_bytes(std::span(all)))
                                .ok());
                for (std::uint64_t other = 0; other < 5; ++other)
                    EXPECT_EQ(all[other], other * 100 + salt);
                std::uint64_t told = rank == 2 ? 77 + salt : 0;
                ASSERT_TRUE(
                    broadcast(transport, 2, std::as_writable_bytes(std::span(&told, 1))).ok());
                EXPECT_EQ(told, 77 + salt);
            }
        });
        collectives[static_cast<std::uint64_t>(times)] = report.counters[0].collectives;
    }
    EXPECT_EQ(collectives[1], collectives[20]);  // only setting up the transport used collectives
                                                 // of the outer transport
}

TEST(NodeTransport, NoRankLeavesARendezvousBeforeItsActionIsDone) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        run_ranks({.ranks = 4, .seed = seed}, [](Transport& outer) {
            auto node = NodeTransport::over(std::make_unique<Lent>(outer));
            ASSERT_TRUE(node.ok());
            for (std::uint64_t turn = 0; turn < 20; ++turn) {
                std::uint64_t mine = turn + static_cast<std::uint64_t>(outer.topology().rank);
                const auto mean = std::as_writable_bytes(std::span(&mine, 1));
                const auto sum_up = [&outer](const Blocks& blocks) {
                    std::uint64_t sum = 0;
                    for (Rank rank = 0; rank < 4; ++rank) {
                        std::uint64_t one = 0;
                        std::memcpy(&one, blocks.of(rank).data(), sizeof one);
                        sum += one;
                    }
                    // The other ranks run before the result is stored, and must not return yet.
                    for (int i = 0; i < 5; ++i) outer.idle();
                    for (Rank rank = 0; rank < 4; ++rank)
                        std::memcpy(blocks.of(rank).data(), &sum, sizeof sum);
                };
                ASSERT_TRUE(rendezvous(**node, mean, sum_up).ok());
                ASSERT_EQ(mine, 4 * turn + 6);
            }
        });
    }
}

/// Runs more reductions at once than there are boards.
void overlap(Transport& transport) {
    constexpr std::size_t kMany = 30;
    const auto rank = static_cast<std::uint64_t>(transport.topology().rank);
    const auto ranks = static_cast<std::uint64_t>(transport.topology().size);
    std::vector<std::uint64_t> values(kMany);
    std::vector<Ticket> tickets;
    for (std::size_t i = 0; i < kMany; ++i) {
        values[i] = rank + i;
        auto ticket = transport.reduce(std::span(&values[i], 1), ReduceOp::sum);
        ASSERT_TRUE(ticket.ok());
        tickets.push_back(*ticket);
    }
    // Even and odd ranks wait for the reductions in different orders. Each order differs from that
    // of the starts by one place, which is less than the number that can be under way at once.
    std::vector<std::size_t> order(kMany);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = rank % 2; i + 1 < kMany; i += 2) std::swap(order[i], order[i + 1]);
    for (const std::size_t i : order) {
        ASSERT_TRUE(wait(transport, tickets[i]).ok());
        EXPECT_EQ(values[i], ranks * (ranks - 1) / 2 + ranks * i);
    }
}

TEST(NodeTransport, OperationsMayOverlapAndEndInAnyOrder) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) run_on_node(4, seed, overlap);
}

TEST(NodeTransport, LongOperandsAndMessagesGoThroughTheTransportBeneath) {
    run_on_node(3, 1, [](Transport& transport) {
        std::vector<std::uint64_t> values(100, 2);
        ASSERT_TRUE(reduce(transport, values, ReduceOp::sum).ok());
        EXPECT_EQ(values[99], 6U);
        const Rank rank = transport.topology().rank;
        std::byte token{static_cast<unsigned char>(rank)};
        std::byte got{99};
        auto received = transport.receive((rank + 2) % 3, 1, std::span(&got, 1));
        auto sent = transport.send((rank + 1) % 3, 1, std::span(&token, 1));
        ASSERT_TRUE(received.ok() && sent.ok());
        ASSERT_TRUE(wait(transport, *received).ok());
        ASSERT_TRUE(wait(transport, *sent).ok());
        EXPECT_EQ(got, static_cast<std::byte>((rank + 2) % 3));
    });
}

TEST(NodeTransport, TheCounterReturnsDistinctNumbers) {
    constexpr int kRanks = 4;
    constexpr int kTimes = 100;
    std::array<std::vector<std::int64_t>, kRanks> numbers;
    const SimReport report = run_on_node(kRanks, 5, [&](Transport& transport) {
        std::uint64_t met = 0;
        auto& mine = numbers[static_cast<std::size_t>(transport.topology().rank)];
        for (int i = 0; i < kTimes; ++i) {
            mine.push_back(*transport.counter().fetch_add(3));
            transport.idle();
        }
        ASSERT_TRUE(reduce(transport, std::span(&met, 1), ReduceOp::sum).ok());
        EXPECT_EQ(*transport.counter().fetch_add(0), 3 * kRanks * kTimes);
        ASSERT_TRUE(reduce(transport, std::span(&met, 1), ReduceOp::sum).ok());
        const bool sets = transport.topology().rank == 1;
        ASSERT_TRUE(!sets || transport.counter().set(-7).ok());
        ASSERT_TRUE(reduce(transport, std::span(&met, 1), ReduceOp::sum).ok());
        EXPECT_EQ(*transport.counter().fetch_add(0), -7);
    });
    EXPECT_EQ(report.counters[0].messages, 0U);
    std::vector<std::int64_t> all;
    for (const auto& of_rank : numbers) all.insert(all.end(), of_rank.begin(), of_rank.end());
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], 3 * static_cast<int>(i));
}

/// Repeatedly reserves r + 1 places on rank r. They must follow those of the lower ranks.
void claim_in_turns(Transport& transport) {
    const Rank rank = transport.topology().rank;
    const std::int64_t ranks = transport.topology().size;
    for (std::int64_t turn = 0; turn < 30; ++turn) {
        const auto place = reserve(transport, rank + 1);
        ASSERT_TRUE(place.ok());
        EXPECT_EQ(*place, turn * ranks * (ranks + 1) / 2 + rank * (rank + 1) / 2);
    }
}

TEST(NodeTransport, ClaimsLieInTheOrderOfTheRanksWithOneMeetingEach) {
    for (const int ranks : {2, 3, 4, 7, 8}) {
        EXPECT_EQ(run_on_node(ranks, 11, claim_in_turns).counters[0].messages, 0U);
        run_ranks({.ranks = ranks, .seed = 12}, claim_in_turns);
    }
}

/// Placements to test: for each rank, its node.
const std::vector<std::vector<int>> kPlacements = {
    {0, 0, 1, 1}, {0, 1, 0, 1, 2}, {0, 1, 1, 1}, {0, 0, 0, 1, 1, 2, 0}};

SimReport run_on_nodes(const std::vector<int>& node_of, std::uint64_t seed,
                       const std::function<void(Transport&)>& body) {
    const int ranks = static_cast<int>(node_of.size());
    return run_ranks({.ranks = ranks, .seed = seed, .node_of = node_of}, [&](Transport& transport) {
        auto node = NodeTransport::over(
            std::make_unique<Lent>(transport),
            [&]() -> Result<std::unique_ptr<Transport>> { return LeaderRanks::of(transport); });
        ASSERT_TRUE(node.ok());
        EXPECT_FALSE((*node)->in_memory());
        body(**node);
        EXPECT_TRUE((*node)->quiet());
    });
}

/// Runs reductions (sum, maximum, minimum), a gather, and a broadcast from each rank in turn.
void try_collectives(Transport& transport, std::uint64_t salt) {
    const auto ranks = static_cast<std::uint64_t>(transport.topology().size);
    const auto rank = static_cast<std::uint64_t>(transport.topology().rank);
    std::array<std::uint64_t, 2> sums{rank + salt, 1};
    ASSERT_TRUE(reduce(transport, sums, ReduceOp::sum).ok());
    EXPECT_EQ(sums, (std::array{ranks * (ranks - 1) / 2 + ranks * salt, ranks}));
    std::uint64_t most = salt + (rank + 1) % ranks, least = salt + (rank + 2) % ranks;
    ASSERT_TRUE(reduce(transport, std::span(&most, 1), ReduceOp::max).ok());
    ASSERT_TRUE(reduce(transport, std::span(&least, 1), ReduceOp::min).ok());
    EXPECT_EQ(most, salt + ranks - 1);
    EXPECT_EQ(least, salt);
    std::vector<std::uint64_t> all(ranks);
    const std::uint64_t mine = rank * 100 + salt;
    ASSERT_TRUE(gather(transport, std::as_bytes(std::span(&mine, 1)),
                       std::as_writable_bytes(std::span(all)))
                    .ok());
    for (std::uint64_t other = 0; other < ranks; ++other) EXPECT_EQ(all[other], other * 100 + salt);
    for (std::uint64_t root = 0; root < ranks; ++root) {
        std::uint64_t told = rank == root ? 77 + salt + root : 0;
        ASSERT_TRUE(broadcast(transport, static_cast<Rank>(root),
                              std::as_writable_bytes(std::span(&told, 1)))
                        .ok());
        EXPECT_EQ(told, 77 + salt + root);
    }
}

/// Only opens the node transport. Returns a report of the messages that this takes
/// (node_gather.hpp).
SimReport opened_on_nodes(const std::vector<int>& node_of, std::uint64_t seed) {
    return run_on_nodes(node_of, seed, [](Transport&) {});
}

TEST(NodeTransport, OfSeveralNodesOnlyTheFirstRanksSendMessages) {
    for (const auto& node_of : kPlacements) {
        const SimReport opened = opened_on_nodes(node_of, 1);
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            const SimReport report = run_on_nodes(node_of, seed, [&](Transport& transport) {
                for (std::uint64_t salt = 0; salt < 12; ++salt) try_collectives(transport, salt);
            });
            const auto nodes = static_cast<std::uint64_t>(std::ranges::max(node_of)) + 1;
            for (std::size_t rank = 0; rank < node_of.size(); ++rank) {
                const bool first = std::ranges::find(node_of, node_of[rank]) ==
                                   node_of.begin() + static_cast<std::ptrdiff_t>(rank);
                EXPECT_EQ(report.counters[rank].messages - opened.counters[rank].messages,
                          first ? 12 * (4 + node_of.size()) * (nodes - 1) : 0);
                EXPECT_EQ(report.counters[rank].collectives, report.counters[0].collectives);
            }
        }
    }
}

TEST(NodeTransport, OperationsOfSeveralNodesMayOverlapAndEndInAnyOrder) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) run_on_nodes({0, 0, 1, 1, 1}, seed, overlap);
}

TEST(NodeTransport, ClaimsOfSeveralNodesLieInTheOrderOfTheRanks) {
    for (const auto& node_of : kPlacements) run_on_nodes(node_of, 7, claim_in_turns);
}

TEST(NodeTransport, LongResultsOfSeveralNodesGoThroughTheTransportBeneath) {
    const SimReport report = run_on_nodes({0, 0, 1}, 3, [](Transport& transport) {
        const auto rank = static_cast<unsigned char>(transport.topology().rank);
        const std::vector<std::byte> mine(500, std::byte{rank});
        std::vector<std::byte> all(1500);
        ASSERT_TRUE(gather(transport, mine, all).ok());
        for (std::size_t i = 0; i < all.size(); ++i)
            ASSERT_EQ(all[i], static_cast<std::byte>(i / 500));
    });
    EXPECT_EQ(report.counters[0].messages, opened_on_nodes({0, 0, 1}, 3).counters[0].messages);
}

TEST(NodeTransport, WithoutLeadersSeveralNodesKeepTheirTransport) {
    run_ranks({.ranks = 4, .seed = 1, .ranks_per_node = 2}, [](Transport& transport) {
        auto lent = std::make_unique<Lent>(transport);
        Transport* const before = lent.get();
        auto after = NodeTransport::over(std::move(lent));
        ASSERT_TRUE(after.ok());
        EXPECT_EQ(after->get(), before);
    });
}

}  // namespace
}  // namespace oratorio::test::node_transport_test
