// SPDX-License-Identifier: BSD-3-Clause
// Aggregators: which ranks stand between the others and the storage.
#pragma once

#include <climits>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/topology.hpp"
#include "plan/access.hpp"
#include "plan/options.hpp"

namespace oratorio {

/// Two aggregators keep both directions of a node's memory busy; more only split the file finer.
inline constexpr int kAggregatorsPerNode = 2;
/// However little each one then has.
inline constexpr int kEveryRank = INT_MAX;

/// One entry of cb_config_list: at most `count` aggregators on hosts named `host`.
struct ConfigEntry {
    std::string host;  ///< "*" = every host not named before
    int count = 1;     ///< INT_MAX = as many as there are ranks ("host:*")
};

/// "*:2", "hostA:1,hostB:*"; a host without a number means one. Empty or malformed text gives no
/// entries.
[[nodiscard]] std::vector<ConfigEntry> parse_config_list(const std::string& text);

/// Whether a rank may be an aggregator.
using AbleRanks = std::function<bool(Rank rank)>;
/// Pure. Ranks that can store (not so with flag_no_store); the summaries outlive it.
[[nodiscard]] AbleRanks able_ranks(AllSummaries summaries);

/// Pure. Of the `able` ranks at most `cb_nodes` when that is set, else at most one per
/// `bytes_each_min` of the hull (not so of kEveryRank). Within a node aggregators are spread evenly
/// over its ranks; nodes take turns, in the order of ranks, so that the first k aggregators sit on
/// as many nodes as possible. Empty only when no rank is able. O(ranks) time, and memory for what
/// it chooses; with unable ranks or a config list a number of each node.
[[nodiscard]] std::vector<Rank> choose_aggregators(const Nodes& topology, const AbleRanks& able,
                                                   const PlanOptions& options, Bytes hull_bytes,
                                                   int per_node = kAggregatorsPerNode);

}  // namespace oratorio
