// SPDX-License-Identifier: BSD-3-Clause
// The choice by measured times, on made-up machines.
#include "plan/learning.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <ranges>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>

#include "plan/methods.hpp"
#include "plan_support.hpp"

namespace oratorio::test::learning_test {
namespace {

/// A machine on which arm i takes seconds[i], up to some noise. The first access with an arm takes
/// up to `first_time` times as long, because it pays for memory that later ones reuse.
struct Machine {
    std::vector<double> seconds;
    double noise = 0;
    double first_time = 1;
    std::mt19937_64 random = {};
    std::set<std::size_t> used = {};

    double time_of(std::size_t arm) {
        std::lognormal_distribution<double> factor(0, noise);
        const double time = seconds[arm] * factor(random);
        if (!used.insert(arm).second) return time;
        return time * std::uniform_real_distribution<double>(1, first_time)(random);
    }
};

/// Returns one arm per estimate, each of a different method. `waiting` holds the value of
/// ArmEstimate::waiting for each arm. An empty `waiting` means 0 for all arms.
std::vector<ArmEstimate> arms_with(std::span<const double> estimates,
                                   std::span<const int> waiting = {}) {
    std::vector<ArmEstimate> arms;
    for (std::size_t i = 0; i < estimates.size(); ++i)
        arms.push_back({{.method = &methods()[i]}, estimates[i], waiting.empty() ? 0 : waiting[i]});
    return arms;
}

/// Makes accesses of one kind, and returns the index of the arm of each.
std::vector<std::size_t> run_on(Machine& machine, std::span<const ArmEstimate> arms,
                                LearnedTimes& learned, int accesses) {
    std::vector<std::size_t> used;
    for (int i = 0; i < accesses; ++i) {
        const Trial trial = learned.trial({}, {arms.begin(), arms.end()});
        used.push_back(trial.picked);
        learned.record(trial, machine.time_of(trial.picked));
    }
    return used;
}

/// Returns the share of the time of all accesses that trying other arms has cost.
double cost_of_trying(const LearnedTimes& learned) {
    const KindTimes& kind = learned.kinds().front();
    return kind.spent.excess / kind.spent.total;
}

TEST(Learning, starts_with_the_choice_of_the_model) {
    LearnedTimes learned;
    const auto arms = arms_with(std::array{2.0, 1.0});
    EXPECT_EQ(learned.trial({}, arms).picked, 0U);
}

TEST(Learning, takes_a_faster_arm_that_the_model_could_not_tell_apart) {
    const auto arms = arms_with(std::array{1.0, 1.05});
    Machine machine{{1.0, 0.5}};
    LearnedTimes learned;
    const auto used = run_on(machine, arms, learned, 6);
    EXPECT_EQ(used, (std::vector<std::size_t>{0, 0, 1, 1, 1, 1}));
}

TEST(Learning, does_not_try_an_arm_that_is_much_slower_by_the_model) {
    const auto arms = arms_with(std::array{1.0, 4.0});
    Machine machine{{1.0, 0.1}};
    LearnedTimes learned;
    const auto used = run_on(machine, arms, learned, 100);
    EXPECT_EQ(std::ranges::count(used, 1U), 0);
}

TEST(Learning, of_equally_fast_arms_takes_the_one_in_which_ranks_wait_less) {
    const auto arms = arms_with(std::array{1.0, 1.01}, std::array{2, 0});
    Machine machine{{1.0, 1.03}};
    LearnedTimes learned;
    EXPECT_EQ(run_on(machine, arms, learned, 10).back(), 1U);
}

TEST(Learning, follows_a_change_of_the_storage_within_ten_accesses) {
    const auto arms = arms_with(std::array{1.0, 1.05});
    Machine machine{{1.0, 1.2}};
    LearnedTimes learned;
    EXPECT_EQ(run_on(machine, arms, learned, 40).back(), 0U);
    machine.seconds = {5.0, 1.2};
    EXPECT_EQ(run_on(machine, arms, learned, 10).back(), 1U);
}

TEST(Learning, an_arm_that_no_longer_applies_is_not_picked) {
    const auto arms = arms_with(std::array{1.0, 1.05});
    Machine machine{{1.0, 0.5}};
    LearnedTimes learned;
    run_on(machine, arms, learned, 6);
    EXPECT_EQ(learned.trial({}, {arms.front()}).picked, 0U);
}

TEST(Learning, keeps_a_bounded_number_of_kinds_those_used_last) {
    LearnedTimes learned;
    const auto arms = arms_with(std::array{1.0, 1.05});
    for (int ranks = 0; ranks < 100; ++ranks) {
        AccessKind kind;
        kind.ranks = ranks;
        learned.record(learned.trial(kind, arms), 1);
    }
    EXPECT_EQ(learned.kinds().size(), LearnedTimes::kKindsMost);
    EXPECT_EQ(learned.kinds().front().kind.ranks, 99);
}

TEST(Learning, direct_writes_never_try_a_method_that_reports_errors_later) {
    FlatTerms options = all_allowed();
    LearnedTimes learned;
    options.learned = &learned;
    for (const bool direct : {false, true}) {
        options.direct_write = direct;
        const Summaries summaries = interleaved(4, 500, 4000);
        const Nodes topology = nodes_of(4, 1);
        const auto trial =
            make_plan_for(0, Direction::write, Agreed<AllSummaries>::vouch(summaries),
                          Agreed<const Nodes&>::vouch(topology), *terms_of(options),
                          Agreed<NodeSharing>::vouch({}))
                .trial;
        const bool has_pieces =
            trial != nullptr && std::ranges::any_of(trial->arms, [](const auto& one) {
                return one.arm.method == find_method("list_io");
            });
        EXPECT_EQ(has_pieces, !direct);
    }
}

/// Returns true if learning may try two layers through windows in a write of 16 ranks. The pieces
/// of `dense` ranks take turns in a part of the file that no other rank writes.
bool tries_windows(int nodes, bool shares_memory, int dense = 4) {
    FlatTerms options;
    LearnedTimes learned;
    options.learned = &learned;
    const Nodes topology = nodes_of(16, nodes);
    Summaries summaries;
    for (int first = 0; first < topology.size; first += dense) {
        for (const AccessSummary& one : interleaved(dense, 500, 4000, 0, first * Bytes{500 * 4000}))
            summaries.push_back(one);
    }
    const NodeSharing sharing{.shared_memory = shares_memory, .cross_memory = false};
    const auto trial = make_plan_for(0, Direction::write, Agreed<AllSummaries>::vouch(summaries),
                                     Agreed<const Nodes&>::vouch(topology), *terms_of(options),
                                     Agreed<NodeSharing>::vouch(sharing))
                           .trial;
    const Method* const layered = find_method("two_layer_shared");
    const auto found =
        std::ranges::find(trial->arms, layered, [](const auto& one) { return one.arm.method; });
    const bool tries = found != trial->arms.end();
    EXPECT_NE(found, trial->arms.begin()) << "the model alone chooses it";
    EXPECT_TRUE(!tries || may_have_layers(PlanOptions{}, topology));
    return tries;
}

TEST(Learning, tries_two_layers_where_several_ranks_of_a_node_share_memory) {
    EXPECT_TRUE(tries_windows(4, true));
    EXPECT_FALSE(tries_windows(4, false));
    EXPECT_FALSE(tries_windows(4, true, 16));  // little of a window would have data of its node
    EXPECT_FALSE(tries_windows(16, true));
}

/// Returns references to all options but `method` (no access with a method's name is measured).
/// Doesn't compile until a new option is added here.
auto members(PlanOptions& options) {
    auto& [method, cb_buffer_size, buffer_per_slot, cb_nodes, cb_config_list, aggregators, cb_read,
           cb_write, ds_read, ds_write, ind_rd_buffer_size, ind_wr_buffer_size, striping_unit,
           cyclic_block, domains, striping_factor, slots, message_bytes, messages_in_flight,
           local_aggregators, local_aggregators_per_node, atomic, sub_buffer, group, group_pieces,
           max_acc, direct_read, direct_write, agent_count, agent_threads, ship_block, sparse] =
        options;
    return std::tie(cb_buffer_size, buffer_per_slot, cb_nodes, cb_config_list, aggregators, cb_read,
                    cb_write, ds_read, ds_write, ind_rd_buffer_size, ind_wr_buffer_size,
                    striping_unit, cyclic_block, domains, striping_factor, slots, message_bytes,
                    messages_in_flight, local_aggregators, local_aggregators_per_node, atomic,
                    sub_buffer, group, group_pieces, max_acc, direct_read, direct_write,
                    agent_count, agent_threads, ship_block, sparse);
}

template <class Value>
Value other_than(const Value& value) {
    if constexpr (std::is_same_v<Value, std::string>) {
        return value + "*:2";
    } else if constexpr (std::is_same_v<Value, SharedList<Rank>>) {
        return {1};
    } else {
        return static_cast<Value>(static_cast<Bytes>(value) == 0 ? 1 : 0);
    }
}

/// Returns the kinds of a read and of a write with these options.
std::array<AccessKind, 2> kinds_with(const PlanOptions& options) {
    const PlanFacts facts;
    PlanInputs inputs;
    inputs.options = &options;
    inputs.facts = &facts;
    std::array<AccessKind, 2> kinds;
    for (const Direction direction : {Direction::read, Direction::write}) {
        inputs.direction = direction;
        kinds[static_cast<std::size_t>(direction)] = kind_of(inputs);
    }
    return kinds;
}

TEST(Learning, accesses_that_differ_in_any_option_are_of_different_kinds) {
    const auto usual = kinds_with({});
    EXPECT_TRUE(kinds_with({}) == usual);
    PlanOptions options;
    int number = 1;  // the method is member 0
    const auto change = [&](auto& member) {
        const auto before = std::exchange(member, other_than(member));
        EXPECT_FALSE(kinds_with(options) == usual) << "member " << number << " of PlanOptions";
        member = before;
        ++number;
    };
    std::apply([&](auto&... member) { (change(member), ...); }, members(options));
}

/// A made-up machine and a kind of access there.
struct Setting {
    explicit Setting(int seed) : random(static_cast<std::uint64_t>(seed)) {
        const int nodes = one_of({1, 1, 4, 16, 256});
        const int ranks = nodes * one_of({2, 4, 8});
        summaries = interleaved(ranks, one_of({64, 512, 4096, 65536}), one_of({16, 256, 1024}),
                                one_of({0, 0, 100, 5000}));
        topology = nodes_of(ranks, nodes);
        direction = one_of({0, 1}) == 0 ? Direction::read : Direction::write;
        if (nodes == 1) options = all_allowed();
        options.local_file_system = nodes == 1;
    }

