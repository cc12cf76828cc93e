// SPDX-License-Identifier: BSD-3-Clause
// What it takes a rank to plan a collective access of a pretended job, and to keep the plan: bytes
// and steps, exactly.
#pragma once

#include <array>
#include <string_view>

#include "base/extent.hpp"
#include "plan/plan.hpp"

namespace oratorio::count {

inline constexpr int kRanksOfNode = 64;

/// A rank of the job's middle node.
enum Role : std::size_t { first_of_node, aggregator_only, without_role, roles };
/// Which of its node's ranks that is. The first one aggregates, too, and is the local aggregator
/// where there are two layers.
inline constexpr std::array<Rank, roles> kPlaceOfRole{0, kRanksOfNode / 2, 5};

struct KeptByRole {
    Bytes bytes = 0;               ///< of the plan that is kept
    std::int64_t known_ranks = 0;  ///< whose hulls it knows
    std::int64_t regions = 0;      ///< in which it has data of its own
    bool operator==(const KeptByRole&) const = default;
};

struct Planned {
    Bytes nodes = 0;   ///< which rank is on which node; found once for a communicator
    Bytes list = 0;    ///< summaries of all ranks, once for a node
    Bytes shared = 0;  ///< all that a node's ranks share to meet in, with the list
    Bytes most = 0;    ///< that a rank holds besides while it plans, without `nodes`
    int steps = 0;     ///< in which a node's first rank has those of all nodes, if they double
                       ///< with each; other ranks have no message
    std::int64_t rounds = 0;
    std::size_t aggregators = 0;
    double seconds = 0;  ///< of one core, from the summaries to what is kept for the first role
    std::array<KeptByRole, roles> kept;

    /// While all of its ranks plan.
    [[nodiscard]] Bytes of_node() const { return shared + most * kRanksOfNode; }
};

/// Each rank writes a MiB of its own, one behind the other. `ranks` is a multiple of kRanksOfNode.
[[nodiscard]] Planned count_plan(int ranks, std::string_view method);

}  // namespace oratorio::count
