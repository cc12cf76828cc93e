// SPDX-License-Identifier: BSD-3-Clause
// The closed form: how long a machine takes for what a plan has its ranks do, where they talk by
// messages. Pure; in nanoseconds. `auto` asks it with averages of the agreed facts (plan/estimate),
// `oratorio simulate` with what was counted of a whole plan (tools/count). Constants: costs.def.
// The formulas in words: docs/simulate.md.
#pragma once

#include <span>
#include <string_view>

#include "plan/costs.hpp"

namespace oratorio {

/// What one of the plan's nodes or aggregators has to send, to receive or to place. In reads the
/// messages are requests, each of which has an answer; the data comes back in those.
struct Load {
    double near_messages = 0;  ///< between ranks of a node
    double far_messages = 0;   ///< between nodes
    double pieces = 0;         ///< in those messages
    double bytes = 0;          ///< in them, with what describes the pieces; reads: in the answers
    double own_pieces = 0;     ///< that need no message
    double own_bytes = 0;
    double asked_bytes = 0;  ///< reads: in the requests

    [[nodiscard]] double messages() const { return near_messages + far_messages; }
    [[nodiscard]] double all_pieces() const { return pieces + own_pieces; }
};

/// Of a node, in one round.
struct NodeLoad {
    Load gathered;            ///< by its local aggregators, of its ranks
    Load sent;                ///< by its senders to aggregators
    Load received;            ///< by its aggregators
    double out_bytes = 0;     ///< to other nodes
    double in_bytes = 0;      ///< from other nodes
    double stored_bytes = 0;  ///< by its aggregators, at storage targets
    double store_work = 0;    ///< ns: storage calls of its aggregators
    double other_work = 0;    ///< ns of a core: what else its ranks do meanwhile
};

/// Of an aggregator, in one round.
struct AggregatorLoad {
    Load received;
    double stored_bytes = 0;
};

/// Of a storage target, in one round.
struct TargetLoad {
    double bytes = 0;
    double writers = 0;  ///< aggregators that it has data of
};

/// One round: rows of which the slowest counts. A row may stand for many that are alike.
struct RoundLoad {
    std::span<const NodeLoad> nodes;
    std::span<const AggregatorLoad> aggregators;
    std::span<const TargetLoad> targets;  ///< none: the storage is the node's own
    double messages = 0;                  ///< to all aggregators
    double far_bytes = 0;                 ///< that cross from node to node, in all
};

/// What is the same in all rounds.
struct JobShape {
    bool reads = false;
    double ranks = 1;
    double nodes = 1;
    double cores = 1;  ///< of a node: a share of them, where nodes are one machine's
    double aggregators = 1;
    double senders = 1;            ///< ranks that talk to aggregators
    double local_aggregators = 0;  ///< of all nodes; 0: one layer
    bool in_windows = false;       ///< ranks put their data where local aggregators see it
    double in_flight = 1;          ///< messages of a sender under way
    double slots = 1;
    double takes_turns = 1;        ///< aggregators that share a storage, which goes on beside them
    double stores_at_once = 1;     ///< storage calls of a node that don't wait for each other
    bool stored_by_cores = false;  ///< by way of a page cache
    bool linked_by_cores = false;  ///< nodes are one machine's, whose cores carry what they send
};

/// Seconds' worth of one round, or of all of them, in nanoseconds.
struct RoundTerms {
    double gather = 0;
    double exchange = 0;
    double storage = 0;
    double cores = 0;             ///< what a node's cores work in all of that, and idle
    std::string_view waits = "";  ///< what the exchange waits for
};

/// Of an access.
struct CostTerms {
    double agreements = 0;
    double gather = 0;
    double exchange = 0;
    double storage = 0;
    double all = 0;               ///< less than their sum where they overlap
    std::string_view waits = "";  ///< what the exchange waits for, in most of its time
};

/// So many reductions over all ranks; the first time each node gets the summaries of the others.
[[nodiscard]] double agreements(const Costs& costs, double ranks, double nodes, int reductions);
/// Most entries that wait for an aggregator which gets so many messages in a round: a rank has only
/// so many under way, spread over the aggregators.
[[nodiscard]] double queue_depth(const JobShape& shape, double messages);
[[nodiscard]] RoundTerms terms_of(const JobShape& shape, const RoundLoad& load, const Costs& costs);
/// Of an access whose rounds are `scale` times those given, of which there is at least one.
[[nodiscard]] CostTerms terms_of(const JobShape& shape, std::span<const RoundTerms> rounds,
                                 double scale, double agreements);

}  // namespace oratorio
