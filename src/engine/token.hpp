// SPDX-License-Identifier: BSD-3-Clause
// Token: the token that limits how many ranks are at the storage at once. With `at_once` = n, a
// rank waits for GO from the rank n below it and passes it to the rank n above it (Nitzberg &
// Fineberg 1995, node grouping).
#pragma once

#include "base/step.hpp"
#include "comm/transport.hpp"
#include "stats/stats.hpp"

namespace oratorio {

/// Collective, made in steps; used once. Must not move until it is passed.
class Token {
  public:
    /// Returns Step::done when this rank has the token. `at_once` (>= 1) and `sequence`, the
    /// access's number, are equal on all ranks. An error comes from the transport.
    Result<Step> come(Transport& transport, unsigned sequence, int at_once);
    /// Returns Step::done when the token is passed to the next rank. Called after come(), whether
    /// or not this rank's work succeeded.
    Result<Step> pass(Transport& transport, unsigned sequence, int at_once, Stats& stats);

  private:
    Ticket ticket_;
    std::byte go_{};
};

}  // namespace oratorio
