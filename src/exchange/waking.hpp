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
    ~Waking() { end_shift(); }
    Waking(const Waking&) = delete;
    Waking& operator=(const Waking&) = delete;

    /// This rank is at work.
    void begin_shift();
    /// It has nothing to do just now.
    void end_shift();
    /// Something was changed that the rank may wait for.
    void tell(Rank rank) const;
    /// After it has told all that it had to.
    void call_others();
    /// Others keep all cores busy.
    [[nodiscard]] bool relieved() const { return relieved_; }

  private:
    const NodeMemory& node_;
    const Topology& topology_;
    bool gently_;
    bool on_shift_ = false;
    bool relieved_ = false;
};

}  // namespace oratorio
