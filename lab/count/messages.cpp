// SPDX-License-Identifier: BSD-3-Clause
#include "count/messages.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>

#include "count/cutter.hpp"
#include "count/flow.hpp"
#include "count/layouts.hpp"
#include "plan/methods.hpp"
#include "type/coverage.hpp"

namespace oratorio::count {

namespace {

bool on_one_node(const Nodes& nodes, Rank one, Rank other) {
    return nodes.node(one) == nodes.node(other);
}

void add(Sent& sent, bool near, std::int64_t messages, Bytes bytes) {
    (near ? sent.near_messages : sent.far_messages) += messages;
    (near ? sent.near_bytes : sent.far_bytes) += bytes;
}

/// Adds the outcomes: a message of 8 bytes from each aggregator to each rank with which it shares
/// an edge.
void add_endings(Sent& sent, const Job& job, const Plan& plan) {
    for (int index = 0; index < static_cast<int>(plan.aggregators.size()); ++index) {
        const Rank from = plan.aggregators[static_cast<std::size_t>(index)];
        for (const Rank to : ranks_of_edges(plan, index)) {
            add(sent, on_one_node(job.nodes, from, to), 1, 0);
            sent.description_bytes += 8;
        }
    }
}

/// Sets the coverage hashes as if the pieces had been walked and found to tile the hull: their sum
/// is the hash of the hull.
void vouch_coverage(Summaries& summaries) {
    Extent all;
    for (const AccessSummary& one : summaries) all = hull(all, one.hull);
    summaries.front().coverage = coverage(all);
}

}  // namespace

Nodes nodes_of(int ranks, int nodes) {
    if (nodes < 1 || ranks % nodes != 0)
        throw std::invalid_argument(std::to_string(ranks) + " ranks don't fill whole nodes");
    Nodes topology;
    topology.size = ranks;
    for (int node = 0; node < nodes; ++node)
        topology.node_names.push_back("n" + std::to_string(node));
    for (Rank rank = 0; rank < ranks; ++rank) topology.node_of.push_back(rank / (ranks / nodes));
    topology.cores = ranks / nodes;
    return topology;
}

Agreed<Summaries> summaries_of(const Job& job) {
    Summaries summaries;
    summaries.reserve(static_cast<std::size_t>(job.nodes.size));
    for (Rank rank = 0; rank < job.nodes.size; ++rank) {
        summaries.push_back(
            job.summary_of
                ? job.summary_of(rank)
                : summarise(access_of(job.direction, job.layout_of(rank)), job.thorough));
    }
    if (job.tiles) vouch_coverage(summaries);
    return Agreed<Summaries>::vouch(std::move(summaries));
}

Plan plan_of(const Job& job, const Agreed<Summaries>& summaries, std::string_view method) {
    PlanConfig terms{job.options, {}};
    terms.options.method = find_method(method);
    return make_plan(job.direction, Agreed<AllSummaries>::vouch(*summaries),
                     Agreed<const Nodes&>::vouch(job.nodes), Agreed<PlanConfig>::vouch(terms),
                     Agreed<NodeSharing>::vouch({}), 0);
}

Plan plan_of(const Job& job, std::string_view method) {
    return plan_of(job, summaries_of(job), method);
}

Sent count_sent(const Job& job, const Plan& plan) {
    Sent sent;
    if (!plan.sends_messages()) return sent;
    std::vector<std::byte> message(static_cast<std::size_t>(plan.message_bytes));
    for (Rank rank = 0; rank < job.nodes.size; ++rank) {
        Cutter cutter(job.layout_of(rank), message);
        for (RankRegions at = plan.regions_of(rank); !at.at_end(); at.advance()) {
            const Rank to = plan.aggregators[static_cast<std::size_t>(at.aggregator())];
            if (to == rank) continue;  // an aggregator copies its own share without a message
            Flow flow;
            flow.add(cutter.cut(at.region()), false);
            const OnWire wire = on_wire(flow, plan);
            add(sent, on_one_node(job.nodes, rank, to), wire.messages, flow.bytes);
            if (job.nodes.switch_at(rank) != job.nodes.switch_at(to))
                sent.bytes_between_switches += flow.bytes;
            sent.description_bytes += wire.bytes - flow.bytes;
        }
    }
    if (plan.ending() == Ending::reported) add_endings(sent, job, plan);
    return sent;
}

Sent count_by_hand(const Job& job, const std::vector<Row>& rows) {
    Sent sent;
    for (const Row& row : rows) {
        const std::int64_t ranks = row.ranks.last - row.ranks.first;
        const auto begin_of = [&](std::int64_t i) {
            return row.extent.begin + row.extent.length() * i / ranks;
        };
        for (Rank rank = row.ranks.first; rank < row.ranks.last; ++rank) {
            Cursor file(job.layout_of(rank));
            for (std::int64_t i = 0; i < ranks; ++i) {
                const Bytes before = file.tell_size();
                file.seek_offset(begin_of(i + 1));
                const Bytes bytes = file.tell_size() - before;
                const auto to = static_cast<Rank>(row.ranks.first + i);
                if (to != rank && bytes > 0) add(sent, on_one_node(job.nodes, rank, to), 1, bytes);
            }
        }
    }
    return sent;
}

std::int64_t senders_to_one_aggregator(const Plan& plan) {
    std::int64_t most = 0;
    for (int index = 0; index < static_cast<int>(plan.aggregators.size()); ++index) {
        std::vector<bool> sends(plan.graph.size());
        std::int64_t count = 0;
        for (std::int64_t round = 0;
             round < plan.rounds && count < static_cast<std::int64_t>(sends.size()); ++round) {
            plan.each_participant(index, round, [&](std::size_t i) {
                count += sends[i] ? 0 : 1;
                sends[i] = true;
                return true;
            });
        }
        most = std::max(most, count);
    }
    return most;
}

std::int64_t count_edges(const Plan& plan) {
    std::vector<Offset> begins;
    std::vector<Offset> ends;
    for (std::size_t i = 0; i < plan.graph.size(); ++i) {
        begins.push_back(plan.graph.participant(i).hull.begin);
        ends.push_back(plan.graph.participant(i).hull.end);
    }
    std::ranges::sort(ends);  // `begins` is sorted already
    std::int64_t edges = 0;
    for (int index = 0; index < static_cast<int>(plan.aggregators.size()); ++index) {
        for (std::int64_t round = 0; round < plan.rounds; ++round) {
            const Region region = plan.region(index, round);
            if (region.count != 1 || plan.graph.edges() != nullptr) {
                edges += plan.count_participants(index, round);
                continue;
            }
            const Extent extent = region.extent(0);
            if (extent.empty()) continue;
            // Counts all participants that begin before the region's end, less those that end
            // before the region begins.
            edges += std::ranges::lower_bound(begins, extent.end) - begins.begin();
            edges -= std::ranges::upper_bound(ends, extent.begin) - ends.begin();
        }
    }
    return edges;
}

std::int64_t count_pairs_with_data(const Job& job, const Plan& plan) {
    std::int64_t pairs = 0;
    std::vector<std::byte> message(static_cast<std::size_t>(plan.message_bytes));
    for (Rank rank = 0; rank < job.nodes.size; ++rank) {
        Cutter cutter(job.layout_of(rank), message);
        for (RankRegions at = plan.regions_of(rank); !at.at_end(); at.advance())
            pairs += cutter.cut(at.region()).payload > 0 ? 1 : 0;
    }
    return pairs;
}

Plan thinned(const Job& job, Plan plan) {
    std::vector<EdgeBits> edges;
    for (Rank rank = 0; rank < job.nodes.size; ++rank)
        edges.push_back(edges_of(plan, rank, access_of(job.direction, job.layout_of(rank))));
    const EdgeScale scale(plan.aggregators.size(), plan.rounds);
    plan.graph = plan.graph.thinned(scale, Agreed<std::span<const EdgeBits>>::vouch(edges));
    return plan;
}

}  // namespace oratorio::count
