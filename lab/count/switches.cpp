// SPDX-License-Identifier: BSD-3-Clause
// The traffic between network switches with two plans: one that knows the switches of the nodes and
// places aggregators by them, and one that does not.
#include "count/switches.hpp"

#include <algorithm>
#include <numeric>

#include "count/facts.hpp"
#include "count/layouts.hpp"

namespace oratorio::count {

namespace {

constexpr int kRanksOnNode = 64;
constexpr Bytes kBlockOfRank = 1 << 20;  // bytes of a rank in the blocks

/// Returns the nodes of a job: `nodes` random ones of a machine's `all`, in the machine's order
/// unless `shuffled`.
std::vector<int> taken_from(int all, int nodes, bool shuffled) {
    std::vector<int> taken(static_cast<std::size_t>(all));
    std::iota(taken.begin(), taken.end(), 0);
    std::uint64_t state = 2019;
    const auto below = [&](std::size_t count) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::size_t>((state >> 33) % count);
    };
    for (std::size_t i = taken.size(); i > 1; --i) std::swap(taken[i - 1], taken[below(i)]);
    taken.resize(static_cast<std::size_t>(nodes));
    if (!shuffled) std::ranges::sort(taken);
    return taken;
}

/// Returns the switch of each node. Switches are numbered by first appearance, as in Nodes.
std::vector<int> switches_of(const std::vector<int>& place, int of_switch) {
    std::vector<int> seen;
    std::vector<int> switch_of;
    for (const int node : place) {
        const auto found = std::ranges::find(seen, node / of_switch);
        switch_of.push_back(static_cast<int>(found - seen.begin()));
        if (found == seen.end()) seen.push_back(node / of_switch);
    }
    return switch_of;
}

// A fat tree with 32 nodes on each leaf switch, and a dragonfly with 96 nodes in each group. A job
// of 16384 ranks has a quarter of the tree's nodes, or a third of the dragonfly's.
constexpr Network kNetworks[] = {
    {"fat tree, 32 leaves", NetworkKind::fat_tree, 32, 32, false},
    {"fat tree, 32 leaves, nodes in any order", NetworkKind::fat_tree, 32, 32, true},
    {"dragonfly, 8 groups", NetworkKind::dragonfly, 8, 96, false},
    {"dragonfly, 8 groups, nodes in any order", NetworkKind::dragonfly, 8, 96, true}};

}  // namespace

std::span<const Network> networks() {
    return kNetworks;
}

std::vector<SwitchedJob> jobs_on(const Network& network, int ranks) {
    const int nodes = ranks / kRanksOnNode;
    SwitchedJob blocks;
    blocks.data = "blocks";
    blocks.place = taken_from(network.switches * network.of_switch, nodes, network.shuffled);
    blocks.job.nodes = nodes_of(ranks, nodes);
    blocks.job.nodes.switch_of = switches_of(blocks.place, network.of_switch);
    blocks.job.thorough = false;
    blocks.job.options.cb_nodes = std::max(1, nodes / 4);
    SwitchedJob lattice = blocks;
    lattice.data = "lattice";
    blocks.job.layout_of = [](Rank rank) -> Layout {
        return {Shape::run(kBlockOfRank), kBlockOfRank, rank * kBlockOfRank, 1};
    };
    lattice.job.layout_of = [=](Rank rank) { return layout_of(Lattice{}, ranks, rank); };
    return {std::move(blocks), std::move(lattice)};
}

Job without_switches(Job job) {
    job.nodes.switch_of.clear();
    return job;
}

/// Counts the bytes between switches for each network and its jobs.
Facts count_switches(int only) {
    Facts facts;
    for (const Network& network : networks()) {
        for (const SwitchedJob& one : jobs_on(network, only > 0 ? only : 16384)) {
            const auto crossing = [&](const Job& planned) {
                return count_sent(one.job, plan_of(planned, "two_phase")).bytes_between_switches;
            };
            const Bytes before = crossing(without_switches(one.job));
            const std::string what = std::string(network.what) + ", " + one.data;
            facts.push_back({what + ": bytes between switches, switches unknown", before});
            facts.push_back({"  known", crossing(one.job), Relation::at_most, before, "unknown"});
        }
    }
    return facts;
}

}  // namespace oratorio::count
