// SPDX-License-Identifier: BSD-3-Clause
#include "support/sim_transport.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <set>
#include <string>

#include "support/message_pieces.hpp"

namespace oratorio::test::sim_transport_test {
namespace {

using test::ListOf;
using test::Pieces;
using test::run_ranks;
using test::SimFailure;
using test::SimOptions;

template <class T>
std::span<const std::byte> out(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}
template <class T>
std::span<std::byte> in(T& value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

// Returns the failure that a run reports; empty if the run succeeds.
std::string failure_of(const SimOptions& options, const std::function<void(Transport&)>& body) {
    try {
        run_ranks(options, body);
    } catch (const SimFailure& failure) {
        return failure.what();
    }
    return "";
}

// Sends this rank's number to every other rank and receives theirs in any order. Returns the order
// in which they arrived at this rank.
std::vector<Rank> all_to_all(Transport& transport) {
    const Rank me = transport.topology().rank;
    const int size = transport.topology().size;
    std::vector<Ticket> sends;
    for (Rank to = 0; to < size; ++to) {
        if (to != me) sends.push_back(*transport.send(to, 1, out(me)));
    }
    std::vector<Rank> order;
    for (int i = 0; i + 1 < size; ++i) {
        Rank value = -1;
        auto completion = wait(transport, *transport.receive(kAnyRank, 1, in(value)));
        EXPECT_EQ(completion->source, value);
        EXPECT_EQ(completion->bytes, 4);
        order.push_back(value);
    }
    for (Ticket send : sends) EXPECT_TRUE(wait(transport, send).ok());
    return order;
}

TEST(SimTransport, the_same_seed_gives_the_same_trace_and_other_seeds_give_others) {
    std::set<std::uint64_t> traces;
    std::set<std::vector<Rank>> orders;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::vector<Rank> first;
        std::vector<Rank> second;
        const auto body_into = [](std::vector<Rank>& order) {
            return [&order](Transport& transport) {
                auto mine = all_to_all(transport);
                if (transport.topology().rank == 0) order = mine;
            };
        };
        const auto a = run_ranks({.ranks = 5, .seed = seed}, body_into(first));
        const auto b = run_ranks({.ranks = 5, .seed = seed}, body_into(second));
        EXPECT_EQ(a.trace, b.trace);
        EXPECT_EQ(first, second);
        traces.insert(a.trace);
        orders.insert(first);
    }
    EXPECT_EQ(traces.size(), 20U);
    EXPECT_GT(orders.size(), 5U);
}

TEST(SimTransport, messages_of_one_pair_and_tag_arrive_in_order) {
    run_ranks({.ranks = 2, .seed = 7}, [](Transport& transport) {
        constexpr int kCount = 50;
        std::array<int, kCount> values{};
        std::vector<Ticket> tickets;
        const bool sender = transport.topology().rank == 0;
        if (sender) std::iota(values.begin(), values.end(), 0);
        for (int& value : values) {
            tickets.push_back(sender ? *transport.send(1, 3, out(value))
                                     : *transport.receive(0, 3, in(value)));
        }
        for (Ticket ticket : tickets) ASSERT_TRUE(wait(transport, ticket).ok());
        for (int i = 0; i < kCount; ++i) EXPECT_EQ(values[i], i);
    });
}

TEST(SimTransport, pieces_arrive_in_pieces) {
    run_ranks({.ranks = 2, .seed = 6}, [](Transport& transport) {
        std::array<int, 6> values{1, 2, 3, 4, 5, 6};
        if (transport.topology().rank == 0) {
            const Pieces<const std::byte> from{out(values[5]), out(values[0]), out(values[3])};
            const Ticket ticket = *transport.send(1, 3, ListOf(from).list());
            ASSERT_TRUE(wait(transport, ticket).ok());
        } else {
            const Pieces<std::byte> into{in(values[1]), in(values[4]), in(values[0]),
                                         in(values[2])};
            const Ticket ticket = *transport.receive(0, 3, ListOf(into).list());
            EXPECT_EQ(wait(transport, ticket)->bytes, static_cast<Bytes>(3 * sizeof(int)));
            EXPECT_EQ(values, (std::array<int, 6>{4, 6, 3, 4, 1, 6})) << "the last piece is left";
        }
    });
}

TEST(SimTransport, a_tag_takes_only_its_own_messages) {
    run_ranks({.ranks = 2, .seed = 8}, [](Transport& transport) {
        int one = 1;
        int two = 2;
        if (transport.topology().rank == 0) {
            auto first = *transport.send(1, 1, out(one));
            auto second = *transport.send(1, 2, out(two));
            ASSERT_TRUE(wait(transport, first).ok());
            ASSERT_TRUE(wait(transport, second).ok());
        } else {
            int value = 0;
            ASSERT_TRUE(wait(transport, *transport.receive(0, 2, in(value))).ok());
            EXPECT_EQ(value, 2);
            ASSERT_TRUE(wait(transport, *transport.receive(0, 1, in(value))).ok());
            EXPECT_EQ(value, 1);
        }
    });
}

TEST(SimTransport, a_send_is_not_done_before_its_receive_is_posted) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        bool posted = false;  // needs no lock, because ranks run one at a time
        run_ranks({.ranks = 2, .seed = seed}, [&posted](Transport& transport) {
            int value = 5;
            if (transport.topology().rank == 0) {
                ASSERT_TRUE(wait(transport, *transport.send(1, 0, out(value))).ok());
                EXPECT_TRUE(posted);
            } else {
                for (int i = 0; i < 100; ++i) transport.idle();
                posted = true;
                ASSERT_TRUE(wait(transport, *transport.receive(0, 0, in(value))).ok());
            }
        });
    }
}

