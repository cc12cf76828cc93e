// SPDX-License-Identifier: BSD-3-Clause
// Edges: the rounds in which each rank really has data. A rank's hull shows where it may have data;
// with sparse data that is nearly everywhere. One global pass before the first round finds the
// edges, so that only ranks with data exchange messages (MPI-IO/GPFS, 2001, section 2.4.1, "minimal
// communication graph").
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/topology.hpp"

namespace oratorio {

struct Access;
struct Plan;

/// The edges of one rank; sent as bytes. A bit represents one round of one aggregator. If the
/// rounds of all aggregators together exceed the number of bits, several consecutive rounds of an
/// aggregator share a bit; with more aggregators than bits, several aggregators share one, too. A
/// rank then counts as having data in all rounds of the bit.
/// EdgeBits has the size of a summary, because a node keeps a list of edges or a list of summaries
/// in the same memory.
using EdgeBits = std::bitset<384>;

/// Maps a round of an aggregator to its bit. The mapping is a pure function of the plan's numbers,
/// so it is equal on all ranks.
class EdgeScale {
  public:
    EdgeScale() = default;
    EdgeScale(std::size_t aggregators, std::int64_t rounds);
    [[nodiscard]] std::size_t bit(int aggregator, std::int64_t round) const {
        const auto cell = static_cast<std::size_t>(aggregator) * cells_ +
                          static_cast<std::size_t>(round / rounds_per_cell_);
        return cell % EdgeBits().size();
    }

  private:
    std::size_t cells_ = 1;  ///< cells per aggregator
    std::int64_t rounds_per_cell_ = 1;
};

/// The edges of all participants of a graph, in the graph's order.
struct Edges {
    EdgeScale scale;
    std::vector<EdgeBits> of_participants;
    std::int64_t count = 0;  ///< bits set, in total over all ranks

    [[nodiscard]] bool has(std::size_t participant, int aggregator, std::int64_t round) const {
        return of_participants[participant][scale.bit(aggregator, round)];
    }
};

/// Returns this rank's edges. Searches its data at most once for each extent of the regions that
/// its hull touches.
[[nodiscard]] EdgeBits edges_of(const Plan& plan, Rank rank, const Access& access);

/// Returns the indices, in ascending order, of the aggregators in whose rounds `rank` takes part,
/// without the index of `rank` itself.
[[nodiscard]] std::vector<int> aggregators_of_edges(const Plan& plan, Rank rank);
/// Returns the ranks that take part in rounds of aggregator `index`, excluding the aggregator.
[[nodiscard]] std::vector<Rank> ranks_of_edges(const Plan& plan, int index);

}  // namespace oratorio
