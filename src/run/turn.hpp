// SPDX-License-Identifier: BSD-3-Clause
// Turn: where only so many ranks may be at the storage at once, a rank waits for GO from the rank
// so many before it, and passes it to the one so many behind (Nitzberg & Fineberg 1995, node
// grouping).
#pragma once

#include "base/transport.hpp"
#include "stats/stats.hpp"

namespace oratorio {

/// Collective, made in steps; used once. Stays where it is until it is passed.
class Turn {
  public:
    /// True when it is this rank's. `at_once` (>= 1) and `sequence`, the access's number, are equal
    /// on all ranks. An error is the transport's.
    Result<bool> come(Transport& transport, unsigned sequence, int at_once);
    /// True when the next rank has it; called after come(), whatever became of this rank's work.
    Result<bool> pass(Transport& transport, unsigned sequence, int at_once, Stats& stats);

  private:
    Ticket ticket_;
    std::byte go_{};
};

}  // namespace oratorio
