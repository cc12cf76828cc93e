// SPDX-License-Identifier: BSD-3-Clause
// EntryTracker: which ranks have entered an access. No byte is loaded for a rank before that rank
// has entered, and no hole is filled before all ranks have: what their programs wrote before the
// access must be visible.
// An access whose summaries were gathered needs no tracking, because all ranks have entered it.
// With a kept plan, some ranks may not have entered yet.
#pragma once

#include "engine/run_context.hpp"
#include "exchange/node_shared/node_memory.hpp"
#include "plan/plan.hpp"

namespace oratorio {

class EntryTracker {
  public:
    /// Announces to the node that this rank has entered, if ranks track entries in node memory;
    /// otherwise, step() starts the reduction. `plan` and the file outlive the object. REQUIRES, if
    /// the access is collective: all ranks make their trackers in the order of accesses.
    EntryTracker(const WorkContext& context, const Plan& plan);

    /// Makes progress; an error comes from the transport.
    Result<void> step();
    /// Returns true if no reduction of this tracker remains to be completed.
    [[nodiscard]] bool settled() const { return complete_ || node_ != nullptr; }
    /// Returns true if all ranks of the file have entered.
    [[nodiscard]] bool everybody();
    /// Returns true once all ranks that may have data in that round's region are known to have
    /// entered.
    [[nodiscard]] bool all_of(int aggregator, std::int64_t round);

  private:
    [[nodiscard]] bool has_entered(Rank rank) const;

    Transport& transport_;
    const NodeMemory* node_ =
        nullptr;  ///< records which ranks have entered; null: the ranks use a reduction
    const Plan& plan_;
    std::uint64_t key_ = 0;
    bool complete_ = true;
    Rank next_ = 0;  ///< all ranks below this one have entered
    std::uint64_t nothing_ = 0;
    Ticket ticket_;
};

}  // namespace oratorio