    int one_of(std::initializer_list<int> values) {
        std::uniform_int_distribution<std::size_t> index(0, values.size() - 1);
        return values.begin()[index(random)];
    }
    /// Returns the arms with the estimates of these constants, and the pick of `learned`.
    [[nodiscard]] std::shared_ptr<const Trial> trial(FlatTerms constants,
                                                     const LearnedTimes& learned) const {
        constants.learned = &learned;
        return make_plan_for(0, direction, Agreed<AllSummaries>::vouch(summaries),
                             Agreed<const Nodes&>::vouch(topology), *terms_of(constants),
                             Agreed<NodeSharing>::vouch({}))
            .trial;
    }

    std::mt19937_64 random = {};
    std::normal_distribution<double> normal = {};
    Summaries summaries;
    Nodes topology;
    Direction direction = Direction::read;
    FlatTerms options;
};

/// Returns the constants of a machine: each of the model's, multiplied by a factor from `draw`.
template <class Draw>
FlatTerms with_constants_off(FlatTerms options, const Draw& draw) {
#define COST(name, memory, disk, server, doc) options.costs.name *= draw();
#include "plan/costs.def"
#undef COST
    return options;
}

/// On how many machines learning does well, of `machines`. An arm counts as good if it takes at
/// most 5 % longer than the best of all arms.
struct Score {
    int machines = 0;
    int good_at_first = 0;
    int good_after_ten = 0;
    int good_after_hundred = 0;
    int cheap = 0;  ///< trying other arms has cost at most 5 % of the time of 100 accesses
};

/// Plays accesses on a made-up machine, and adds how well that went to `score`. Does nothing if the
/// accesses are too short to be measured.
void play(const Setting& setting, const FlatTerms& truth, double first_time, Score& score) {
    const auto estimated = setting.trial(setting.options, {});
    const auto real = setting.trial(truth, {});
    if (estimated == nullptr || real == nullptr || estimated->arms.size() < 2) return;
    // The best arm of all is one of the arms that the true constants yield. Arms that aren't among
    // them are no faster than any of them.
    Machine machine{
        .seconds = {}, .noise = 0.02, .first_time = first_time, .random = setting.random};
    const auto seconds = [](const ArmEstimate& one) { return one.seconds; };
    const double best = std::ranges::min(real->arms | std::views::transform(seconds));
    const double others = std::ranges::max(real->arms | std::views::transform(seconds));
    for (const ArmEstimate& one : estimated->arms) {
        const auto same = std::ranges::find(real->arms, one.arm, &ArmEstimate::arm);
        machine.seconds.push_back(same != real->arms.end() ? same->seconds : others);
    }
    const auto is_good = [&](std::size_t arm) { return machine.seconds[arm] <= best / 0.95; };
    ++score.machines;
    LearnedTimes learned;
    const auto& arms = estimated->arms;
    score.good_at_first += is_good(0) ? 1 : 0;
    score.good_after_ten += is_good(run_on(machine, arms, learned, 11).back()) ? 1 : 0;
    score.good_after_hundred += is_good(run_on(machine, arms, learned, 89).back()) ? 1 : 0;
    score.cheap += cost_of_trying(learned) <= 0.05 ? 1 : 0;
}

/// Plays on 1000 machines. `off` draws the factor by which a constant of a machine differs from the
/// model's.
template <class Off>
Score play_on_machines(const Off& off, double first_time = 1) {
    constexpr int kMachines = 1000;
    Score score;
    for (int seed = 0; seed < kMachines; ++seed) {
        Setting setting(seed);
        const auto draw = [&] { return off(setting); };
        play(setting, with_constants_off(setting.options, draw), first_time, score);
    }
    testing::Test::RecordProperty("machines", score.machines);
    testing::Test::RecordProperty("good_at_first", score.good_at_first);
    testing::Test::RecordProperty("good_after_ten", score.good_after_ten);
    testing::Test::RecordProperty("good_after_hundred", score.good_after_hundred);
    testing::Test::RecordProperty("cheap", score.cheap);
    return score;
}

/// Draws a factor; two thirds of them are below two, up or down.
double off_by_two(Setting& setting) {
    return std::exp2(setting.normal(setting.random));
}

TEST(Learning, finds_the_best_arm_on_nearly_all_machines_within_ten_accesses_at_little_cost) {
    const Score score = play_on_machines(off_by_two);
    EXPECT_GE(score.good_after_ten, score.machines * 95 / 100);
    EXPECT_GE(score.cheap, score.machines * 95 / 100);
}

TEST(Learning, finds_the_best_arm_though_the_first_time_of_an_arm_is_longer) {
    const Score score = play_on_machines(off_by_two, 1.5);
    EXPECT_GE(score.good_after_ten, score.machines * 95 / 100);
}

TEST(Learning, finds_the_best_arm_on_most_machines_with_all_constants_off_by_ten) {
    const Score score = play_on_machines([](Setting& setting) {
        return setting.one_of({0, 1}) == 0 ? 0.1 : 10.0;
    });
    EXPECT_GE(score.good_after_ten, score.machines * 85 / 100);
    EXPECT_GE(score.good_after_hundred, score.machines * 90 / 100);
}

}  // namespace
}  // namespace oratorio::test::learning_test
