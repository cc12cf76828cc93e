// SPDX-License-Identifier: BSD-3-Clause
// Schedule: the messages that the nodes send to the aggregators in a collective access by a plan,
// round by round, for `oratorio simulate`: data in writes, requests in reads. They are counted by
// walking cursors, without data.
#pragma once

#include <vector>

#include "count/flow.hpp"
#include "count/messages.hpp"

namespace oratorio::count {

/// The messages of one round.
struct RoundSchedule {
    std::int64_t round = 0;
    std::vector<Region> regions = {};  ///< region of each aggregator
    std::vector<Flow> sent = {};       ///< index: node * aggregators + aggregator
    /// For each node: the messages of its ranks to local aggregators. Empty if the plan has one
    /// layer.
    std::vector<Flow> gathered = {};
};

/// The part of a plan that is walked and represents all of it.
struct Sample {
    std::vector<std::int64_t> rounds = {};
    /// For each node: the number of nodes that it represents, or 0 if it isn't walked.
    std::vector<int> nodes = {};
};

/// Returns evenly spaced rounds that represent all rounds: at most `most`, with about `pieces` of
/// the `all_pieces` pieces at most, but at least one round.
[[nodiscard]] std::vector<std::int64_t> sampled_rounds(const Plan& plan, std::int64_t all_pieces,
                                                       int most, std::int64_t pieces);

/// Returns, for each node, the number of nodes that it represents. Walks all nodes if they have at
/// most `most` ranks in all, and otherwise nodes with `most` ranks in all, but at least one
/// node. Nodes with aggregators represent only themselves if they are at most half of the walked
/// nodes; each other walked node represents a range of nodes around it.
[[nodiscard]] std::vector<int> sampled_nodes(const Nodes& nodes, const Plan& plan,
                                             std::int64_t most);

/// Returns the number of messages to aggregators that one sender may have under way. In reads a
/// local aggregator keeps the requests of its ranks until it has answered them, and has space for
/// few requests of each rank.
[[nodiscard]] int in_flight_of(const Plan& plan);

/// Returns the messages that the sampled nodes send in the sampled rounds. REQUIRES: the plan of a
/// sparse graph has gone through thinned(). Messages between a rank and its local aggregator are
/// exact. Messages from a local aggregator to aggregators are approximate: the count of data
/// messages assumes that it holds all its ranks' messages when it merges them, which is true if
/// each rank has one message per region. The count of requests assumes that pieces of different
/// ranks alternate, which overcounts messages only if pieces are shorter than 48 bytes. Ranks that
/// share windows with their local aggregator send nothing to it, and all their data is `own`.
[[nodiscard]] std::vector<RoundSchedule> schedule_of(const Job& job, const Plan& plan,
                                                     const Sample& sample);

}  // namespace oratorio::count
