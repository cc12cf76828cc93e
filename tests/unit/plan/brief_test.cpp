// SPDX-License-Identifier: BSD-3-Clause
// The short explanation of a plan: its length, its alternatives and its advice.
#include "plan/brief.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/methods.hpp"
#include "unit/plan/plan_support.hpp"

namespace oratorio::test::brief_test {
namespace {

FlatTerms by_name(std::string_view method) {
    FlatTerms options = all_allowed();
    options.method = find_method(method);
    return options;
}

TEST(Brief, EveryMethodTakesFewLines) {
    for (const int nodes : {1, 4}) {
        for (const Method& method : methods()) {
            const Plan plan = plan_of(interleaved(8, 64, 1 << 12), by_name(method.name), 0,
                                      Direction::write, nodes);
            const std::string text = explain_briefly(plan);
            EXPECT_LE(std::ranges::count(text, '\n'), 9) << text;
            EXPECT_TRUE(text.starts_with("  method       " + std::string(plan.method->name) + ": "))
                << text;
        }
    }
}

TEST(Brief, TheAlternativesAreTheCheapestOthers) {
    const Plan plan = plan_of(interleaved(8, 64, 1 << 12), all_allowed());
    const std::vector<Candidate> found = alternatives(plan);
    ASSERT_EQ(found.size(), kAlternatives);
    for (const Candidate& one : found) {
        EXPECT_TRUE(one.applies);
        EXPECT_NE(one.name, plan.method->name);
    }
    for (const Candidate& one : plan.candidates) {
        const auto alike = [&](double seconds) {
            return std::abs(one.seconds - seconds) <= 0.01 * one.seconds;
        };
        const bool shown =
            alike(plan.seconds()) || std::ranges::any_of(found, alike, &Candidate::seconds);
        EXPECT_TRUE(!one.applies || shown || one.seconds > found.back().seconds) << one.name;
    }
}

TEST(Brief, ALineHasThePiecesAndTheBuffers) {
    const std::string text = explain_briefly(plan_of(interleaved(8, 8, 1 << 20), all_allowed()));
    EXPECT_NE(
        text.find("\n  data         8388608 contiguous pieces of 8 bytes on average, no holes\n"),
        std::string::npos)
        << text;
    EXPECT_NE(text.find("\n  how          8 aggregators (ranks 0 1 2 3 4 5 6 7) with 1 buffer of "
                        "512 KiB each, 16 rounds\n"),
              std::string::npos)
        << text;
}

bool advises(const Plan& plan, const std::string& text) {
    return advice_on(plan).starts_with(text);
}

TEST(Brief, AdviceIsAboutWhatThePlanShows) {
    const Summaries fine = interleaved(8, 64, 1 << 12);
    EXPECT_TRUE(advises(plan_of(fine, by_name("list_io")), "without the hint oratorio_method: "));
    FlatTerms hinted = all_allowed();
    hinted.cb_write = Toggle::disable;
    EXPECT_TRUE(advises(plan_of(fine, hinted), "without the hint romio_cb_*=disable: "));
    EXPECT_TRUE(advises(plan_of(interleaved(8, 64, 1 << 12, 64), all_allowed()),
                        "ranges of the file that the ranks write without holes"));
    EXPECT_TRUE(advises(plan_of(interleaved(8, 64, 1), all_allowed()), "more data in each call: "));
    const Plan own = make_own_plan(Direction::write, 0, interleaved(4, 8, 1 << 16)[0],
                                   **terms_of(all_allowed()));
    EXPECT_TRUE(advises(own, "one collective call of all ranks (MPI_File_write_all, "));
    EXPECT_TRUE(
        advises(plan_of(fine, all_allowed(), 0, Direction::write, 1, {.shared_memory = false}),
                "shared memory: one /dev/shm for all ranks of the node"));
    EXPECT_TRUE(advises(plan_of(interleaved(8, 4 << 20, 4), all_allowed()), "nothing that "));
}

}  // namespace
}  // namespace oratorio::test::brief_test
