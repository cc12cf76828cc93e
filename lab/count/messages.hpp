// SPDX-License-Identifier: BSD-3-Clause
// The messages between ranks, counted from plans and cursors without data: in a collective access
// by one of the library's methods, and in two-phase I/O as users write it by hand.
#pragma once

#include <functional>
#include <string_view>

#include "count/pieces.hpp"
#include "plan/plan.hpp"

namespace oratorio::count {

/// Returns `nodes` nodes with the same number of ranks, one after another.
[[nodiscard]] Nodes nodes_of(int ranks, int nodes);

/// A collective access of many ranks.
struct Job {
    Direction direction = Direction::write;
    Nodes nodes;
    LayoutOf layout_of;
    /// Returns the summary of a rank, equal to the one computed from its layout. If this
    /// function is empty, summaries are computed from layouts.
    std::function<AccessSummary(Rank rank)> summary_of = {};
    PlanOptions options = {};
    bool thorough = true;  ///< summaries say whether the pieces tile the hull, as in writes
    /// The pieces of all ranks are known to tile the hull, so no pieces are walked to check that.
    /// REQUIRES: not `thorough`.
    bool tiles = false;
};

/// Returns the summaries that all ranks exchange; they are the same for all methods.
[[nodiscard]] Agreed<Summaries> summaries_of(const Job& job);
/// Returns the plan that all ranks make.
[[nodiscard]] Plan plan_of(const Job& job, const Agreed<Summaries>& summaries,
                           std::string_view method);
[[nodiscard]] Plan plan_of(const Job& job, std::string_view method = "auto");

/// The data that crosses from rank to rank, and its messages.
struct Sent {
    std::int64_t near_messages = 0;  ///< messages between ranks of a node
    std::int64_t far_messages = 0;   ///< messages between nodes
    Bytes near_bytes = 0;
    Bytes far_bytes = 0;
    Bytes bytes_between_switches = 0;  ///< the part of far_bytes between nodes of two switches
    /// Heads and tables of runs of all messages, contents messages, and reported outcomes.
    Bytes description_bytes = 0;

    bool operator==(const Sent&) const = default;
};

/// Counts the messages of one layer: in writes those with the data, in reads the requests and
/// replies, preceded by contents messages if the plan uses them. If the aggregators report the
/// outcome (Ending::reported), those messages count in writes and reads. The count is exact,
/// because messages are cut as exchange/own_data cuts them. It assumes that in reads all data is in
/// the file, and that nothing fails.
[[nodiscard]] Sent count_sent(const Job& job, const Plan& plan);

/// A row of the process grid. The pieces of its ranks [first, last) fill `extent`.
struct Row {
    Group ranks;
    Extent extent;
};
/// Counts the messages of an MPI_Alltoallv within each row, which gives each rank of the row an
/// equal part of the row's extent. There is one message for each pair of ranks with common data.
[[nodiscard]] Sent count_by_hand(const Job& job, const std::vector<Row>& rows);

/// Returns the number of ranks that may send to the busiest aggregator, itself included.
[[nodiscard]] std::int64_t senders_to_one_aggregator(const Plan& plan);

/// Returns the number of pairs of a participant and an aggregator's region that exchange messages.
/// The count is exact. If the graph is dense, a contiguous region takes O(log participants).
[[nodiscard]] std::int64_t count_edges(const Plan& plan);
/// Returns the number of pairs of a participant and a region in which the participant has data.
[[nodiscard]] std::int64_t count_pairs_with_data(const Job& job, const Plan& plan);
/// Returns the plan without the edges that carry no data, as the library does it: if rounds share a
/// bit of EdgeBits, edges without data may remain.
[[nodiscard]] Plan thinned(const Job& job, Plan plan);

}  // namespace oratorio::count
