// SPDX-License-Identifier: BSD-3-Clause
// ReadAhead: announces the ranges that an access will touch, one hull per file block, to the
// storage before they are accessed, and releases them afterwards: the policy of Prost et al. 2001,
// section 2.3.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "plan/plan.hpp"
#include "stats/stats.hpp"
#include "store/prefetch.hpp"

namespace oratorio {

/// The hulls of an access in each block of its file, in file order.
class BlockRanges {
  public:
    struct Range {
        Extent file;
        Bytes until = 0;  ///< data bytes of the access up to the end of this range
    };
    /// REQUIRES: the access's file layout is monotonic.
    BlockRanges(const Access& access, Bytes block);
    [[nodiscard]] std::optional<Range> next();

  private:
    Cursor file_;
    Bytes from_;
    Bytes to_;
    Bytes at_;  ///< data position where the next range begins
    Bytes block_;
};

class ReadAhead {
  public:
    /// All arguments outlive the object. REQUIRES: ahead.ranges > 0.
    ReadAhead(Prefetch& prefetch, const Access& access, Ahead ahead, Stats& stats);
    /// Releases the ranges that the storage accepted and that aren't released yet.
    ~ReadAhead();
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    /// Announces further ranges, and returns the number of the access's data bytes that may now be
    /// accessed: more than before, unless no data is left. REQUIRES: everything that the last call
    /// allowed was accessed.
    Bytes move_on();

  private:
    [[nodiscard]] std::vector<Extent> upcoming(std::size_t count);
    void allow();

    Prefetch& prefetch_;
    Direction direction_;
    std::size_t at_once_;  ///< ranges accessed at once
    Stats& stats_;
    BlockRanges ranges_;
    std::deque<BlockRanges::Range> later_;    ///< ranges not announced, or refused by the storage
    std::deque<BlockRanges::Range> fetched_;  ///< ranges accepted by the storage, not accessed yet
    std::vector<Extent> accessed_;            ///< accepted ranges that are being accessed
    Bytes allowed_ = 0;
};

}  // namespace oratorio
