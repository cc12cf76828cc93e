// SPDX-License-Identifier: BSD-3-Clause
// Compares the text of `explain` in named situations with explain.golden, which shows the effect of
// any change to the planner. ORATORIO_UPDATE=1 rewrites the file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "plan/brief.hpp"
#include "plan/methods.hpp"
#include "unit/plan/plan_support.hpp"

namespace oratorio::test::explain_test {
namespace {

const std::string kGolden = std::string(ORATORIO_TESTS) + "/unit/plan/explain.golden";

using Change = std::function<void(FlatTerms&)>;

/// A situation and its place in the golden file.
struct Named {
    std::string name;
    Summaries summaries;
    Direction direction;
    int nodes;           ///< 0: an independent access
    Change change = {};  ///< changes the options

    [[nodiscard]] Plan plan() const {
        FlatTerms options = all_allowed();
        if (nodes > 0) options.coherent = options.local_file_system = nodes == 1;
        if (change) change(options);
        if (nodes > 0) return plan_of(summaries, options, 0, direction, nodes);
        const auto rank = static_cast<Rank>(std::ssize(summaries) - 1);
        return make_own_plan(direction, rank, summaries.back(), **terms_of(options));
    }
};

Change by_name(const char* method) {
    return [method](FlatTerms& options) { options.method = find_method(method); };
}

constexpr auto kWrite = Direction::write;
constexpr auto kRead = Direction::read;

std::vector<Named> left_to_auto() {
    const auto direct = [](FlatTerms& options) { options.direct_write = true; };
    const Summaries fine = interleaved(8, 8, 1 << 20);
    const Summaries coarse = interleaved(8, 4 << 20, 4);
    const Summaries own{interleaved(4, 8, 1 << 16)[0]};
    return {
        {"fine, 8 ranks of a node, write", fine, kWrite, 1},
        {"fine, 8 ranks of a node, read", fine, kRead, 1},
        {"fine with gaps, 8 ranks of a node, write", interleaved(8, 8, 1 << 20, 64), kWrite, 1},
        {"sparse, 4 ranks of a node, read", interleaved(4, 8, 1 << 12, 1 << 16), kRead, 1},
        {"coarse, 8 ranks of a node, write", coarse, kWrite, 1},
        {"pieces of 4 KiB past the page cache, 8 ranks of a node, write",
         interleaved(8, 4 << 10, 1 << 10), kWrite, 1, direct},
        {"fine, 16 ranks on 4 nodes, write", interleaved(16, 8, 1 << 18), kWrite, 4},
        {"fine, 16 ranks on 4 nodes, read", interleaved(16, 8, 1 << 18), kRead, 4},
        {"coarse, 16 ranks on 4 nodes, write", interleaved(16, 4 << 20, 4), kWrite, 4},
        {"pieces of 1 KiB, 16384 ranks on 256 nodes, write", interleaved(16384, 1024, 64), kWrite,
         256},
        {"independent, fine, read", own, kRead, 0},
        {"independent, fine, write", own, kWrite, 0},
    };
}

std::vector<Named> by_name_or_hint() {
    const auto sparse = [](FlatTerms& options) { options.sparse = true; };
    const auto shipped = [](FlatTerms& options) {
        options.method = find_method("data_shipping");
        options.agents = few_agents(256 << 10);
    };
    const Summaries of_4 = interleaved(4, 64, 1 << 16);
    const Summaries of_8 = interleaved(8, 64, 1 << 16);
    const Summaries of_16 = interleaved(16, 64, 1 << 16);
    const Summaries alike(16, interleaved(1, 64, 1 << 16)[0]);
    return {
        {"multithreaded by name, 8 ranks on 2 nodes, write", of_8, kWrite, 2,
         by_name("multithreaded")},
        {"shared_buffer_list by name, 4 ranks of a node, write", of_4, kWrite, 1,
         by_name("shared_buffer_list")},
        {"thin data by hint, 8 ranks on 2 nodes, write", interleaved(8, 64, 1 << 16, 1 << 10),
         kWrite, 2, sparse},
        {"cb_gather by name, 8 ranks on 2 nodes, write", of_8, kWrite, 2, by_name("cb_gather")},
        {"two_layer by name, 16 ranks on 2 nodes, write", of_16, kWrite, 2, by_name("two_layer")},
        {"two_layer_shared by name, 16 ranks on 2 nodes, all the same, read", alike, kRead, 2,
         by_name("two_layer_shared")},
        {"data_shipping by name, independent, read", {of_4[0], of_4[1]}, kRead, 0, shipped},
        {"data_shipping by name, 4 ranks on 2 nodes, read", of_4, kRead, 2, shipped},
        {"datatype_io by name, without agents, 4 ranks of a node, write", of_4, kWrite, 1,
         by_name("datatype_io")},
        {"shared_data by name, 4 ranks of a node, write", of_4, kWrite, 1, by_name("shared_data")},
    };
}

TEST(Explain, EqualsTheGoldenFile) {
    std::string told;
    for (const auto& situations : {left_to_auto(), by_name_or_hint()}) {
        for (const Named& inputs : situations)
            told += "## " + inputs.name + "\n" + explain_briefly(inputs.plan()) + "\n" +
                    explain(inputs.plan()) + "\n";
    }
    if (std::getenv("ORATORIO_UPDATE") != nullptr) std::ofstream(kGolden) << told;
    std::stringstream golden;
    golden << std::ifstream(kGolden).rdbuf();
    EXPECT_EQ(told, golden.str()) << "if the change is intended: ORATORIO_UPDATE=1 "
                                  << testing::internal::GetArgvs()[0];
}

/// 16 384 ranks on 256 nodes have 64 pieces of 1 KiB each, which lie in turn in the file.
TEST(Explain, ManyRanksOnManyNodes) {
    constexpr int kRanks = 16384;
    constexpr int kNodes = 256;
    FlatTerms options = all_allowed();
    options.coherent = options.local_file_system = false;
    options.method = find_method("two_phase");
    const Plan plan = plan_of(interleaved(kRanks, 1024, 64), options, 0, Direction::write, kNodes);
    EXPECT_EQ(plan.method->name, "two_phase");
    ASSERT_EQ(plan.aggregators.size(), 2U * kNodes) << "two on each node";
    for (int node = 0; node < kNodes; ++node) {
        const int ranks = kRanks / kNodes;
        const auto of_node = std::ranges::count_if(plan.aggregators,
                                                   [&](Rank rank) { return rank / ranks == node; });
        EXPECT_EQ(of_node, 2) << "node " << node;
    }
    EXPECT_EQ(plan.bytes, Bytes{kRanks} * 1024 * 64);
    EXPECT_EQ(plan.domains.block(), plan.bytes / (2 * kNodes)) << "length of a file domain";
    EXPECT_EQ(plan.slots, 1);
    EXPECT_EQ(plan.rounds, 1) << "2 MiB each, less than a collective buffer";
    // Each byte of the file belongs to exactly one aggregator.
    Bytes owned = 0;
    for (int index = 0; index < 2 * kNodes; ++index) owned += plan.region(index, 0).bytes();
    EXPECT_EQ(owned, plan.bytes);
    // A rank exchanges only with aggregators whose domain its hull touches.
    const Bytes block = plan.domains.block();
    for (const Rank rank : {0, 8191, kRanks - 1}) {
        const Extent mine = plan.graph.hull_of(rank);
        for (int index = 0; index < 2 * kNodes; ++index) {
            const bool meets = mine.begin < (index + 1) * block && mine.end > index * block;
            EXPECT_EQ(plan.region(index, 0).touches(mine), meets) << rank << ' ' << index;
        }
    }
}

/// In the largest run of Kang et al. (2019), an aggregator exchanges with 256 local aggregators
/// instead of 16 384 ranks.
TEST(Explain, TwoLayersOfManyRanksOnManyNodes) {
    constexpr int kRanks = 16384;
    constexpr int kNodes = 256;
    FlatTerms options = all_allowed();
    options.coherent = options.local_file_system = false;
    const auto summaries = interleaved(kRanks, 1024, 64);
    const auto heard = [&](const char* method) {
        options.method = find_method(method);
        const Plan plan = plan_of(summaries, options, 0, Direction::write, kNodes);
        EXPECT_EQ(plan.method->name, method);
        return plan.count_participants(100, 0);
    };
    EXPECT_EQ(heard("two_phase"), kRanks);
    EXPECT_EQ(heard("two_layer"), kNodes);
    options.local_aggregators_per_node = 4;
    EXPECT_EQ(heard("two_layer"), 4 * kNodes);
    const Plan plan = plan_of(summaries, options, 0, Direction::write, kNodes);
    EXPECT_EQ(plan.graph.size(), 4U * kNodes) << "so a region costs no step for each rank";
    EXPECT_EQ(plan.ranks.size(), static_cast<std::size_t>(kRanks));
}

}  // namespace
}  // namespace oratorio::test::explain_test
