// SPDX-License-Identifier: BSD-3-Clause
// Traffic: what ranks send each other in an access of a method that works by messages, as far as
// the agreed facts tell. For the cost model: averages, not what one rank will really send.
#pragma once

#include "plan/methods.hpp"

namespace oratorio {

struct Traffic {
    double aggregators = 1;
    double storing_nodes = 1;  ///< that have an aggregator
    double senders = 1;        ///< that talk to aggregators
    double slots = 1;          ///< sub-buffers of an aggregator that have a round to work for
    double slot_bytes = 0;     ///< of data
    double rounds = 1;         ///< at least 1; a part of a round counts as that part
    double near_messages = 0;  ///< between ranks of a node, there; what comes back isn't counted
    double far_messages = 0;   ///< from node to node, there
    double far_bytes = 0;      ///< of data, from node to node
    double own_share = 0;      ///< of all data: a rank's own at its own place, without a message
};

/// Local aggregators of all nodes, where a method has them.
[[nodiscard]] double groups_of(const Situation& situation);

/// Pure. Participants are taken to be spread evenly over the nodes, as aggregators are; their data
/// over the aggregators too, unless the situation knows how much of it stays.
[[nodiscard]] Traffic traffic_of(const Method& method, const Situation& situation);

}  // namespace oratorio
