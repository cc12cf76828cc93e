// SPDX-License-Identifier: BSD-3-Clause
// PreExtend: makes a file as long as a collective write through mappings needs, before any rank
// writes. Storing to mappings while other ranks extend the file loses data: ext4 in Linux 6.18
// zeroes pages past the end of file that it last recorded.
#pragma once

#include "comm/agreed.hpp"
#include "engine/run_context.hpp"

namespace oratorio {

/// Extends the file in steps. An object is used once. REQUIRES: collective.
class PreExtend {
  public:
    /// Returns Step::done when finished. `end`: the file length that this rank's data needs, 0 for
    /// none. An error is fatal: the transport failed.
    Result<Step> step(const RunContext& context, Offset end);
    /// Returns an error if the file is too short: no rank may then write to mappings of it. Equal
    /// on all ranks. REQUIRES: step() has returned Step::done.
    [[nodiscard]] const Error& error() const { return extended_.error(); }

  private:
    enum class Phase { idle, measuring, extending };

    Phase phase_ = Phase::idle;
    Ticket ticket_;
    std::uint64_t end_ = 0;  ///< needed file length; once reduced, the maximum over all ranks
    Agreement extended_;
};

}  // namespace oratorio
