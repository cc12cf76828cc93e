// SPDX-License-Identifier: BSD-3-Clause
// Every plan that can be made keeps the invariants of plans: whole plans and the parts of single
// ranks, of all methods, with random accesses, options and machines.
#include <gtest/gtest.h>

#include "plan/methods.hpp"
#include "plan_support.hpp"
#include "support/check_plan.hpp"
#include "support/random.hpp"

namespace oratorio::test::legal_plans_test {
namespace {

/// Returns the summaries of random accesses: dense or far apart, of all ranks or of some.
Summaries draw_summaries(Random& random, int ranks, Direction direction) {
    Summaries summaries(static_cast<std::size_t>(ranks));
    const Bytes gap = Bytes{1} << random.between(0, 22);
    const bool all = random.chance(50);
    const bool tiles = random.chance(30);
    Offset at = random.between(0, 1 << 20);
    for (AccessSummary& one : summaries) {
        auto flags = one.flags;
        if (random.chance(10)) flags |= flag_agrees;
        if (random.chance(5)) flags |= flag_no_store;
        one.flags = flags;
        if (!all && random.chance(30)) continue;
        Access access;
        access.direction = direction;
        const auto piece = static_cast<Bytes>(random.between(1, 1 << 12));
        const std::int64_t count = tiles ? 1 : random.between(1, 40);
        const Bytes distance = tiles ? piece : piece + random.between(0, gap);
        access.file = {Shape::run(piece), distance, at, Layout::unbounded};
        access.memory = {Shape::run(piece * count), piece * count, 0, 1};
        one = summarise(access, true);
        one.flags |= flags;
        at += tiles ? piece : random.between(0, 2 * distance);
    }
    return summaries;
}

FlatTerms draw_terms(Random& random, int ranks) {
    FlatTerms terms;
    const auto toggle = [&] { return static_cast<Toggle>(random.between(0, 2)); };
    terms.cb_read = toggle(), terms.cb_write = toggle();
    terms.ds_read = toggle(), terms.ds_write = toggle();
    terms.cb_buffer_size = Bytes{1} << random.between(10, 24);
    terms.cb_nodes = static_cast<int>(random.between(0, ranks));
    terms.slots = static_cast<int>(random.between(0, 10));
    terms.message_bytes = Bytes{1} << random.between(8, 20);
    terms.striping_unit = random.chance(50) ? 0 : 65536;
    terms.striping_factor = static_cast<int>(random.between(0, 6));
    terms.domains =
        static_cast<DomainsChoice>(random.between(0, static_cast<int>(DomainsChoice::count) - 1));
    terms.atomic = random.chance(20);
    terms.sparse = random.chance(40);
    terms.group = static_cast<int>(random.between(1, 5));
    terms.group_pieces = static_cast<int>(random.between(0, 3));
    terms.max_acc = static_cast<int>(random.between(0, 3));
    terms.direct_read = random.chance(20), terms.direct_write = random.chance(20);
    terms.local_aggregators_per_node = static_cast<int>(random.between(0, 3));
    terms.mappable = random.chance(50), terms.coherent = random.chance(50);
    terms.alone = random.chance(50), terms.local_file_system = random.chance(50);
    terms.asynchronous = random.chance(30);
    if (random.chance(60) && ranks > 2) terms.agents = few_agents();
    if (random.chance(20))
        terms.aggregators = ranks > 1 ? SharedList<Rank>{ranks - 1, 0} : SharedList<Rank>{0};
    return terms;
}

/// Makes the plans of one seed with one method, and expects all of them to be legal.
void expect_legal(const Method* method, std::uint64_t seed) {
    Random random(seed);
    const int nodes = static_cast<int>(random.between(1, 4));
    const int ranks = nodes * static_cast<int>(random.between(1, 6));
    const auto direction = random.chance(50) ? Direction::read : Direction::write;
    const Summaries summaries = draw_summaries(random, ranks, direction);
    FlatTerms terms = draw_terms(random, ranks);
    terms.method = method;
    const NodeSharing sharing{random.chance(70), random.chance(50), random.chance(70)};
    const auto agreed = terms_of(terms);
    const Nodes topology = nodes_of(ranks, nodes);
    for (Rank rank = 0; rank < ranks; ++rank) {
        const Plan whole = plan_of(summaries, terms, rank, direction, nodes, sharing);
        EXPECT_EQ(broken_invariant(whole), "") << explain(whole);
        const Plan part = make_plan_for(rank, direction, Agreed<AllSummaries>::vouch(summaries),
                                        Agreed<const Nodes&>::vouch(topology), *agreed,
                                        Agreed<NodeSharing>::vouch(sharing));
        EXPECT_EQ(broken_invariant(part), "") << explain(part);
        EXPECT_EQ(broken_invariant(part.moved(12345)), "") << explain(part);
        const Plan own = make_own_plan(direction, rank, summaries[static_cast<std::size_t>(rank)],
                                       PlanConfig{terms, terms});
        EXPECT_EQ(broken_invariant(own), "") << explain(own);
    }
}

TEST(PlanInvariants, HoldForAllPlansThatCanBeMade) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        expect_legal(nullptr, seed);
        for (const Method& method : methods()) expect_legal(&method, seed);
    }
}

