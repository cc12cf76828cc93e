// SPDX-License-Identifier: BSD-3-Clause
// PlanInputs: the agreed facts that determine which method is chosen and what it would cost.
#pragma once

#include <optional>

#include "base/direction.hpp"
#include "base/extent.hpp"
#include "plan/locality.hpp"
#include "plan/options.hpp"

namespace oratorio {

/// The facts from which a plan is made. Equal on all ranks in a collective access.
struct PlanInputs {
    Direction direction = Direction::read;
    bool collective = false;
    int ranks = 1;
    int ranks_with_data = 0;
    Extent hull;
    Bytes bytes = 0;
    Bytes bytes_max = 0;  ///< largest number of bytes of one rank
    std::int64_t pieces = 0;
    std::int64_t memory_pieces = 0;
    std::int64_t memory_lines = 0;  ///< cache lines of memory that hold small pieces
    double alike = 1;      ///< similar accesses assumed to run at the same time on the same cores
    bool covered = false;  ///< writes: the data covers the hull exactly once
    bool interleaved = false;     ///< some rank's file layout isn't monotonic
    bool storable = true;         ///< some rank can be an aggregator
    bool agents_storable = true;  ///< every agent's rank can be an aggregator
    int nodes = 1;
    double cores = 1;          ///< cores of a node: its share of the machine's
    int nodes_of_machine = 1;  ///< largest number of nodes on a machine
    int aggregators = 1;  ///< number for a method with messages, unless the method says otherwise
    Bytes slot_most = INT64_MAX;  ///< limit for sub-buffers of aggregators that receive messages
    double hulls = 0;             ///< bytes: sum of the lengths of all ranks' hulls
    /// Bytes: sum of the lengths of the hulls of all groups of local aggregators. 0 on one node,
    /// unless a method with two layers was requested.
    double group_hulls = 0;
    /// The locality with even file domains of `aggregators` aggregators. Not set if data is assumed
    /// to spread evenly over all nodes.
    std::optional<Locality> locality;
    bool large_layout = false;  ///< some rank has flag_large_layout
    /// Distance between the parts, as in AccessSummary::period; unused with one part.
    Bytes period = 0;
    std::int64_t parts = 1;
    const PlanOptions* options = nullptr;
    const PlanFacts* facts = nullptr;
    NodeSharing sharing;

    [[nodiscard]] bool one_node() const { return nodes == 1; }
    [[nodiscard]] bool reads() const { return direction == Direction::read; }
    /// Returns true if buffers need a write mask, which takes a part of their memory (as in
    /// Plan::keeps_holes()).
    [[nodiscard]] bool keeps_holes() const { return !reads() && !covered; }
    /// Returns true if the storage requests of buffers progress without a thread. Those of a
    /// read-modify-write don't, because a thread has to merge the bytes in between.
    [[nodiscard]] bool stores_by_itself() const { return facts->asynchronous && !keeps_holes(); }
    /// Returns true if the access bypasses the page cache.
    [[nodiscard]] bool is_direct() const {
        return reads() ? options->direct_read : options->direct_write;
    }
};

}  // namespace oratorio
