// SPDX-License-Identifier: BSD-3-Clause
// Traffic: an estimate of the messages of an access with a method that sends messages, from the
// agreed facts. It serves the cost model, so it holds averages, not the messages that one rank will
// really send.
#pragma once

#include "plan/methods.hpp"

namespace oratorio {

struct Traffic {
    double aggregators = 1;
    double storing_nodes = 1;  ///< nodes with an aggregator
    double senders = 1;        ///< ranks that exchange messages with aggregators
    double slots = 1;          ///< sub-buffers of an aggregator that have a round to work on
    double slot_bytes = 0;     ///< data bytes of a slot
    double rounds = 1;         ///< number of rounds, at least 1; may be fractional
    double near_messages = 0;  ///< messages between ranks of a node, without replies
    double far_messages = 0;   ///< messages between nodes, without replies
    double far_bytes = 0;      ///< bytes of data between nodes
    double own_share = 0;      ///< share of the data that needs no message: its rank aggregates it
};

/// Estimates the number of local aggregators on all nodes, for a method with local aggregators, as
/// if all nodes had the same number of ranks.
[[nodiscard]] double groups_of(const PlanInputs& inputs);

/// Estimates the traffic. Participants and aggregators are assumed to be spread evenly over the
/// nodes. Their data is assumed to be spread evenly over the aggregators, unless `inputs` has a
/// locality. Pure.
[[nodiscard]] Traffic traffic_of(const Method& method, const PlanInputs& inputs);

}  // namespace oratorio
