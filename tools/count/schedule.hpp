// SPDX-License-Identifier: BSD-3-Clause
// Schedule: what a plan has the nodes send to the aggregators in a collective access, round by
// round. For `oratorio simulate`. Counted by walking cursors, without data.
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

/// What is walked of a plan, and stands for all of it.
struct Sample {
    std::vector<std::int64_t> rounds = {};
    /// By node: of how many nodes its ranks stand for; 0: it isn't walked.
    std::vector<int> nodes = {};
};

/// Rounds that stand for all: at most `most`, at even distances, and fewer where they would have
/// more than `pieces` pieces together. At least one.
[[nodiscard]] std::vector<std::int64_t> sampled_rounds(const Plan& plan, std::int64_t all_pieces,
                                                       int most, std::int64_t pieces);

/// Nodes that stand for all, each for those after the last one: all where they have at most
/// `most` ranks, else so many that those have. Nodes with aggregators stand for themselves, where
/// they are at most half of them. At least one.
[[nodiscard]] std::vector<int> sampled_nodes(const Nodes& nodes, const Plan& plan,
                                             std::int64_t most);

/// Messages of one sender to aggregators that may be under way. A local aggregator that reads keeps
/// its ranks' requests until it has answered them, and has room for few of each.
[[nodiscard]] int in_flight_of(const Plan& plan);

/// What is sent in those rounds by those nodes; `thin` plans are thinned before. Messages between a
/// rank and its local aggregator are exact. What a local aggregator sends is cut as if its ranks'
/// messages were there when it merges them, as they are where each has one for a region; what it
/// asks for, as if ranks' pieces that take turns were met one by one, which only makes more
/// messages where pieces are shorter than 48 bytes. Where
/// ranks share windows with their local aggregator nothing is sent to it: all is `own`.
[[nodiscard]] std::vector<RoundSchedule> schedule_of(const Job& job, const Plan& plan,
                                                     const Sample& sample);

}  // namespace oratorio::count