TEST(SimTransport, received_bytes_appear_at_completion_and_may_be_fewer) {
    run_ranks({.ranks = 2, .seed = 9, .late_percent = 90}, [](Transport& transport) {
        const int sent = 77;
        if (transport.topology().rank == 0) {
            ASSERT_TRUE(wait(transport, *transport.send(1, 0, out(sent))).ok());
            return;
        }
        std::array<int, 2> values{-1, -1};
        auto ticket = *transport.receive(0, 0, std::as_writable_bytes(std::span(values)));
        for (;;) {
            auto completion = *transport.test(ticket);
            if (completion.done) {
                EXPECT_EQ(completion.bytes, 4);
                break;
            }
            EXPECT_EQ(values[0], -1);
            transport.idle();
        }
        EXPECT_EQ(values[0], 77);
        EXPECT_EQ(values[1], -1);
    });
}

TEST(SimTransport, a_rank_can_send_to_itself) {
    run_ranks({.ranks = 1, .seed = 1}, [](Transport& transport) {
        const int sent = 3;
        int got = 0;
        auto send = *transport.send(0, 0, out(sent));
        ASSERT_TRUE(wait(transport, *transport.receive(0, 0, in(got))).ok());
        ASSERT_TRUE(wait(transport, send).ok());
        EXPECT_EQ(got, 3);
    });
}

TEST(SimTransport, collectives_give_every_rank_the_result) {
    for (int ranks = 1; ranks <= 6; ++ranks) {
        run_ranks({.ranks = ranks, .seed = 2}, [ranks](Transport& transport) {
            const auto me = static_cast<std::uint64_t>(transport.topology().rank);
            std::array<std::uint64_t, 2> sum{me, ~std::uint64_t{0}};
            ASSERT_TRUE(reduce(transport, sum, ReduceOp::sum).ok());
            EXPECT_EQ(sum[0], static_cast<std::uint64_t>(ranks * (ranks - 1) / 2));
            // Sums are modulo 2^64.
            EXPECT_EQ(sum[1], std::uint64_t{0} - static_cast<std::uint64_t>(ranks));
            std::array<std::uint64_t, 1> most{me};
            ASSERT_TRUE(reduce(transport, most, ReduceOp::max).ok());
            EXPECT_EQ(most[0], static_cast<std::uint64_t>(ranks - 1));
            std::array<std::uint64_t, 1> least{me + 5};
            ASSERT_TRUE(reduce(transport, least, ReduceOp::min).ok());
            EXPECT_EQ(least[0], 5U);
            std::vector<std::uint64_t> all(ranks);
            ASSERT_TRUE(gather(transport, out(me), std::as_writable_bytes(std::span(all))).ok());
            for (int r = 0; r < ranks; ++r) EXPECT_EQ(all[r], static_cast<std::uint64_t>(r));
            std::uint64_t told = me;
            ASSERT_TRUE(broadcast(transport, ranks - 1, in(told)).ok());
            EXPECT_EQ(told, static_cast<std::uint64_t>(ranks - 1));
        });
    }
}

