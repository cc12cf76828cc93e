// SPDX-License-Identifier: BSD-3-Clause
// Locality: how much of an access's data need not leave the rank or the node that has it, if file
// domains are cut evenly. The cost model uses it.
#pragma once

#include <vector>

#include "plan/access.hpp"

namespace oratorio {

/// Shares of all bytes, from 0 to 1.
struct Locality {
    double own = 0;   ///< data whose rank is itself the aggregator of the data
    double node = 0;  ///< data with its aggregator on the same node, including `own`
};

/// Estimates the locality. Each rank's data is assumed to be spread evenly over its hull.
/// `aggregators` own even parts of `hull` in the given order. Pure. The result is exact for up to a
/// few thousand ranks, and up to 64 aggregators that a rank's hull touches. With more, the function
/// samples at even distances, so that it takes milliseconds and no memory.
[[nodiscard]] Locality locality_of(AllSummaries summaries, const Nodes& nodes, Extent hull,
                                   const std::vector<Rank>& aggregators);

}  // namespace oratorio
