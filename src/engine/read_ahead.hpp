// SPDX-License-Identifier: BSD-3-Clause
// ReadAhead: announces to the storage the ranges that an access will touch, before they are
// accessed, and releases them afterwards: the policy of Prost et al. 2001, section 2.3. A range is
// the hull of a rank's own data in a block of the file, or, for an aggregator, the hull of all
// ranks' data in an extent of a round.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "plan/plan.hpp"
#include "stats/stats.hpp"
#include "store/prefetch.hpp"

namespace oratorio {

/// The ranges that an access will touch, in the order of access.
class AheadRanges {
  public:
    struct Range {
        Extent file;
        std::int64_t until = 0;  ///< the access's position at the end of this range; ascending
    };
    virtual ~AheadRanges() = default;
    AheadRanges() = default;
    AheadRanges(const AheadRanges&) = delete;
    AheadRanges& operator=(const AheadRanges&) = delete;
    /// Returns the next range; nothing at the end.
    [[nodiscard]] virtual std::optional<Range> next() = 0;
};

/// The hulls of an access's data in each block of its file. Positions are data bytes of the access.
class BlockRanges final : public AheadRanges {
  public:
    /// REQUIRES: the access's file layout is monotonic.
    BlockRanges(const Access& access, Bytes block);
    [[nodiscard]] std::optional<Range> next() override;

  private:
    Cursor file_;
    Bytes from_;
    Bytes to_;
    Bytes at_;  ///< data position where the next range begins
    Bytes block_;
};

/// The hulls of all ranks' data in the extents of an aggregator's rounds.
class RoundRanges final : public AheadRanges {
  public:
    /// Lists the ranges of the aggregator with index `index`. `plan` outlives the object.
    RoundRanges(const Plan& plan, int index) : plan_(plan), index_(index) {}
    [[nodiscard]] std::optional<Range> next() override;
    /// Returns the position at the end of extent i of a round.
    [[nodiscard]] static std::int64_t position(const Plan& plan, std::int64_t round,
                                               std::int64_t i) {
        return round * plan.slot_bytes + i + 1;
    }

  private:
    [[nodiscard]] Extent wanted_of(Extent extent) const;

    const Plan& plan_;
    int index_;
    std::int64_t round_ = 0;
    std::int64_t extent_ = 0;
};

class ReadAhead {
  public:
    /// Each move_on() will allow at most `at_once` ranges. `prefetch` and `stats` outlive the
    /// object. REQUIRES: at_once > 0.
    ReadAhead(Prefetch& prefetch, Direction direction, int at_once,
              std::unique_ptr<AheadRanges> ranges, Stats& stats);
    /// Releases the ranges that the storage accepted and that aren't released yet.
    ~ReadAhead();
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    /// Announces further ranges, and returns the position up to which the access may go now: more
    /// than before, unless no range is left. REQUIRES: everything that the last call allowed was
    /// accessed.
    std::int64_t move_on();

  private:
    [[nodiscard]] std::vector<Extent> upcoming(std::size_t count);
    void allow();

    Prefetch& prefetch_;
    Direction direction_;
    std::size_t at_once_;  ///< ranges accessed at once
    Stats& stats_;
    std::unique_ptr<AheadRanges> ranges_;
    std::deque<AheadRanges::Range> later_;    ///< ranges not announced, or refused by the storage
    std::deque<AheadRanges::Range> fetched_;  ///< ranges accepted by the storage, not accessed yet
    std::vector<Extent> accessed_;            ///< accepted ranges that are being accessed
    std::int64_t allowed_ = 0;
};

}  // namespace oratorio
