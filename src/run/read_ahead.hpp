// SPDX-License-Identifier: BSD-3-Clause
// ReadAhead: the ranges that an access will touch, one hull per file block, told to the storage
// before they are accessed, and taken back behind: the policy of Prost et al. 2001, section 2.3.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "plan/plan.hpp"
#include "stats/stats.hpp"
#include "store/prefetch.hpp"

namespace oratorio {

/// The hulls of an access in the blocks of its file, in the order of the file.
class BlockRanges {
  public:
    struct Range {
        Extent file;
        Bytes until = 0;  ///< data bytes of the access up to its end
    };
    /// The access's file layout is monotonic.
    BlockRanges(const Access& access, Bytes block);
    [[nodiscard]] std::optional<Range> next();

  private:
    Cursor file_;
    Bytes from_;
    Bytes to_;
    Bytes at_;  ///< data position
    Bytes block_;
};

class ReadAhead {
  public:
    /// All outlive it. `ahead.ranges` > 0.
    ReadAhead(Prefetch& prefetch, const Access& access, Ahead ahead, Stats& stats);
    /// What is still fetched for nothing is given back.
    ~ReadAhead();
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    /// All that the last call allowed has been accessed. Gives the data bytes up to which the
    /// access may go now: more than before, unless it is over.
    Bytes move_on();

  private:
    [[nodiscard]] std::vector<Extent> upcoming(std::size_t count);
    void allow();

    Prefetch& prefetch_;
    Direction direction_;
    std::size_t at_once_;  ///< ranges accessed at once
    Stats& stats_;
    BlockRanges ranges_;
    std::deque<BlockRanges::Range> later_;    ///< not asked for, or not taken
    std::deque<BlockRanges::Range> fetched_;  ///< taken by the storage
    std::vector<Extent> accessed_;            ///< the same, and being accessed
    Bytes allowed_ = 0;
};

}  // namespace oratorio
