// SPDX-License-Identifier: BSD-3-Clause
// Waking: how a rank of a node notifies others that there may be work. If each aggregator loads its
// own rounds, a waiting rank is woken at once. If any rank may load, ranks are woken only for idle
// cores: a working rank continues with the work that all ranks share, and wakes the remaining ranks
// when it runs out of work (Hastings & Choudhary 2006 run one rank per core).
#pragma once

#include "exchange/node_shared/node_memory.hpp"

namespace oratorio {

class Waking {
  public:
    /// `gently` says to wake no more ranks than there are cores.
    Waking(const NodeMemory& node, const Topology& topology, bool gently)
        : node_(node), topology_(topology), gently_(gently) {}

    /// Rings the rank's doorbell: something that it may wait for has changed. REQUIRES, if gently:
    /// call_others() follows.
    void tell(Rank rank) const;
    /// If gently, wakes ranks for which tell() was called, at most one for each idle core. If ranks
    /// share cores and all cores are then busy, this rank sleeps at once the next time it waits.
    /// Does nothing if not gently. REQUIRES: called after the last tell().
    void call_others() const;

  private:
    const NodeMemory& node_;
    const Topology& topology_;
    bool gently_;
};

/// Counts this rank as working from begin() to end(), for accesses that wake no more ranks than
/// there are cores. The destructor calls end().
class ActiveScope {
  public:
    ActiveScope(const NodeMemory& node, const Topology& topology)
        : node_(node), topology_(topology), waking_(node, topology, true) {}
    ~ActiveScope();
    ActiveScope(const ActiveScope&) = delete;
    ActiveScope& operator=(const ActiveScope&) = delete;

    /// Counts this rank as working.
    void begin();
    /// Stops counting this rank as working, because it has no work for now, and wakes others.
    void end();

  private:
    const NodeMemory& node_;
    const Topology& topology_;
    Waking waking_;
    bool on_ = false;
};

}  // namespace oratorio