TEST(SimTransport, several_collectives_may_be_under_way) {
    run_ranks({.ranks = 4, .seed = 3}, [](Transport& transport) {
        std::array<std::uint64_t, 1> a{1};
        std::array<std::uint64_t, 1> b{2};
        auto first = *transport.reduce(a, ReduceOp::sum);
        auto second = *transport.reduce(b, ReduceOp::sum);
        ASSERT_TRUE(wait(transport, second).ok());
        ASSERT_TRUE(wait(transport, first).ok());
        EXPECT_EQ(a[0], 4U);
        EXPECT_EQ(b[0], 8U);
    });
}

TEST(SimTransport, an_unmatched_receive_is_a_deadlock_that_names_the_waiting_rank) {
    const auto text =
        failure_of({.ranks = 3, .seed = 11, .idle_limit = 1000}, [](Transport& transport) {
            int value = 0;
            if (transport.topology().rank == 2) return;
            (void)wait(transport, *transport.receive(2, 40 + transport.topology().rank, in(value)));
        });
    EXPECT_NE(text.find("deadlock"), std::string::npos) << text;
    EXPECT_NE(text.find("seed 11"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 1: [receive of 4 bytes from 2 tag 41]"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 2 (ended): no operation"), std::string::npos) << text;
}

TEST(SimTransport, ranks_that_send_to_each_other_before_receiving_deadlock) {
    const auto text =
        failure_of({.ranks = 2, .seed = 1, .idle_limit = 1000}, [](Transport& transport) {
            int value = 0;
            const Rank other = 1 - transport.topology().rank;
            (void)wait(transport, *transport.send(other, 0, out(value)));
            (void)wait(transport, *transport.receive(other, 0, in(value)));
        });
    EXPECT_NE(text.find("deadlock"), std::string::npos) << text;
}

TEST(SimTransport, collectives_that_differ_between_ranks_are_reported) {
    const auto sizes = failure_of({.ranks = 2, .seed = 1}, [](Transport& transport) {
        std::vector<std::uint64_t> values(1 + transport.topology().rank);
        (void)reduce(transport, values, ReduceOp::sum);
    });
    EXPECT_NE(sizes.find("collectives differ"), std::string::npos) << sizes;
    const auto kinds = failure_of({.ranks = 2, .seed = 1}, [](Transport& transport) {
        std::array<std::uint64_t, 1> value{};
        if (transport.topology().rank == 0) (void)reduce(transport, value, ReduceOp::sum);
        if (transport.topology().rank == 1) (void)broadcast(transport, 0, in(value));
    });
    EXPECT_NE(kinds.find("collectives differ"), std::string::npos) << kinds;
    const auto operators = failure_of({.ranks = 2, .seed = 1}, [](Transport& transport) {
        std::array<std::uint64_t, 1> value{};
        (void)reduce(transport, value,
                     transport.topology().rank == 0 ? ReduceOp::min : ReduceOp::max);
    });
    EXPECT_NE(operators.find("collectives differ"), std::string::npos) << operators;
}

TEST(SimTransport, misuse_is_reported) {
    const auto truncated = failure_of({.ranks = 2, .seed = 1}, [](Transport& transport) {
        std::array<int, 2> values{};
        if (transport.topology().rank == 0) {
            (void)wait(transport, *transport.send(1, 0, out(values)));
        } else {
            (void)wait(transport, *transport.receive(0, 0, in(values[0])));
        }
    });
    EXPECT_NE(truncated.find("too long"), std::string::npos) << truncated;
    const auto unfinished = failure_of({.ranks = 2, .seed = 1}, [](Transport& transport) {
        int value = 0;
        if (transport.topology().rank == 0) (void)transport.send(1, 0, out(value));
    });
    EXPECT_NE(unfinished.find("never finished"), std::string::npos) << unfinished;
    const auto twice = failure_of({.ranks = 1, .seed = 1}, [](Transport& transport) {
        std::array<std::uint64_t, 1> value{};
        auto ticket = *transport.reduce(value, ReduceOp::sum);
        (void)wait(transport, ticket);
        (void)transport.test(ticket);
    });
    EXPECT_NE(twice.find("is finished or was never started"), std::string::npos) << twice;
}

