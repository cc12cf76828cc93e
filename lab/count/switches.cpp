// SPDX-License-Identifier: BSD-3-Clause
// The traffic between network switches, with aggregators placed by the switches of the nodes and
// without.
#include <algorithm>

#include "count/facts.hpp"
#include "count/layouts.hpp"
#include "count/messages.hpp"

namespace oratorio::count {

namespace {

constexpr int kRanksOnNode = 64;
constexpr Bytes kBlockOfRank = 1 << 20;  // bytes of a rank in the blocks

/// Returns the switch of each node of a job, whose nodes are any of a machine with `of_switch`
/// nodes on each switch. They are in the machine's order, unless `shuffled`. Switches are not
/// renumbered.
std::vector<int> taken_from(int nodes, int switches, int of_switch, bool shuffled) {
    std::vector<int> all;
    for (int node = 0; node < switches * of_switch; ++node) all.push_back(node / of_switch);
    std::uint64_t state = 2019;
    const auto below = [&](std::size_t count) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::size_t>((state >> 33) % count);
    };
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[below(i)]);
    all.resize(static_cast<std::size_t>(nodes));
    if (!shuffled) std::ranges::sort(all);
    return all;
}

/// Numbers the switches by first appearance, as Nodes does.
std::vector<int> renumbered(std::vector<int> switch_of) {
    std::vector<int> seen;
    for (int& one : switch_of) {
        const auto found = std::ranges::find(seen, one);
        const auto number = static_cast<int>(found - seen.begin());
        if (found == seen.end()) seen.push_back(one);
        one = number;
    }
    return switch_of;
}

struct Network {
    const char* what;
    int switches;
    int of_switch;  ///< nodes
    bool shuffled;
};
// A fat tree with 32 nodes on each leaf switch, and a dragonfly with 96 on each group, of which a
// job has about every fourth or third node.
constexpr Network kNetworks[] = {{"fat tree, 32 leaves", 32, 32, false},
                                 {"the same, nodes in any order", 32, 32, true},
                                 {"dragonfly, 8 groups", 8, 96, false},
                                 {"the same, nodes in any order", 8, 96, true}};

void count_on(Facts& facts, const Network& network, const std::string& data, Job job) {
    const int nodes = job.nodes.nodes();
    const Plan blind = plan_of(job, "two_phase");
    job.nodes.switch_of =
        renumbered(taken_from(nodes, network.switches, network.of_switch, network.shuffled));
    const Bytes before = count_sent(job, blind).bytes_between_switches;
    const Bytes now = count_sent(job, plan_of(job, "two_phase")).bytes_between_switches;
    const std::string what = std::string(network.what) + ", " + data;
    facts.push_back({what + ": bytes between switches, unknown", before});
    facts.push_back({"  known", now, Relation::at_most, before, "unknown"});
}

}  // namespace

/// Counts for ranks with a block each, and for a lattice in 4-D blocks, with an aggregator for
/// every fourth node.
Facts count_switches(int only) {
    Facts facts;
    const int ranks = only > 0 ? only : 16384;
    constexpr Lattice kLattice;
    Job job;
    job.nodes = nodes_of(ranks, ranks / kRanksOnNode);
    job.thorough = false;
    job.options.cb_nodes = std::max(1, ranks / kRanksOnNode / 4);
    for (const Network& network : kNetworks) {
        job.layout_of = [](Rank rank) -> Layout {
            return {Shape::run(kBlockOfRank), kBlockOfRank, rank * kBlockOfRank, 1};
        };
        count_on(facts, network, "blocks", job);
        job.layout_of = [=](Rank rank) { return layout_of(kLattice, ranks, rank); };
        count_on(facts, network, "lattice", job);
    }
    return facts;
}

}  // namespace oratorio::count
