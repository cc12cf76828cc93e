// SPDX-License-Identifier: BSD-3-Clause
// Aggregators: the ranks that make the storage calls of two-phase I/O (collective buffering) for
// the others.
#pragma once

#include <climits>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "comm/topology.hpp"
#include "plan/access.hpp"
#include "plan/options.hpp"

namespace oratorio {

/// The default number of aggregators on a node for methods with messages. `auto` uses more for
/// accesses with much data (plan.cpp).
inline constexpr int kAggregatorsPerNode = 2;
/// The number per node that makes every rank an aggregator, however little data each then has.
inline constexpr int kEveryRank = INT_MAX;

/// One entry of cb_config_list: at most `count` aggregators on hosts named `host`.
struct ConfigEntry {
    std::string host;  ///< "*" = every host not named before
    int count = 1;     ///< INT_MAX = all ranks of the host ("host:*")
};

/// Parses "*:2" or "hostA:1,hostB:*". A host without a number means one aggregator. Empty or
/// malformed text gives no entries.
[[nodiscard]] std::vector<ConfigEntry> parse_config_list(const std::string& text);

/// A test that returns true for ranks that may be aggregators.
using AbleRanks = std::function<bool(Rank rank)>;
/// Returns a test that accepts the ranks without flag_no_store. Pure. REQUIRES: the summaries
/// outlive the test.
[[nodiscard]] AbleRanks able_ranks(AllSummaries summaries);

/// Chooses aggregators among the `able` ranks: at most `cb_nodes` if that is set, and at most as
/// many on each host as a config list allows. With neither hint, chooses at most `per_node` on each
/// node, and (except for kEveryRank) at most one per MiB of the hull. Aggregators are spread evenly
/// over the ranks of a node. The nodes take turns, in rank order, so that the first k aggregators
/// are on as many nodes as possible. If the nodes are on several switches and the last turn needs
/// only some of its nodes, each switch provides nodes in proportion. If a hint lists ranks, chooses
/// those that exist and are able, in the order of the hint, at most cb_nodes. If none of that gives
/// an aggregator, chooses the first able rank; so it returns no ranks only if none is able. Pure.
/// Takes O(ranks) time. Needs memory for the result, for a rank per node if there are several
/// switches, and for a number per node if there are unable ranks or a config list.
[[nodiscard]] std::vector<Rank> choose_aggregators(const Nodes& topology, const AbleRanks& able,
                                                   const PlanOptions& options, Bytes hull_bytes,
                                                   int per_node = kAggregatorsPerNode);

/// Chooses aggregators for file domains that follow the stripes: one per storage target, or with
/// fewer ranks or a smaller cb_nodes the largest possible divisor of the number of targets, so that
/// all stripes of a target have the same aggregator. If the number of targets is unknown, or a hint
/// names the aggregators, chooses like choose_aggregators() but regardless of the hull, so that the
/// owner of a stripe doesn't depend on the access. Pure.
[[nodiscard]] std::vector<Rank> choose_target_aggregators(const Nodes& topology,
                                                          const AbleRanks& able,
                                                          const PlanOptions& options, int per_node);

}  // namespace oratorio
