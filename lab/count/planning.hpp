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

/// The role of a rank of the job's middle node.
enum Role : std::size_t { first_of_node, aggregator_only, without_role, roles };
/// The number of that rank on its node. The first rank aggregates, too, and is the local aggregator
/// if there are two layers.
inline constexpr std::array<Rank, roles> kPlaceOfRole{0, kRanksOfNode / 2, 5};

struct KeptByRole {
    Bytes bytes = 0;               ///< size of the plan that is kept
    std::int64_t known_ranks = 0;  ///< ranks with a hull that it knows
    std::int64_t regions = 0;      ///< regions in which it has data of its own
    bool operator==(const KeptByRole&) const = default;
};

struct Planned {
    Bytes nodes = 0;   ///< size of the rank map; found once per communicator
    Bytes list = 0;    ///< summaries of all ranks, once per node
    Bytes shared = 0;  ///< all shared memory of a node, including the list
    /// Most memory that a rank holds in addition while it plans, without `nodes`.
    Bytes most = 0;
    /// Steps until a node's first rank has the summaries of all nodes, if they double with each;
    /// other ranks send no message.
    int steps = 0;
    std::int64_t rounds = 0;
    std::size_t aggregators = 0;
    /// Time of one core, from the summaries to the plan kept for the first role.
    double seconds = 0;
    std::array<KeptByRole, roles> kept;

    /// Returns the memory of a node while all of its ranks plan.
    [[nodiscard]] Bytes of_node() const { return shared + most * kRanksOfNode; }
};

/// Counts a job in which each rank writes 1 MiB of its own, one after the other. REQUIRES: `ranks`
/// is a multiple of kRanksOfNode.
[[nodiscard]] Planned count_plan(int ranks, std::string_view method);

}  // namespace oratorio::count
