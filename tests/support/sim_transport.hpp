// SPDX-License-Identifier: BSD-3-Clause
// sim_transport: N ranks in one process, one thread each, of which exactly one runs at a time. At
// every transport call a seeded scheduler may pick another one, so that the same seed gives the
// same interleaving, byte for byte.
//
// It is stricter than MPI: a send is done only once its receive has matched; on several nodes a
// receive from any rank matches only when it is tested (as in MpiTransport); received bytes appear
// in the caller's buffer only when `test` returns done; completions are reported late and out of
// order; collectives that differ between ranks, messages longer than their receive, operations
// never finished and deadlocks all end the run with an explanation.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include "comm/transport.hpp"

namespace oratorio::test {

struct SimOptions {
    int ranks = 1;
    std::uint64_t seed = 1;
    int ranks_per_node = 0;  ///< ranks 0..n-1 on node 0 and so on; 0: all on one node
    /// If not empty, replaces ranks_per_node: the node of each rank. Nodes are numbered by first
    /// appearance.
    std::vector<int> node_of = {};
    std::vector<int> switch_of = {};  ///< the switch of each node, as in Nodes; empty: one switch
    bool switches_known = true;       ///< the ranks' topology has `switch_of`
    int switch_percent = 20;          ///< chance that a call other than idle lets another rank run
    /// Chance that `test` reports a finished operation as unfinished.
    int late_percent = 30;
    /// Number of idle calls of all ranks without progress that counts as a deadlock.
    std::uint64_t idle_limit = 200'000;
    Rank fail_rank = -1;  ///< the rank with a send that fails; -1: none
    /// Number of that send, from 1. Unless it is 0, operations may stay unfinished.
    std::uint64_t fail_send = 0;
    /// The other ranks learn of the failure in idle().
    bool failure_is_told = false;
};

struct SimCounters {
    std::uint64_t messages = 0;                   ///< number of sends started
    std::uint64_t bytes = 0;                      ///< total length of those sends
    std::uint64_t messages_between_switches = 0;  ///< those to another switch, known or not
    std::uint64_t bytes_between_switches = 0;     ///< total length of those
    std::uint64_t collectives = 0;
    std::uint64_t idles = 0;
};

struct SimReport {
    std::vector<SimCounters> counters;  ///< index: rank
    std::uint64_t trace = 0;            ///< hash of all events in their order
};

/// Thrown if a run goes wrong: by a deadlock, a mismatch, misuse, or an exception of a rank. what()
/// holds the seed and the reason; after a deadlock, and if operations stay unfinished, also the
/// operations of each rank.
struct SimFailure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Runs `body` on every rank and returns when all have ended. Throws SimFailure. `body` may use
/// test assertions; transport.topology().rank is the rank that runs.
SimReport run_ranks(const SimOptions& options, const std::function<void(Transport&)>& body);

}  // namespace oratorio::test
