// SPDX-License-Identifier: BSD-3-Clause
// The table of topics, and those that count pieces, senders, edges and tokens.
#include "count/facts.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "count/layouts.hpp"
#include "count/messages.hpp"
#include "plan/methods.hpp"

namespace oratorio::count {

namespace {

constexpr int kRanksPerNode = 64;       // number of ranks on a node (2019, section V)
constexpr int kLocalAggregators = 256;  // number on all nodes together (section V-A)
constexpr int kTargets = 56;            // number of global aggregators: one for each Lustre target

constexpr std::array kTopics{
    Topic{"s3d", "2019", "pieces of a checkpoint, and how many remain if a node joins them",
          count_s3d},
    Topic{"btio", "2019", "pieces of a diagonal multi-partition, before and after joining",
          count_btio},
    Topic{"senders", "2019", "ranks that send to one aggregator, in one layer and in two",
          count_senders},
    Topic{"sparse", "2001", "edges of the dense and the sparse graph", count_sparse},
    Topic{"tokens", "1995", "GO tokens of grouping", count_tokens},
    Topic{"disk", "1995", "storage calls in the order of the disk, and messages", count_disk},
    Topic{"lattice", "users", "bytes between nodes, compared with two phases by hand",
          count_lattice},
    Topic{"transposed", "users",
          "bytes between nodes if ranks own pieces in turn, compared with two phases by hand",
          count_transposed},
    Topic{"switches", "2019", "bytes between switches, with and without placement by switch",
          count_switches},
    Topic{"planning", "users", "what a rank needs to plan, and what it keeps of the plan",
          count_planning},
};

std::string of_ranks(const char* what, int ranks) {
    return std::string(what) + ", " + std::to_string(ranks) + " ranks";
}

/// Returns `own`, the paper's numbers of ranks, or only `ranks` if that is not 0.
std::vector<int> or_only(std::vector<int> own, int ranks) {
    return ranks > 0 ? std::vector{ranks} : std::move(own);
}

}  // namespace

std::span<const Topic> topics() {
    return kTopics;
}

Facts count_s3d(int only) {
    Facts facts;
    for (const int ranks : or_only({16384}, only)) {
        const S3d checkpoint = checkpoint_of(ranks);
        const auto layout = [&](Rank rank) { return layout_of(checkpoint, rank); };
        const int nodes = std::max(1, ranks / kRanksPerNode);
        const Pieces pieces = count_pieces(groups_of(ranks, nodes), layout);
        Fact own{of_ranks("s3d, 800^3: pieces", ranks), pieces.own};
        if (ranks == 16384) {
            own.relation = Relation::equal;
            own.claimed = 327'680'000;
            own.whose = "2019, V-C";
        }
        facts.push_back(own);
        facts.push_back({of_ranks("  joined on nodes of 64", ranks), pieces.joined});
    }
    return facts;
}

Facts count_btio(int only) {
    struct Claim {
        int ranks;
        std::int64_t pieces;
        std::int64_t joined;
    };
    constexpr std::array kClaims{Claim{1024, 335'544'320, 84'377'600},
                                 Claim{4096, 671'088'640, 43'171'840},
                                 Claim{16384, 1'342'177'280, 23'552'000}};
    Facts facts;
    for (const int ranks : or_only({1024, 4096, 16384}, only)) {
        const auto layout = [&](Rank rank) { return layout_of(Btio{}, ranks, rank); };
        const int groups = std::min(ranks, kLocalAggregators);
        const Pieces pieces = count_pieces(groups_of(ranks, groups), layout);
        Fact own{of_ranks("btio, 512^3 x 40: pieces", ranks), pieces.own};
        Fact joined{"  joined by " + std::to_string(groups) + " local aggregators", pieces.joined};
        const auto claim = std::ranges::find(kClaims, ranks, &Claim::ranks);
        if (claim != kClaims.end()) {
            own.relation = joined.relation = Relation::equal;
            own.whose = joined.whose = "2019, V-B";
            own.claimed = claim->pieces;
            joined.claimed = claim->joined;
        }
        facts.insert(facts.end(), {own, joined});
        const int nodes = std::max(1, ranks / kRanksPerNode);
        if (nodes == groups) continue;
        facts.push_back({"  joined on " + std::to_string(nodes) + " nodes of 64",
                         count_pieces(groups_of(ranks, nodes), layout).joined});
    }
    return facts;
}

Facts count_senders(int only) {
    Facts facts;
    for (const int ranks : or_only({1024, 4096, 16384}, only)) {
        const int nodes = std::max(1, ranks / kRanksPerNode);
        Job job{.direction = Direction::write,
                .nodes = nodes_of(ranks, nodes),
                .layout_of = [=](Rank rank) { return layout_of(Btio{}, ranks, rank); },
                .thorough = false};
        job.options.cb_nodes = kTargets;
        job.options.striping_unit = 1 << 20;
        facts.push_back({of_ranks("btio: senders to one aggregator, two_phase", ranks),
                         senders_to_one_aggregator(plan_of(job, "two_phase")), Relation::equal,
                         ranks, "2019, IV-D: P"});
        for (const int each : {1, 4}) {
            job.options.local_aggregators_per_node = each;
            facts.push_back({"  two_layer, " + std::to_string(nodes) + " nodes with " +
                                 std::to_string(each) + " local aggregators",
                             senders_to_one_aggregator(plan_of(job, "two_layer")), Relation::equal,
                             nodes * each, "2019, IV-D: nodes x local"});
        }
    }
    return facts;
}

/// Counts edges for blocks of 16 KiB. Each node has one rank, and a rank has at most one block in a
/// stripe.
Facts count_sparse(int only) {
    Facts facts;
    for (const int ranks : or_only({32, 256}, only)) {
        for (const std::int64_t per_cent : {100, 50, 25, 10, 1}) {
            Job job{.direction = Direction::write,
                    .nodes = nodes_of(ranks, ranks),
                    .layout_of =
                        [=](Rank rank) {
                            return layout_of(Sparse{.blocks = 48, .per_cent = per_cent}, ranks,
                                             rank);
                        },
                    .thorough = true};
            job.options.cb_nodes = 32;
            const Plan dense = plan_of(job, "two_phase");
            const std::int64_t all = count_edges(dense);
            const std::int64_t least = count_pairs_with_data(job, dense);
            const auto regions = dense.rounds * std::ssize(dense.aggregators);
            const bool told_apart = regions <= static_cast<std::int64_t>(EdgeBits().size());
            const std::string what = ", " + std::to_string(per_cent) + " % of the stripes";
            facts.push_back({of_ranks("sparse", ranks) + what + ": edges, dense", all});
            facts.push_back({"  pairs with data", least});
            Fact sparse{"  edges, sparse", count_edges(thinned(job, plan_of(job, "sparse"))),
                        Relation::equal, least, "2001, 2.4.1: minimal"};
            if (!told_apart) {
                sparse.relation = Relation::at_most;
                sparse.claimed = all;
                sparse.whose = "dense; rounds share bits";
            }
            facts.push_back(sparse);
        }
    }
    return facts;
}

/// Counts tokens by the paper's rule "if (k < N - GroupSize) send GO": a rank sends a
/// token only if there is a rank GroupSize after it.
Facts count_tokens(int only) {
    Facts facts;
    for (const int ranks : or_only({128, 16384}, only)) {
        for (const int group : {1, 4, 8}) {
            Job job{.direction = Direction::read,
                    .nodes = nodes_of(ranks, 1),
                    .layout_of =
                        [=](Rank rank) { return layout_of(Transposed{.pieces = 4}, ranks, rank); },
                    .thorough = false};
            job.options.group = group;
            const Plan plan = plan_of(job, "grouping");
            std::int64_t tokens = 0;
            for (Rank rank = 0; rank < ranks; ++rank)
                tokens += plan.ranks_at_once() > 0 && rank < ranks - plan.ranks_at_once() ? 1 : 0;
            facts.push_back(
                {of_ranks("grouping", ranks) + ", " + std::to_string(group) + " at once: tokens",
                 tokens, Relation::equal, std::max(0, ranks - group),
                 "1995, node grouping: N - k"});
        }
    }
    return facts;
}

}  // namespace oratorio::count