TEST(SimTransport, an_exception_of_one_rank_ends_all) {
    const auto text = failure_of({.ranks = 3, .seed = 1}, [](Transport& transport) {
        if (transport.topology().rank == 1) throw std::runtime_error("out of ideas");
        std::array<std::uint64_t, 1> value{};
        (void)reduce(transport, value, ReduceOp::sum);
    });
    EXPECT_NE(text.find("rank 1 threw: out of ideas"), std::string::npos) << text;
}

TEST(SimTransport, a_destructor_that_waits_during_the_unwinding_ends) {
    struct Waits {
        Transport& transport;
        Ticket ticket;
        bool& unwound;
        ~Waits() {
            while (transport.test(ticket).ok()) transport.idle();
            unwound = true;
        }
    };
    bool unwound = false;
    const auto text =
        failure_of({.ranks = 1, .seed = 1, .idle_limit = 10}, [&](Transport& transport) {
            int value = 0;
            Waits waits{transport, *transport.receive(0, 0, in(value)), unwound};
            (void)wait(transport, waits.ticket);
        });
    EXPECT_NE(text.find("deadlock"), std::string::npos) << text;
    EXPECT_TRUE(unwound);
}

TEST(SimTransport, a_failed_assertion_of_a_rank_fails_the_test) {
    EXPECT_NONFATAL_FAILURE_ON_ALL_THREADS(
        run_ranks({.ranks = 2, .seed = 1},
                  [](Transport& transport) { EXPECT_EQ(transport.topology().rank, 0); }),
        "topology().rank");
}

TEST(SimTransport, the_chosen_send_fails_and_no_other) {
    run_ranks({.ranks = 2, .seed = 1, .fail_rank = 0, .fail_send = 2}, [](Transport& transport) {
        int value = 4;
        if (transport.topology().rank == 1) {
            ASSERT_TRUE(wait(transport, *transport.receive(0, 0, in(value))).ok());
            ASSERT_TRUE(wait(transport, *transport.receive(0, 0, in(value))).ok());
            return;
        }
        ASSERT_TRUE(wait(transport, *transport.send(1, 0, out(value))).ok());
        auto failed = transport.send(1, 0, out(value));
        ASSERT_FALSE(failed.ok());
        EXPECT_EQ(failed.error().rank, 0);
        ASSERT_TRUE(wait(transport, *transport.send(1, 0, out(value))).ok());
    });
}

TEST(SimTransport, counts_messages_bytes_and_collectives) {
    const auto report = run_ranks({.ranks = 4, .seed = 1}, [](Transport& transport) {
        all_to_all(transport);
        std::array<std::uint64_t, 1> value{};
        ASSERT_TRUE(reduce(transport, value, ReduceOp::sum).ok());
    });
    for (const auto& counters : report.counters) {
        EXPECT_EQ(counters.messages, 3U);
        EXPECT_EQ(counters.bytes, 12U);
        EXPECT_EQ(counters.collectives, 1U);
    }
}

TEST(SimTransport, places_ranks_on_nodes) {
    run_ranks({.ranks = 5, .seed = 1, .ranks_per_node = 2}, [](Transport& transport) {
        EXPECT_EQ(transport.topology().node_of, (std::vector<int>{0, 0, 1, 1, 2}));
        EXPECT_EQ(transport.topology().node_names.size(), 3U);
    });
    run_ranks({.ranks = 4, .seed = 1, .node_of = {0, 1, 0, 1}}, [](Transport& transport) {
        EXPECT_EQ(transport.topology().node_of, (std::vector<int>{0, 1, 0, 1}));
        EXPECT_EQ(transport.topology().size, 4);
    });
}

}  // namespace
}  // namespace oratorio::test::sim_transport_test
