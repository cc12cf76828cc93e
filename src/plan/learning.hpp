// SPDX-License-Identifier: BSD-3-Clause
// Learning: finds the fastest arm by the times of earlier accesses of the same kind. All decisions
// are functions of agreed values (the estimates and the times of the slowest rank), so all ranks
// try another arm at the same access (docs/internals/decisions/learning.md).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plan/arms.hpp"

namespace oratorio {

/// The measured times of an arm for one kind of access.
struct ArmTimes {
    /// Number of times that are kept, the latest last: enough to show a change of the storage's
    /// speed.
    static constexpr std::size_t kKept = 8;

    ArmEstimate of;
    std::vector<double> seconds = {};  ///< the latest times, at most kKept
    std::size_t unsaved = 0;           ///< how many of the latest times aren't saved yet

    [[nodiscard]] bool measured() const { return !seconds.empty(); }
    /// Returns the median of the latest five times; of an even number, the lower of the middle two,
    /// because the first access often pays for memory that later accesses reuse. REQUIRES:
    /// measured().
    [[nodiscard]] double median() const;
};

/// What is known about one kind of access.
struct KindTimes {
    static constexpr std::size_t kArmsKept = 2 * kArmsMost;

    AccessKind kind;
    std::vector<ArmTimes> arms = {};  ///< at most kArmsKept
    Arm current = {};                 ///< the arm in use, while no other is tried
    Arm next = {};                    ///< the arm of the next access, if the same arms apply to it
    /// The time that accesses of this kind have taken, in total or since the last save.
    struct Spent {
        std::uint64_t accesses = 0;
        double total = 0;   ///< seconds
        double excess = 0;  ///< seconds that tried arms took longer than the arm in use
    };
    Spent spent = {};
    Spent unsaved = {};  ///< the part of `spent` that isn't saved yet
};

/// The choice of an arm for one access, and the arms that it was made from.
struct Trial {
    AccessKind kind;
    std::vector<ArmEstimate> arms;  ///< the arms that apply to the access
    std::size_t picked = 0;         ///< index of the plan's arm
    std::string text;  ///< what was known, for explain; empty before the first measurement
};

/// LearnedTimes: the table of all kinds. A plain value; equal on all ranks that record the same
/// times in the same order.
class LearnedTimes {
  public:
    static constexpr std::size_t kKindsMost = 64;

    /// Makes the trial of an access: picks the arm that it should use. Starts with the first one,
    /// the model's choice. Then tries the arms that could be faster as long as that costs at most
    /// 5 % of the time of all accesses so far (counted as at least 15), and keeps the fastest; of
    /// arms that differ by less than the noise, the one in which ranks wait less. REQUIRES: `arms`
    /// isn't empty.
    [[nodiscard]] Trial trial(const AccessKind& kind, std::vector<ArmEstimate> arms) const;
    /// Returns true if the next access with the arms of this trial should use another arm.
    [[nodiscard]] bool wants_other(const Trial& trial) const;
    /// Records the time of the slowest rank in an access. If the latest times of the arm in use are
    /// all far from its earlier ones, forgets its earlier times and all times of the other arms.
    void record(const Trial& trial, double seconds);

    /// Adds the unsaved times of `other` after this table's own times, and takes over its current
    /// arms. REQUIRES: this table is about to be saved, because the added times don't count as
    /// unsaved in it.
    void merge(const LearnedTimes& other);
    /// Marks all times as saved in a file.
    void mark_saved();
    /// Returns the seconds of all accesses whose times aren't saved yet.
    [[nodiscard]] double unsaved_seconds() const;

    [[nodiscard]] std::span<const KindTimes> kinds() const { return kinds_; }
    /// Puts a kind in front of the others; drops the one that was used least recently if there are
    /// more than kKindsMost.
    void put(KindTimes kind);

  private:
    [[nodiscard]] const KindTimes* find(const AccessKind& kind) const;
    KindTimes& bring_forward(const Trial& trial);

    std::vector<KindTimes> kinds_;  ///< the one used last comes first
};

}  // namespace oratorio
