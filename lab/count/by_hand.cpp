// SPDX-License-Identifier: BSD-3-Clause
// The traffic between nodes of a method, compared with two-phase I/O as users write it by hand
// (pmodels/mpich issues 7935 and 7645).
#include <algorithm>

#include "count/facts.hpp"
#include "count/layouts.hpp"
#include "count/messages.hpp"
#include "plan/methods.hpp"

namespace oratorio::count {

namespace {

constexpr int kRanksOfNode = 8;  // 1024 ranks on 128 nodes
constexpr int kAggregatorsOfNode = 2;

std::vector<int> sizes(int only) {
    return only > 0 ? std::vector{only} : std::vector{64, 256, 1024, 4096, 16384};
}

template <class Pattern>
Job job_of(const Pattern& pattern, int ranks) {
    return {.direction = Direction::write,
            .nodes = nodes_of(ranks, ranks / kRanksOfNode),
            .layout_of = [=](Rank rank) { return layout_of(pattern, ranks, rank); }};
}

/// Returns options for aggregation with as much memory as code written by hand uses. In such code
/// each rank holds a part of the file, so the aggregators of a node have as much memory as the
/// parts of all its ranks, in one buffer each.
PlanOptions with_memory_of_hand(Bytes all, int ranks) {
    PlanOptions options;
    options.cb_write = Toggle::enable;
    const Bytes part = (all + ranks - 1) / ranks;
    options.cb_buffer_size =
        std::max(options.cb_buffer_size, (part + 4096) * kRanksOfNode / kAggregatorsOfNode);
    options.message_bytes = options.cb_buffer_size / 8;
    options.slots = 1;
    options.sub_buffer = options.cb_buffer_size;  // one round, as in code written by hand
    return options;
}

void compare(Facts& facts, const std::string& what, Job job, const std::vector<Row>& rows,
             Bytes all) {
    const Sent hand = count_by_hand(job, rows);
    facts.push_back({what + ": bytes between nodes, by_hand", hand.far_bytes});
    facts.push_back({"  messages between nodes, by_hand", hand.far_messages});
    const Plan picked = plan_of(job);
    facts.push_back({"  bytes, auto takes " + std::string(picked.method->name),
                     count_sent(job, picked).far_bytes, Relation::at_most,
                     hand.far_bytes + hand.far_bytes / 20, "1.05 x by_hand"});
    job.options = with_memory_of_hand(all, job.nodes.size);
    const Plan plan = plan_of(job);
    const Sent sent =
        count_sent(job, plan.partners() != Partners::by_hull ? thinned(job, plan) : plan);
    const std::string how = std::string(plan.method->name) + " with as much memory";
    facts.push_back({"  bytes, " + how, sent.far_bytes, Relation::at_most,
                     hand.far_bytes + hand.far_bytes / 20, "1.05 x by_hand"});
    facts.push_back(
        {"  messages, " + how, sent.far_messages, Relation::at_most, hand.far_messages, "by_hand"});
}

}  // namespace

/// Counts the traffic of a lattice. Ranks with the same first coordinate form a row, whose pieces
/// fill a slab.
Facts count_lattice(int only) {
    Facts facts;
    for (const int ranks : sizes(only)) {
        constexpr Lattice kLattice;
        const Job job = job_of(kLattice, ranks);
        const int slabs = even_grid(ranks, 4).front();
        const Bytes plane = kLattice.n * kLattice.n * kLattice.n * kLattice.site;
        std::vector<Row> rows;
        for (int i = 0; i < slabs; ++i) {
            const Range slab = even_range(kLattice.n, slabs, i);
            const int each = ranks / slabs;
            rows.push_back({{i * each, (i + 1) * each},
                            {slab.first * plane, (slab.first + slab.count) * plane}});
        }
        compare(facts, "lattice, 64^4 x 576 B, " + std::to_string(ranks) + " ranks", job, rows,
                plane * kLattice.n);
    }
    return facts;
}

/// Counts the traffic of pieces that belong to all ranks in turn. All ranks form one row.
Facts count_transposed(int only) {
    Facts facts;
    for (const int ranks : sizes(only)) {
        constexpr Transposed transposed;
        const Job job = job_of(transposed, ranks);
        const Bytes all = transposed.piece * transposed.pieces * ranks;
        compare(facts,
                "transposed, " + std::to_string(transposed.pieces) + " x 4 KiB, " +
                    std::to_string(ranks) + " ranks",
                job, {{{0, ranks}, {0, all}}}, all);
    }
    return facts;
}

}  // namespace oratorio::count
