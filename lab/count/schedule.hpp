// SPDX-License-Identifier: BSD-3-Clause
// Schedule: the data that the nodes send to the aggregators in a collective access by a plan, round
// by round, for `oratorio simulate`. Counted by walking cursors, without data.
#pragma once

#include <vector>

#include "count/flow.hpp"
#include "count/messages.hpp"

namespace oratorio::count {

/// One round.
struct RoundSchedule {
    std::int64_t round = 0;
    std::vector<Region> regions = {};  ///< by aggregator
    std::vector<Flow> sent = {};       ///< node * aggregators + aggregator
    std::vector<Flow> gathered =
        {};  ///< by node: of ranks to local aggregators; empty in one layer
};

/// The part of a plan that is walked and stands for all of it.
struct Sample {
    std::vector<std::int64_t> rounds = {};
    /// By node: the number of nodes that its ranks stand for; 0: it isn't walked.
    std::vector<int> nodes = {};
};

/// Returns rounds that stand for all: at most `most`, at even distances, and fewer if they would
/// have more than `pieces` pieces together. At least one.
[[nodiscard]] std::vector<std::int64_t> sampled_rounds(const Plan& plan, std::int64_t all_pieces,
                                                       int most, std::int64_t pieces);

/// Returns nodes that stand for all, each for those after the last one: all nodes if they have at
/// most `most` ranks, else as many as have that many ranks. Nodes with aggregators stand for
/// themselves if they are at most half of the nodes. At least one.
[[nodiscard]] std::vector<int> sampled_nodes(const Nodes& nodes, const Plan& plan,
                                             std::int64_t most);

/// Returns the number of messages from one sender to aggregators that may be under way. A local
/// aggregator that reads keeps its ranks' requests until it has answered them, and has space for
/// few of each.
[[nodiscard]] int in_flight_of(const Plan& plan);

/// Returns what those nodes send in those rounds. REQUIRES: the plan of a sparse graph is thinned.
/// Messages between a rank and its local aggregator are exact. Messages of a local aggregator are
/// cut as if all its ranks' messages were there when it merges them; that holds if each rank has
/// one for a region. Its requests are cut as if pieces that alternate between ranks were met one by
/// one; that only makes more messages if pieces are shorter than 48 bytes. If ranks share windows
/// with their local aggregator, nothing is sent to it: all is `own`.
[[nodiscard]] std::vector<RoundSchedule> schedule_of(const Job& job, const Plan& plan,
                                                     const Sample& sample);

}  // namespace oratorio::count
