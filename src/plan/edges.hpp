// SPDX-License-Identifier: BSD-3-Clause
// Edges: in which rounds each rank really has data. A rank's hull says where it may have some;
// where data lies thin that is nearly everywhere. Found by one global pass before the first round,
// so that only who has data talks (MPI-IO/GPFS, 2001, section 2.4.1, "minimal communication
// graph").
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/topology.hpp"

namespace oratorio {

struct Access;
struct Plan;

/// One rank's; travels as bytes. A bit stands for one round of one aggregator. Where there are more
/// rounds than bits, several that follow each other share one, and with more aggregators than bits,
/// aggregators do: a rank is then taken to have data in all of them. As long as a summary: a node
/// has the list of either in the same place.
using EdgeBits = std::bitset<384>;

/// Which bit stands for a round. A pure function of the plan's numbers, so equal on all ranks.
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
    std::size_t cells_ = 1;  ///< of one aggregator
    std::int64_t rounds_per_cell_ = 1;
};

/// Of all participants of a graph, in its order.
struct Edges {
    EdgeScale scale;
    std::vector<EdgeBits> of_participants;
    std::int64_t count = 0;  ///< all that are set, of all ranks

    [[nodiscard]] bool has(std::size_t participant, int aggregator, std::int64_t round) const {
        return of_participants[participant][scale.bit(aggregator, round)];
    }
};

/// This rank's, by one seek for each extent of the regions that its hull touches.
[[nodiscard]] EdgeBits edges_of(const Plan& plan, Rank rank, const Access& access);

/// The other ranks' aggregators, by index and ascending, that `rank` shares an edge with: some
/// round of theirs has it as a participant.
[[nodiscard]] std::vector<int> aggregators_of_edges(const Plan& plan, Rank rank);
/// The other side of that: the ranks, without its own, that share an edge with that aggregator.
[[nodiscard]] std::vector<Rank> ranks_of_edges(const Plan& plan, int index);

}  // namespace oratorio
