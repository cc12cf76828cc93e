// SPDX-License-Identifier: BSD-3-Clause
// The closed form of the cost model: the time that a machine takes for a plan with messages between
// ranks (two-phase). All functions are pure, and times are in nanoseconds. `auto` calls it with
// averages of the agreed facts (plan/estimate), `oratorio simulate` with counts from a whole plan
// (lab/count). The constants are in costs.def. docs/research/simulate.md explains the formulas in
// words.
#pragma once

#include <span>
#include <string_view>

#include "plan/costs.hpp"

namespace oratorio {

/// The messages and data of one node or aggregator of a plan. For reads the messages are requests,
/// and each has an answer with the data.
struct Load {
    double near_messages = 0;  ///< messages between ranks of a node
    double far_messages = 0;   ///< messages between nodes
    double pieces = 0;         ///< pieces in the messages
    double bytes = 0;       ///< data and piece descriptions in the messages; reads: in the answers
    double own_pieces = 0;  ///< pieces that need no message
    double own_bytes = 0;
    double asked_bytes = 0;  ///< reads: bytes in the requests

    [[nodiscard]] double messages() const { return near_messages + far_messages; }
    [[nodiscard]] double all_pieces() const { return pieces + own_pieces; }
};

/// The load of a node in one round.
struct NodeLoad {
    Load gathered;            ///< sent by the node's ranks to its local aggregators
    Load sent;                ///< sent by the node's senders to aggregators
    Load received;            ///< received by the node's aggregators
    double out_bytes = 0;     ///< bytes sent to other nodes
    double in_bytes = 0;      ///< bytes received from other nodes
    double stored_bytes = 0;  ///< bytes that its aggregators move to or from storage targets
    double store_work = 0;    ///< ns: storage calls of its aggregators
    double other_work = 0;    ///< ns of a core: all other work of its ranks in the round
};

/// The load of an aggregator in one round.
struct AggregatorLoad {
    Load received;
    double stored_bytes = 0;
};

/// The load of a storage target in one round.
struct TargetLoad {
    double bytes = 0;
    double writers = 0;  ///< aggregators that write to the target
};

/// One round: lists of loads; the slowest entry determines the time. An entry may represent many
/// similar ones.
struct RoundLoad {
    std::span<const NodeLoad> nodes;
    std::span<const AggregatorLoad> aggregators;
    std::span<const TargetLoad> targets;  ///< empty: NodeLoad::store_work has the storage's time
    double messages = 0;                  ///< messages to all aggregators
    double far_bytes = 0;                 ///< bytes between nodes, in total
};

/// The facts about a job that are the same in all rounds.
struct JobShape {
    bool reads = false;
    double ranks = 1;
    double nodes = 1;
    double cores = 1;  ///< cores of a node: a share of the machine's, if nodes share a machine
    double aggregators = 1;
    double senders = 1;            ///< ranks that exchange messages with aggregators
    double local_aggregators = 0;  ///< number on all nodes; 0: one layer
    bool in_windows = false;       ///< data goes through windows of the local aggregators
    double in_flight = 1;          ///< messages that a sender has in flight
    double slots = 1;
    double takes_turns = 1;        ///< aggregators that take turns at the same storage
    double stores_at_once = 1;     ///< storage calls of a node that don't wait for each other
    bool stored_by_cores = false;  ///< storage calls go through a page cache
    bool linked_by_cores = false;  ///< nodes share a machine, and its cores carry their messages
};

/// The times of one round, in nanoseconds.
struct RoundTerms {
    double gather = 0;
    double exchange = 0;
    double storage = 0;
    double cores = 0;  ///< time of a node's cores for all work of the round, including idle time
    std::string_view waits = "";  ///< what limits the exchange
};

/// The times of an access, in nanoseconds.
struct CostTerms {
    double agreements = 0;
    double gather = 0;
    double exchange = 0;
    double storage = 0;
    double all = 0;  ///< less than the sum where terms overlap, more where the cores are the limit
    std::string_view waits = "";  ///< what limits the exchange most of the time
};

/// Returns the time of `reductions` reductions over all ranks. The first one also carries the
/// summaries of all other nodes to each node.
[[nodiscard]] double agreements(const Costs& costs, double ranks, double nodes, int reductions);
/// Returns the maximum queue length of an aggregator that receives `messages` messages in a round.
/// Each rank has a limited number of messages in flight, spread over the aggregators.
[[nodiscard]] double queue_depth(const JobShape& shape, double messages);
[[nodiscard]] RoundTerms terms_of(const JobShape& shape, const RoundLoad& load, const Costs& costs);
/// Returns the terms of an access that repeats the given rounds `scale` times. REQUIRES: there is
/// at least one round.
[[nodiscard]] CostTerms terms_of(const JobShape& shape, std::span<const RoundTerms> rounds,
                                 double scale, double agreements);

}  // namespace oratorio
