// SPDX-License-Identifier: BSD-3-Clause
// Token: limits how many ranks access the storage at the same time. With `at_once` = n, a rank
// waits for the token, a GO message, from the rank n below it, and passes the token to the rank n
// above it (Nitzberg & Fineberg 1995, node grouping).
#pragma once

#include "base/step.hpp"
#include "comm/transport.hpp"
#include "stats/stats.hpp"

namespace oratorio {

/// Waits for the token and passes it on, in steps. An object is used once, and must not move until
/// the token is passed. REQUIRES: collective.
class Token {
  public:
    /// Returns Step::done when this rank has the token. `at_once` (>= 1) and `sequence`, the
    /// access's number, are equal on all ranks. An error comes from the transport. REQUIRES: this
    /// rank holds no lock, because a rank that has the token may need that lock.
    Result<Step> come(Transport& transport, unsigned sequence, int at_once);
    /// Returns Step::done when the token is passed to the next rank. Called whether or not this
    /// rank's work succeeded. REQUIRES: come() has returned Step::done.
    Result<Step> pass(Transport& transport, unsigned sequence, int at_once, Stats& stats);

  private:
    Ticket ticket_;
    std::byte go_{};
};

}  // namespace oratorio
