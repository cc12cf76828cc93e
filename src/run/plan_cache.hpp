// SPDX-License-Identifier: BSD-3-Clause
// PlanCache: the plan of the last collective access, kept with the view, so that the next one of
// the same shape is planned without a message between the ranks.
//
// Each rank decides alone whether its access has the kept shape, possibly further on in the file. A
// rank whose access hasn't goes through the kept plan without data, so that nobody waits in vain,
// and says so in the reduction that ends every collective; ranks that went further by different
// steps notice it where they meet (Exchange::differs), and nothing that isn't as planned is stored.
// Then all ranks plan anew and do the access again. docs/decisions/0006-kept-plans.md.
#pragma once

#include <array>
#include <optional>

#include "plan/plan.hpp"

namespace oratorio {

class PlanCache {
  public:
    struct Kept {
        Plan plan;
        AccessSummary mine;
    };

    /// Equal on all ranks: the next collective access shall try the kept plan.
    [[nodiscard]] bool trusted(Direction direction) const;
    /// The kept plan for this access; nothing when its shape is another.
    [[nodiscard]] std::optional<Kept> recall(const Access& access) const;
    /// As it was made, for a rank that can only go through it.
    [[nodiscard]] const Plan& plan(Direction direction) const { return entry(direction).plan; }
    /// After all ranks planned together: what this rank needs of the plan.
    /// The likeness of all ranks' summaries comes with it.
    void keep(const Access& access, const Plan& plan, const AccessSummary& mine,
              std::uint64_t likeness);
    /// The ranks' shapes were not the kept ones: it takes some accesses of equal shape to try
    /// again.
    void distrust(Direction direction);
    void forget() { entries_ = {}; }

  private:
    struct Entry {
        bool valid = false;
        int needed = 0;  ///< accesses in a row whose shape was the one before
        int seen = 0;
        Layout file;
        Bytes from = 0;
        std::int64_t memory_pieces = 0;
        Plan plan;
        AccessSummary mine;
        std::uint64_t likeness = 0;  ///< of all ranks' summaries
    };
    [[nodiscard]] const Entry& entry(Direction direction) const {
        return entries_[static_cast<std::size_t>(direction)];
    }
    std::array<Entry, 2> entries_;
};

}  // namespace oratorio
