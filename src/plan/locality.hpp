// SPDX-License-Identifier: BSD-3-Clause
// Locality: how much of an access's data need not leave the rank or the node that has it, if file
// domains are cut evenly. For the cost model.
#pragma once

#include <vector>

#include "plan/access.hpp"

namespace oratorio {

/// Shares of all bytes, from 0 to 1.
struct Locality {
    double own = 0;   ///< data of ranks that are its aggregators themselves
    double node = 0;  ///< data with its aggregator on the same node, including `own`
};

/// Estimates the locality. Each rank's data is assumed to be spread evenly over its hull.
/// `aggregators` own even parts of `hull` in the given order. Pure. Exact for up to a few thousand
/// ranks, and up to 64 aggregators that a rank's hull touches. With more, it samples at even
/// distances, so that it takes milliseconds and no memory.
[[nodiscard]] Locality locality_of(AllSummaries summaries, const Nodes& nodes, Extent hull,
                                   const std::vector<Rank>& aggregators);

}  // namespace oratorio
