// SPDX-License-Identifier: BSD-3-Clause
// PlanCache: the plans of the last collective read and the last collective write, kept until the
// view, the hints or the atomic mode is set, so that the next access of the same shape is planned
// without messages between ranks.
//
// Each rank decides alone whether its access has the kept shape, possibly at another offset. A rank
// with a different access takes part in the kept plan without data, so that no rank waits for it in
// vain, and sets a veto in the reduction that ends the access. Ranks that moved the kept plan by
// different distances notice it when they exchange data (ExchangeProgress::differs), veto too, and
// store no data that isn't as planned. After a veto, all ranks make a new plan and repeat the
// access. A kept plan with Ending::late is the exception: a rank with a different access performs
// it with a plan of its own, and nothing is repeated. See docs/internals/decisions/plans.md.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "engine/run_memory.hpp"
#include "plan/plan.hpp"

namespace oratorio {

class PlanCache {
  public:
    struct Kept {
        Plan plan;
        AccessSummary mine;
    };

    /// Returns true if the next collective access should try the kept plan. Equal on all ranks.
    [[nodiscard]] bool trusted(Direction direction) const;
    /// Returns the kept plan, moved to the offset of this access; nothing if the plan doesn't fit
    /// the access. REQUIRES: trusted().
    [[nodiscard]] std::optional<Kept> recall(const Access& access) const;
    /// Returns the kept plan without moving it, for a rank that takes part in it without data.
    /// REQUIRES: trusted().
    [[nodiscard]] const Plan& plan(Direction direction) const { return entry(direction).plan; }
    /// Keeps the plan of `access`, this rank's summary of it and the fingerprint of all ranks'
    /// summaries. REQUIRES: all ranks planned together.
    void keep(const Access& access, const Plan& plan, const AccessSummary& mine,
              std::uint64_t fingerprint);
    /// Records that some rank's access did not match the kept plan: a kept plan is then tried only
    /// after more successive accesses of equal shape than before. REQUIRES: called on all ranks,
    /// after the agreement that reported the mismatch.
    void distrust(Direction direction);
    /// Keeps the buffers of a collective access for the next one, if a plan is kept and no buffers
    /// are. Each rank then has the memory for its part in the kept plan, so the ranks needn't agree
    /// on that before the first message of such an access.
    void keep_buffers(RunMemory::Leases buffers);
    /// Returns the kept buffers, which are then no longer kept; empty leases if there are none.
    [[nodiscard]] RunMemory::Leases take_buffers() { return std::exchange(buffers_, {}); }
    void forget() {
        entries_ = {};
        buffers_ = {};
    }

  private:
    struct Entry {
        bool valid = false;
        int needed = 0;  ///< successive accesses of equal shape that are required
        int seen = 0;
        Layout file;
        Bytes from = 0;
        std::int64_t memory_pieces = 0;
        Plan plan;
        AccessSummary mine;
        std::uint64_t fingerprint = 0;  ///< fingerprint of all ranks' summaries
    };
    [[nodiscard]] const Entry& entry(Direction direction) const {
        return entries_[static_cast<std::size_t>(direction)];
    }
    std::array<Entry, 2> entries_;
    RunMemory::Leases buffers_;
};

}  // namespace oratorio