/// Returns true if the plan has local aggregators. Expects that may_have_layers() foresaw them.
bool has_layers(int ranks, int nodes, const Method* asked, Direction direction) {
    constexpr Bytes kPiece = 64;
    FlatTerms terms;
    terms.method = asked;
    const NodeSharing none{.shared_memory = false, .cross_memory = false};
    const Summaries summaries = interleaved(ranks, kPiece, 4096, kPiece * ranks);
    const Plan plan = plan_of(summaries, terms, 0, direction, nodes, none);
    if (!plan.layers().two()) return false;
    EXPECT_TRUE(may_have_layers(terms, nodes_of(ranks, nodes))) << explain(plan);
    return true;
}

TEST(PlanInvariants, LocalAggregatorsAreForeseenBeforeThePlan) {
    for (const auto& [ranks, nodes] : {std::pair(512, 64), std::pair(4096, 1)}) {
        for (const char* const asked : {"auto", "mmap", "shared_buffer", "data_shipping"})
            EXPECT_TRUE(has_layers(ranks, nodes, find_method(asked), Direction::read)) << asked;
    }
    for (const Method& method : methods()) has_layers(8, 2, &method, Direction::write);
}

/// Expects that no method in which ranks wait less was about as cheap as the chosen one, and that
/// the chosen one is about as cheap as the cheapest. Returns true if it isn't the cheapest itself.
bool expect_least_waiting(const Plan& plan) {
    const double least = [&] {
        double seconds = plan.seconds();
        for (const Candidate& one : plan.candidates)
            if (one.applies && one.reason.empty()) seconds = std::min(seconds, one.seconds);
        return seconds;
    }();
    EXPECT_LE(plan.seconds(), 1.1 * least) << explain(plan);
    for (const Candidate& one : plan.candidates) {
        const bool tied = one.applies && one.reason.empty() && one.seconds <= 1.1 * least;
        if (tied) {
            EXPECT_GE(find_method(one.name)->waiting(), plan.method->waiting()) << explain(plan);
        }
    }
    EXPECT_EQ(explain(plan).find("requested by name"), std::string::npos) << explain(plan);
    return plan.seconds() > least;
}

TEST(ChoiceOfMethod, OfTiedEstimatesIsTheOneInWhichRanksWaitLess) {
    int ties = 0;
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        Random random(seed);
        const int nodes = static_cast<int>(random.between(1, 4));
        const int ranks = nodes * static_cast<int>(random.between(2, 6));
        const auto direction = random.chance(50) ? Direction::read : Direction::write;
        const Summaries summaries = draw_summaries(random, ranks, direction);
        FlatTerms terms = draw_terms(random, ranks);
        terms.cb_read = terms.cb_write = Toggle::automatic;
        const Plan plan = plan_of(summaries, terms, 0, direction, nodes);
        if (plan.bytes > 0) ties += expect_least_waiting(plan) ? 1 : 0;
    }
    EXPECT_GT(ties, 0);
}

/// Returns the plan of a collective write by the method `sparse`, in which the aggregators tell
/// the ranks the outcome.
Plan sparse_plan() {
    FlatTerms terms = all_allowed();
    terms.method = find_method("sparse");
    return plan_of(interleaved(8, 8, 1000), terms, 0, Direction::write, 2);
}

TEST(PlanInvariants, AreBrokenByIllegalCombinations) {
    EXPECT_EQ(broken_invariant(sparse_plan()), "");
    Plan dense = sparse_plan();
    std::get<TwoPhase>(dense.route).partners = Partners::by_hull;
    EXPECT_NE(broken_invariant(dense), "") << "no edges, but aggregators report the end";
    Plan atomic = sparse_plan();
    atomic.atomic = true;
    EXPECT_NE(broken_invariant(atomic), "");
    Plan loaded = sparse_plan();
    loaded.loads = Loads::by_any_rank;
    EXPECT_NE(broken_invariant(loaded), "");
    Plan alone = sparse_plan();
    alone.route = OwnCalls{};
    EXPECT_NE(broken_invariant(alone), "");
    Plan full = sparse_plan();
    full.slots = static_cast<int>(full.rounds) + 1;
    EXPECT_NE(broken_invariant(full), "");
}

}  // namespace
}  // namespace oratorio::test::legal_plans_test
