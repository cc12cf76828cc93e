// SPDX-License-Identifier: BSD-3-Clause
// The memory and the steps that a rank needs to plan a collective access of a made-up job, and to
// keep the plan. The counts are exact.
#pragma once

#include <array>
#include <string_view>

#include "base/extent.hpp"
#include "plan/plan.hpp"

namespace oratorio::count {

inline constexpr int kRanksOfNode = 64;

/// Roles of ranks on the job's middle node: the first rank, an aggregator, and a rank without a
/// role.
enum Role : std::size_t { first_of_node, aggregator_only, without_role, roles };
/// For each role, the index of its rank on the node. The first rank is also an aggregator and, in
/// two layers, the local aggregator.
inline constexpr std::array<Rank, roles> kPlaceOfRole{0, kRanksOfNode / 2, 5};

struct KeptByRole {
    Bytes bytes = 0;               ///< size of the plan that is kept
    std::int64_t known_ranks = 0;  ///< number of hulls of ranks that this rank keeps
    std::int64_t regions = 0;      ///< regions in which this rank has data of its own
    bool operator==(const KeptByRole&) const = default;
};

struct Planned {
    Bytes nodes = 0;   ///< size of the rank map, which is made once per communicator
    Bytes list = 0;    ///< size of the summaries of all ranks, once per node
    Bytes shared = 0;  ///< size of all shared memory of a node, including the list
    /// Most memory that the first rank of a node needs while it plans, in addition to `nodes` and
    /// `shared`.
    Bytes most = 0;
    /// Steps until the first rank of a node has the summaries of all nodes, if their number doubles
    /// with each step. Other ranks send no message.
    int steps = 0;
    std::int64_t rounds = 0;
    std::size_t aggregators = 0;
    /// Seconds of one core from the summaries to the plan of the first role.
    double seconds = 0;
    std::array<KeptByRole, roles> kept;

    /// Returns the most memory of a node while all of its ranks plan, without `nodes`.
    [[nodiscard]] Bytes of_node() const { return shared + most * kRanksOfNode; }
};

/// Plans a job in which each rank writes 1 MiB, the ranks' data one after the other, and counts
/// the memory and steps of planning. REQUIRES: `ranks` is a multiple of kRanksOfNode.
[[nodiscard]] Planned count_plan(int ranks, std::string_view method);

}  // namespace oratorio::count
