// SPDX-License-Identifier: BSD-3-Clause
// Schedule: what a plan has the nodes send to the aggregators in a collective write, round by
// round. For `oratorio simulate`. Counted by walking cursors, without data.
#pragma once

#include <vector>

#include "count/cutter.hpp"
#include "count/messages.hpp"

namespace oratorio::count {

/// What ranks of a node send to one place.
struct Flow {
    std::int64_t senders = 0;  ///< ranks that send at least one message
    std::int64_t messages = 0;
    std::int64_t pieces = 0;  ///< in those messages
    Bytes bytes = 0;          ///< of data in them
    Bytes described = 0;      ///< beside the data: heads and tables of runs
    Bytes own = 0;            ///< data that needs no message: a rank's own at its own place
    std::int64_t own_pieces = 0;

    void add(const Cut& cut, bool is_own);
    bool operator==(const Flow&) const = default;
};

/// One round.
struct RoundSchedule {
    std::int64_t round = 0;
    std::vector<Region> regions = {};  ///< by aggregator
    std::vector<Flow> sent = {};       ///< node * aggregators + aggregator
    std::vector<Flow> gathered =
        {};  ///< by node: of ranks to local aggregators; empty in one layer
};

/// Rounds that stand for all: at most `most`, at even distances, and fewer where they would have
/// more than `pieces` pieces together. At least one.
[[nodiscard]] std::vector<std::int64_t> sampled_rounds(const Plan& plan, std::int64_t all_pieces,
                                                       int most, std::int64_t pieces);

/// What is sent in those rounds of a write; `thin` plans are thinned before. Messages between a
/// rank and its local aggregator are exact. What a local aggregator sends is cut as if its ranks'
/// messages were there when it merges them, as they are where each has one for a region. Where
/// ranks share windows with their local aggregator nothing is sent to it: all is `own`.
[[nodiscard]] std::vector<RoundSchedule> schedule_of(const Job& job, const Plan& plan,
                                                     const std::vector<std::int64_t>& rounds);

}  // namespace oratorio::count
