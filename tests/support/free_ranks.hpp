// SPDX-License-Identifier: BSD-3-Clause
// free_ranks: N ranks in one process, one thread each, that all run at once as the cores allow.
// They show what sim_transport cannot, where ranks take turns: two ranks in shared memory at the
// same time.
//
// A rank learns of another rank only as by messages: there is one lock for each pair, so that a
// thread sanitizer takes nothing else for ordered.
#pragma once

#include <functional>

#include "comm/transport.hpp"

namespace oratorio::test {

struct FreeOptions {
    int ranks = 1;
    int ranks_per_node = 0;  ///< ranks 0..n-1 on node 0 and so on; 0: all on one node
};

/// Runs `body` on every rank and returns when all have ended. Test assertions may be used in it. A
/// run that does not end within four minutes ends the program.
void run_free_ranks(const FreeOptions& options, const std::function<void(Transport&)>& body);

}  // namespace oratorio::test
