// SPDX-License-Identifier: BSD-3-Clause
#include "comm/agreed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "support/sim_transport.hpp"

namespace oratorio::test::agreed_test {
namespace {

using test::run_ranks;
using test::SimOptions;

Error some_error(ErrorKind kind, Rank rank) {
    return Error::make(kind, "rank " + std::to_string(rank) + " says").at(100 * rank, 7);
}

TEST(AgreeOnError, success_everywhere_costs_one_reduction_and_no_message) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
        auto report = run_ranks({.ranks = ranks, .seed = 1}, [](Transport& transport) {
            EXPECT_TRUE(agree_on_error(transport, Error{}).ok());
        });
        for (const auto& counters : report.counters) {
            EXPECT_EQ(counters.collectives, 1U);
            EXPECT_EQ(counters.messages, 0U);
        }
    }
}

TEST(AgreeOnError, the_error_of_one_rank_reaches_all_byte_for_byte) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
        for (Rank owner = 0; owner < ranks; ++owner) {
            run_ranks({.ranks = ranks, .seed = 10U + owner}, [owner](Transport& transport) {
                const Rank me = transport.topology().rank;
                auto all = agree_on_error(
                    transport, me == owner ? some_error(ErrorKind::no_space, owner) : Error{});
                ASSERT_FALSE(all.ok());
                EXPECT_EQ(all.error().kind, ErrorKind::no_space);
                EXPECT_EQ(all.error().rank, owner);
                EXPECT_EQ(all.error().offset, 100 * owner);
                EXPECT_EQ(all.error().length, 7);
                EXPECT_EQ(all.error().what, "rank " + std::to_string(owner) + " says");
            });
        }
    }
}

TEST(AgreeOnError, the_worst_kind_wins_and_the_lowest_rank_among_equals_in_all_orders) {
    std::array kinds{ErrorKind::none, ErrorKind::access, ErrorKind::io, ErrorKind::io};
    do {
        const auto worst = std::ranges::max_element(kinds);
        const auto owner = static_cast<Rank>(worst - kinds.begin());
        run_ranks({.ranks = 4, .seed = 3}, [&](Transport& transport) {
            const Rank me = transport.topology().rank;
            auto all = agree_on_error(
                transport, kinds[me] == ErrorKind::none ? Error{} : some_error(kinds[me], me));
            ASSERT_FALSE(all.ok());
            EXPECT_EQ(all.error().kind, ErrorKind::io);
            EXPECT_EQ(all.error().rank, owner);
            EXPECT_EQ(all.error().offset, 100 * owner);
        });
    } while (std::ranges::next_permutation(kinds).found);
}

TEST(AgreeOnError, an_error_that_already_names_its_rank_keeps_it) {
    run_ranks({.ranks = 3, .seed = 4}, [](Transport& transport) {
        auto all = agree_on_error(transport, transport.topology().rank == 1
                                                 ? some_error(ErrorKind::io, 2).on(2)
                                                 : Error{});
        ASSERT_FALSE(all.ok());
        EXPECT_EQ(all.error().rank, 2);
    });
}

/// The remarks in ascending order are: none, more, an error, a veto. All ranks get the highest one
/// that any rank passed.
TEST(Agreement, that_there_is_more_counts_below_an_error_and_that_below_a_veto) {
    constexpr std::array kRemarks{Remark::none, Remark::more, Remark::none, Remark::veto};
    for (int first = 0; first < 4; ++first) {
        for (int second = 0; second < 4; ++second) {
            const auto report = run_ranks({.ranks = 3, .seed = 7}, [&](Transport& transport) {
                const std::array brought{first, second, 0};
                const int mine = brought[static_cast<std::size_t>(transport.topology().rank)];
                Agreement agreement(mine == 2 ? some_error(ErrorKind::io, 0) : Error{},
                                    kRemarks[static_cast<std::size_t>(mine)]);
                for (;;) {
                    const auto over = agreement.step(transport);
                    ASSERT_TRUE(over.ok());
                    if (*over == Step::done) break;
                    transport.idle();
                }
                const int counts = std::max(first, second);
                EXPECT_EQ(agreement.vetoed(), counts == 3);
                EXPECT_EQ(agreement.goes_on(), counts == 1);
                if (counts < 3) {
                    EXPECT_EQ(agreement.error().kind,
                              counts == 2 ? ErrorKind::io : ErrorKind::none);
                }
            });
            const bool told = std::max(first, second) == 2;
            for (const auto& counters : report.counters)
                EXPECT_EQ(counters.collectives, told ? 2U : 1U);
        }
    }
}

TEST(AgreeOnRoot, every_rank_gets_the_roots_value) {
    for (Rank root = 0; root < 5; ++root) {
        run_ranks({.ranks = 5, .seed = 5}, [root](Transport& transport) {
            auto agreed = agree_on_root(transport, 1000 + transport.topology().rank, root);
            ASSERT_TRUE(agreed.ok());
            EXPECT_EQ(**agreed, 1000 + root);
        });
    }
}

TEST(AgreeOnEqual, one_rank_with_another_value_is_an_error_of_all) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
        for (Rank other = -1; other < ranks; ++other) {
            run_ranks({.ranks = ranks, .seed = 5}, [=](Transport& transport) {
                const bool differs = transport.topology().rank == other;
                const auto agreed =
                    agree_on_equal(transport, differs ? UINT64_MAX : 7, "it differs");
                if (other < 0 || ranks == 1) {
                    ASSERT_TRUE(agreed.ok());
                    EXPECT_EQ(**agreed, differs ? UINT64_MAX : 7);
                } else {
                    ASSERT_FALSE(agreed.ok());
                    EXPECT_EQ(agreed.error().kind, ErrorKind::not_same);
                    EXPECT_STREQ(agreed.error().what, "it differs");
                }
            });
        }
    }
}

}  // namespace
}  // namespace oratorio::test::agreed_test
