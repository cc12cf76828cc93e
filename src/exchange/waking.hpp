// SPDX-License-Identifier: BSD-3-Clause
// Waking: how a rank of a node tells others that there may be something for them to do. Where each
// aggregator loads its own rounds, whoever waits is woken at once. Where any rank may load, no more
// ranks are woken than there are cores: who is at work goes on with what all have to do, and calls
// the others when it has nothing left (Hastings & Choudhary 2006 run a rank per core).
#pragma once

#include "exchange/node_memory.hpp"

namespace oratorio {

class Waking {
  public:
    /// `gently`: no more than there are cores for.
    Waking(const NodeMemory& node, const Topology& topology, bool gently)
        : node_(node), topology_(topology), gently_(gently) {}

    /// Something was changed that the rank may wait for.
    void tell(Rank rank) const;
    /// After it has told all that it had to. Where others then keep all cores busy, this rank
    /// sleeps at once when it comes to wait.
    void call_others() const;

  private:
    const NodeMemory& node_;
    const Topology& topology_;
    bool gently_;
};

/// When a rank is at work, where no more are woken than there are cores. Ends with the object.
class Shift {
  public:
    Shift(const NodeMemory& node, const Topology& topology)
        : node_(node), topology_(topology), waking_(node, topology, true) {}
    ~Shift();
    Shift(const Shift&) = delete;
    Shift& operator=(const Shift&) = delete;

    /// This rank is at work.
    void begin();
    /// It has nothing to do just now.
    void end();

  private:
    const NodeMemory& node_;
    const Topology& topology_;
    Waking waking_;
    bool on_ = false;
};

}  // namespace oratorio
