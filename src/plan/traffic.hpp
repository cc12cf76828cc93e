// SPDX-License-Identifier: BSD-3-Clause
// Traffic: an estimate of the messages of an access with a method that sends messages, from the
// agreed facts. For the cost model: averages, not the messages that one rank will really send.
#pragma once

#include "plan/methods.hpp"

namespace oratorio {

struct Traffic {
    double aggregators = 1;
    double storing_nodes = 1;  ///< with an aggregator
    double senders = 1;        ///< ranks that exchange messages with aggregators
    double slots = 1;          ///< sub-buffers of an aggregator that have a round to work on
    double slot_bytes = 0;     ///< of data
    double rounds = 1;         ///< at least 1; may be fractional
    double near_messages = 0;  ///< between ranks of a node, one way; replies aren't counted
    double far_messages = 0;   ///< between nodes, one way
    double far_bytes = 0;      ///< bytes of data between nodes
    double own_share = 0;      ///< of all data: a rank is its own aggregator, no message
};

/// Returns the number of local aggregators on all nodes, for a method with local aggregators.
[[nodiscard]] double groups_of(const PlanInputs& inputs);

/// Estimates the traffic. Participants and aggregators are assumed to be spread evenly over the
/// nodes. Their data is assumed to be spread evenly over the aggregators, unless the situation
/// knows how much of it stays. Pure.
[[nodiscard]] Traffic traffic_of(const Method& method, const PlanInputs& inputs);

}  // namespace oratorio
