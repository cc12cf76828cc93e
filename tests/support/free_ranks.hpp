// SPDX-License-Identifier: BSD-3-Clause
// free_ranks: N ranks in one process, one thread each, that run concurrently on all cores. So tests
// can find a race of two ranks in shared memory, which cannot occur in sim_transport, where ranks
// take turns.
//
// Each pair of a sender and a receiver has a lock of its own, because a message synchronises only
// these two: to a thread sanitizer, it orders no accesses of other ranks.
#pragma once

#include <functional>

#include "comm/transport.hpp"

namespace oratorio::test {

struct FreeOptions {
    int ranks = 1;
    int ranks_per_node = 0;  ///< ranks 0..n-1 on node 0 and so on; 0: all on one node
};

/// Runs `body` on every rank and returns when all have ended. `body` may use test assertions.
/// Aborts the program after four minutes.
void run_free_ranks(const FreeOptions& options, const std::function<void(Transport&)>& body);

}  // namespace oratorio::test
