// SPDX-License-Identifier: BSD-3-Clause
// Locality: how much of an access's data need not leave the rank, the node or the switch that has
// it, if file domains are cut evenly. Used by the cost model, and to choose which aggregator owns
// which domain.
#pragma once

#include <vector>

#include "plan/access.hpp"

namespace oratorio {

/// Shares of all bytes, from 0 to 1.
struct Locality {
    double own = 0;        ///< data whose rank is itself the aggregator of the data
    double node = 0;       ///< data with its aggregator on the same node, including `own`
    double on_switch = 0;  ///< data with its aggregator on the same switch, including `node`
};

/// Estimates the locality. Each rank's data is assumed to be spread evenly over its hull.
/// `aggregators` own even parts of `hull` in the given order. Pure. The result is exact for up to a
/// few thousand ranks, and up to 64 aggregators that a rank's hull touches. With more, the function
/// samples at even distances, so that it takes milliseconds and no memory.
[[nodiscard]] Locality locality_of(AllSummaries summaries, const Nodes& nodes, Extent hull,
                                   const std::vector<Rank>& aggregators);

/// Puts the aggregators in the order of the even parts of `hull` that they will own: in rank order,
/// because consecutive ranks often have consecutive data. With several switches, compares this with
/// an order in which each part goes to an aggregator on the switch with most of the part's data,
/// while that switch has aggregators left, and takes that order if it raises the sum of the shares
/// Locality::node and Locality::on_switch by more than 0.01. Makes the assumptions of
/// locality_of(), and samples ranks as that function does. Pure. Takes O(switches * aggregators)
/// time.
void put_near_data(std::vector<Rank>& aggregators, AllSummaries summaries, const Nodes& nodes,
                   Extent hull);

}  // namespace oratorio
