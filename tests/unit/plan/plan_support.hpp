// SPDX-License-Identifier: BSD-3-Clause
// plan_support: made-up nodes and accesses for tests of plans.
#pragma once

#include "plan/plan.hpp"
#include "support/flat_terms.hpp"

namespace oratorio::test {

/// Returns `nodes` nodes with the same number of ranks, one node after another.
inline Nodes nodes_of(int ranks, int nodes = 1) {
    Nodes topology;
    topology.size = ranks;
    topology.node_names.clear();
    for (int node = 0; node < nodes; ++node)
        topology.node_names.push_back("n" + std::to_string(node));
    for (int one = 0; one < ranks; ++one) topology.node_of.push_back(one / (ranks / nodes));
    return topology;
}

/// Returns summaries of accesses in which rank r has the r-th of every `ranks` pieces of `piece`
/// bytes, `count` times from `origin` on. `gap` bytes follow the pieces of all ranks each time.
inline Summaries interleaved(int ranks, Bytes piece, std::int64_t count, Bytes gap = 0,
                             Offset origin = 0) {
    Summaries summaries;
    for (int rank = 0; rank < ranks; ++rank) {
        Access access;
        access.direction = Direction::write;
        access.file = {Shape::run(piece), piece * ranks + gap, origin + rank * piece,
                       Layout::unbounded};
        access.memory = {Shape::run(piece * count), piece * count, 0, 1};
        summaries.push_back(summarise(access, true));
    }
    return summaries;
}

inline Plan plan_of(const Summaries& summaries, const FlatTerms& options, Rank rank = 0,
                    Direction direction = Direction::write, int nodes = 1,
                    const NodeSharing& sharing = {}) {
    const Nodes topology = nodes_of(static_cast<int>(summaries.size()), nodes);
    return make_plan(direction, Agreed<AllSummaries>::vouch(summaries),
                     Agreed<const Nodes&>::vouch(topology), *terms_of(options),
                     Agreed<NodeSharing>::vouch(sharing), rank);
}

/// Returns the facts of ranks on one node with a local file system, which allow every method.
inline FlatTerms all_allowed() {
    FlatTerms options;
    options.mappable = true;
    options.coherent = true;
    options.local_file_system = true;
    return options;
}

}  // namespace oratorio::test
