// SPDX-License-Identifier: BSD-3-Clause
// What ranks would send each other, counted from plans and cursors without data: in a collective
// access by a method of ours, and by the two phases that users write by hand.
#pragma once

#include <functional>
#include <string_view>

#include "count/pieces.hpp"
#include "plan/plan.hpp"

namespace oratorio::count {

/// `nodes` of equally many ranks each, one after another.
[[nodiscard]] Nodes nodes_of(int ranks, int nodes);

/// A collective access of many ranks.
struct Job {
    Direction direction = Direction::write;
    Nodes nodes;
    LayoutOf layout_of;
    /// As they would be summed up of the layout; none: they are.
    std::function<AccessSummary(Rank rank)> summary_of = {};
    PlanOptions options = {};
    bool thorough = true;  ///< summaries say whether the pieces tile the hull, as they do in writes
    bool tiles = false;    ///< they are known to, and aren't walked for that; not with `thorough`
};

/// What all ranks tell each other: the same for all methods.
[[nodiscard]] Agreed<Summaries> summaries_of(const Job& job);
/// The plan that all ranks make.
[[nodiscard]] Plan plan_of(const Job& job, const Agreed<Summaries>& summaries,
                           std::string_view method);
[[nodiscard]] Plan plan_of(const Job& job, std::string_view method = "auto");

/// What crosses from rank to rank: data, and the messages it is in.
struct Sent {
    std::int64_t near_messages = 0;  ///< between ranks of a node
    std::int64_t far_messages = 0;   ///< between nodes
    Bytes near_bytes = 0;
    Bytes far_bytes = 0;
    Bytes description_bytes = 0;  ///< beside the data: heads and tables of runs, of all messages;
                                  ///< how it has ended

    bool operator==(const Sent&) const = default;
};

/// Messages in one layer: of a write with the data, of a read with what is asked for and its
/// answers (and before, where the plan wants it, with what rounds will hold); and those that tell
/// how it has ended. Exact: cut as exchange/own_runs cuts them. In reads all data is there, and
/// nothing fails.
[[nodiscard]] Sent count_sent(const Job& job, const Plan& plan);

/// Ranks [first, last) whose pieces fill `extent`: a row of the process grid.
struct Row {
    Group ranks;
    Extent extent;
};
/// By hand: MPI_Alltoallv within each row, after which each of its ranks has an equal part of its
/// extent. A message for each two ranks with something to say.
[[nodiscard]] Sent count_by_hand(const Job& job, const std::vector<Row>& rows);

/// Ranks that may send to the busiest aggregator, itself among them.
[[nodiscard]] std::int64_t senders_to_one_aggregator(const Plan& plan);

/// Pairs of a participant and a region of an aggregator that talk. Exact; O(participants) for all
/// regions together where they are contiguous and the graph is dense.
[[nodiscard]] std::int64_t count_edges(const Plan& plan);
/// Those of them where the participant has data.
[[nodiscard]] std::int64_t count_pairs_with_data(const Job& job, const Plan& plan);
/// The same plan in which only those talk that really have data.
[[nodiscard]] Plan thinned(const Job& job, Plan plan);

}  // namespace oratorio::count
