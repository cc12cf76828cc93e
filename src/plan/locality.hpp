// SPDX-License-Identifier: BSD-3-Clause
// Locality: how much of an access's data needn't leave the rank or the node that has it, where file
// domains are cut evenly. For the cost model.
#pragma once

#include <vector>

#include "plan/access.hpp"

namespace oratorio {

/// Shares of all bytes, 0 to 1.
struct Locality {
    double own = 0;   ///< of ranks that are their own aggregators there
    double node = 0;  ///< of ranks that have the aggregator on their node, those included
};

/// Pure. Each rank's data is taken to be spread evenly over its hull. `aggregators` own even parts
/// of `hull` in the order given. Exact up to a few thousand ranks and 64 aggregators that a rank's
/// hull touches; of more, some at even distances stand for all, so that it takes milliseconds and
/// no memory.
[[nodiscard]] Locality locality_of(AllSummaries summaries, const Nodes& nodes, Extent hull,
                                   const std::vector<Rank>& aggregators);

}  // namespace oratorio
