// SPDX-License-Identifier: BSD-3-Clause
#include "count/planning.hpp"

#include <bit>
#include <chrono>
#include <optional>
#include <string>

#include "comm/node_boards.hpp"
#include "count/allocated.hpp"
#include "count/facts.hpp"
#include "count/messages.hpp"
#include "plan/methods.hpp"

namespace oratorio::count {

namespace {

Summaries a_mebibyte_each(int ranks) {
    constexpr Bytes kEach = 1 << 20;
    Summaries summaries(static_cast<std::size_t>(ranks));
    for (Rank rank = 0; rank < ranks; ++rank) {
        AccessSummary& one = summaries[static_cast<std::size_t>(rank)];
        one.hull = {rank * kEach, (rank + 1) * kEach};
        one.bytes = kEach;
        one.pieces = one.memory_pieces = 1;
    }
    return summaries;
}

std::int64_t count_regions(const Plan& plan, Rank rank) {
    std::int64_t count = 0;
    for (RankRegions at = plan.regions_of(rank); !at.at_end(); at.advance()) ++count;
    return count;
}

using Plans = std::array<Plan, roles>;

/// Makes the plan of a rank of each role, and returns the plans that these ranks keep.
Plans plan_and_keep(int ranks, std::string_view method, const Nodes& nodes, Planned& planned) {
    PlanConfig terms;
    terms.options.method = find_method(method);
    terms.options.local_aggregators_per_node = 1;
    const Summaries list = a_mebibyte_each(ranks);
    const auto summaries = Agreed<AllSummaries>::vouch(list);
    planned.list = std::ssize(std::as_bytes(std::span(list)));
    const Bytes before = allocated().now;
    reset_most();
    const Rank first = nodes.nodes() / 2 * kRanksOfNode;
    const auto begin = std::chrono::steady_clock::now();
    Plans kept;
    for (std::size_t role = 0; role < roles; ++role) {
        const Rank rank = first + kPlaceOfRole[role];
        kept[role] =
            make_plan_for(rank, Direction::write, summaries, Agreed<const Nodes&>::vouch(nodes),
                          Agreed<PlanConfig>::vouch(terms), Agreed<NodeSharing>::vouch({}));
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        if (role == 0) planned.seconds = taken.count();
        if (role == 0) planned.most = allocated().most - before;
        planned.kept[role].regions = count_regions(kept[role], rank);
    }
    planned.rounds = kept.front().rounds;
    planned.aggregators = kept.front().aggregators.size();
    return kept;
}

/// Computes the shared memory of a node, and the number of steps in which the node's first rank
/// receives the summaries of the other nodes.
void count_meeting(const Nodes& nodes, Planned& planned) {
    const Topology topology{nodes, 0};
    const auto list = NodeBoards::list_bytes(Agreed<const Nodes&>::vouch(nodes),
                                             NodeBoards::usually_listed_from());
    planned.shared = NodeBoards::bytes(NodePlace(topology, list));
    planned.steps = std::bit_width(static_cast<unsigned>(nodes.nodes() - 1));
}

std::string of_ranks(std::string_view what, int ranks, std::string_view method) {
    return std::string(method) + ", " + std::to_string(ranks) + " ranks: " + std::string(what);
}

}  // namespace

Planned count_plan(int ranks, std::string_view method) {
    Planned planned;
    const Bytes before = allocated().now;
    const Nodes nodes = nodes_of(ranks, ranks / kRanksOfNode);
    planned.nodes = allocated().now - before;
    count_meeting(nodes, planned);
    Plans plans = plan_and_keep(ranks, method, nodes, planned);
    for (std::size_t role = 0; role < roles; ++role) {
        KeptByRole& kept = planned.kept[role];
        const Plan& plan = plans[role];
        kept.known_ranks = static_cast<std::int64_t>(plan.graph.size() + plan.ranks.size());
        const Bytes with = allocated().now;
        plans[role] = {};  // the plan of the last role frees what all plans share
        kept.bytes = with - allocated().now;
    }
    return planned;
}

Facts count_planning(int only) {
    constexpr double kMilliseconds = 1e3;
    Facts facts;
    for (const char* const method : {"two_phase", "two_layer"}) {
        const Planned small = count_plan(16'384, method);
        for (const int ranks :
             only > 0 ? std::vector{only} : std::vector{16'384, 131'072, 1'048'576}) {
            const int whole = std::max(2, ranks / kRanksOfNode) * kRanksOfNode;
            const Planned planned = count_plan(whole, method);
            const auto add = [&](std::string_view what, std::int64_t counted) {
                facts.push_back({of_ranks(what, whole, method), counted});
            };
            const auto same = [&](std::string_view what, Role role) {
                facts.push_back({of_ranks(what, whole, method), planned.kept[role].bytes,
                                 Relation::at_most, small.kept[role].bytes, "as with 16384 ranks"});
            };
            same("bytes kept by a rank without a role", without_role);
            same("bytes kept by an aggregator", aggregator_only);
            same("bytes kept by a node's first rank", first_of_node);
            add("bytes of all summaries, once for a node", planned.list);
            add("bytes of a node's shared memory, summaries included", planned.shared);
            add("maximum other bytes of a rank while it plans", planned.most);
            add("most bytes of a node while its ranks plan", planned.of_node());
            add("messages of a rank that isn't its node's first", 0);
            add("steps in which the nodes' first ranks share the summaries", planned.steps);
            add("bytes of a rank for the map of ranks to nodes", planned.nodes);
            add("regions that a rank has data in", planned.kept[without_role].regions);
            add("milliseconds of planning, one core",
                static_cast<std::int64_t>(planned.seconds * kMilliseconds));
        }
    }
    return facts;
}

}  // namespace oratorio::count
