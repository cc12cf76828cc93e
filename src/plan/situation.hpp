// SPDX-License-Identifier: BSD-3-Clause
// Situation: the agreed facts that a method is chosen by, and what it would cost.
#pragma once

#include <optional>

#include "base/direction.hpp"
#include "base/extent.hpp"
#include "plan/locality.hpp"
#include "plan/options.hpp"

namespace oratorio {

/// Equal on all ranks for a collective access.
struct Situation {
    Direction direction = Direction::read;
    bool collective = false;
    int ranks = 1;
    int ranks_with_data = 0;
    Extent hull;
    Bytes bytes = 0;
    Bytes bytes_max = 0;  ///< of one rank
    std::int64_t pieces = 0;
    std::int64_t memory_pieces = 0;
    std::int64_t memory_lines = 0;  ///< that hold small ones
    double alike = 1;  ///< accesses like it that are taken to go on at once, on the same cores
    bool covered = false;
    bool interleaved = false;  ///< some rank's file layout isn't monotonic
    bool storable = true;      ///< some rank can be an aggregator
    int nodes = 1;
    double cores = 1;          ///< of a node: a share of its machine's
    int nodes_of_machine = 1;  ///< as in Nodes
    int aggregators = 1;       ///< of a method whose ranks send messages, unless it says otherwise
    Bytes slot_most = INT64_MAX;  ///< of a sub-buffer, where aggregators get messages
    double hulls = 0;             ///< bytes: what the hulls of all ranks together are long
    /// With even file domains of so many aggregators; none where data is taken to go everywhere.
    std::optional<Locality> locality;
    bool large_layout = false;  ///< flag_large_layout of some rank
    Bytes period = 0;           ///< as in AccessSummary, when all ranks agree; else one part
    std::int64_t parts = 1;
    const PlanOptions* options = nullptr;
    const PlanFacts* facts = nullptr;
    NodeSharing sharing;

    [[nodiscard]] bool one_node() const { return nodes == 1; }
    [[nodiscard]] bool reads() const { return direction == Direction::read; }
    /// Buffers keep a mask of what was given, in the same memory (as Plan::keeps_holes()).
    [[nodiscard]] bool keeps_holes() const { return !reads() && !covered; }
    /// Past the page cache.
    [[nodiscard]] bool is_direct() const {
        return reads() ? options->direct_read : options->direct_write;
    }
};

}  // namespace oratorio
