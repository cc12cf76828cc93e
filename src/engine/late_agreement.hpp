// SPDX-License-Identifier: BSD-3-Clause
// LateAgreement: the agreement that ends a collective read in which each rank makes its own calls.
// A rank contributes its part when its own data has arrived, and returns. A later collective call
// on the file completes the agreement, at the latest the next collective access or the close; that
// access or the close also reports a failure. See
// docs/internals/decisions/waiting-and-progress.md.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "comm/agreed.hpp"
#include "engine/run_context.hpp"

namespace oratorio {

/// What a rank contributes at the end of its read.
struct ReadEnd {
    Error failure;                       ///< of this rank
    bool mismatched = false;             ///< this rank's access did not match the kept plan
    std::optional<AccessTimes> times;    ///< set on all ranks or on none
    std::shared_ptr<const Trial> trial;  ///< the trial that the times belong to; null without times
};

/// Returns the error of a call that does nothing, because an earlier read failed on some rank.
[[nodiscard]] Error after_failed_read(const Error& failed);

class LateAgreement {
  public:
    /// Contributes this rank's part to the agreement. Never waits. REQUIRES: no agreement is
    /// pending, and all ranks call it for the same access.
    void begin(const FileContext& file, const ReadEnd& mine);
    /// Makes progress; returns Step::done if no agreement is pending any more. The file's kept
    /// plans and learned times then reflect the agreed result. REQUIRES: the object does not move.
    Step step(const FileContext& file);
    /// Returns and forgets the error of a read that failed on some ranks only, if there is one; it
    /// is equal on all ranks. May also return an error of the transport. REQUIRES: no agreement is
    /// pending, and all ranks call it.
    [[nodiscard]] Error take_failure() { return std::exchange(failure_, {}); }

  private:
    void end(const FileContext& file);

    bool pending_ = false;
    Agreement agreement_;
    std::shared_ptr<const Trial> trial_;
    Error failure_;
};

}  // namespace oratorio
