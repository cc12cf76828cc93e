// SPDX-License-Identifier: BSD-3-Clause
// JoinedRuns: a datatype's list of runs, ready to become a shape. A single pass drops empty runs,
// joins each run to the one it continues, adds up the lengths, and checks the order and the range
// of the runs, because fetching a long list from memory costs more than the work on it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/extent.hpp"
#include "type/list.hpp"

namespace oratorio {

/// The order of a sequence of pieces. `forward_` becomes negative if the pieces aren't monotonic,
/// and `apart_` if they overlap.
class PieceOrder {
  public:
    PieceOrder() = default;
    PieceOrder(bool monotonic, bool overlapping)
        : forward_(monotonic ? 0 : -1), apart_(overlapping ? -1 : 0) {}

    /// Accounts for two pieces that follow each other in data order, within a part or from the end
    /// of one part to the start of the next. Has no branch, because loops call it for every piece.
    void follow(Extent last, Extent next) {
        forward_ |= distance(last.begin, next.begin) | distance(last.end, next.end);
        apart_ |= distance(last.end, next.begin);
    }
    void add(const PieceOrder& inside) {
        forward_ |= inside.forward_;
        apart_ |= inside.apart_;
    }
    [[nodiscard]] bool monotonic() const { return forward_ >= 0; }
    /// Returns true if the order is monotonic and pieces overlap.
    [[nodiscard]] bool overlapping() const { return monotonic() && apart_ < 0; }

  private:
    /// Returns `to` - `from` modulo 2^64, so that no numbers cause undefined behaviour.
    static Bytes distance(Offset from, Offset to) {
        return static_cast<Bytes>(static_cast<std::uint64_t>(to) -
                                  static_cast<std::uint64_t>(from));
    }

    Bytes forward_ = 0;
    Bytes apart_ = 0;
};

struct JoinedRuns {
    List<Offset> offsets;
    List<Bytes> prefix;  ///< data bytes before each run, and the total at the end
    PieceOrder order;
    bool fits = true;  ///< all runs lie within kOffsetLimit of 0, and have no more data than that

    /// Makes the list from `run_of(i)`, which returns run i, 0 <= i < count. A run is empty if it
    /// doesn't end after its begin. Calls `run_of` once for each i, in order, but not after a run
    /// that doesn't fit. Writes the offsets to `offsets`, which has `count` entries. Entry i is
    /// written only after run i was requested, so `run_of` may read from the same list. The memory
    /// of `prefix` comes from `memory`, which may be null.
    template <class RunOf>
    static JoinedRuns of(std::int64_t count, const RunOf& run_of, List<Offset> offsets,
                         const std::shared_ptr<BlockCache>& memory);

    [[nodiscard]] std::size_t count() const { return offsets.size(); }
    [[nodiscard]] Extent run(std::size_t at) const {
        return {offsets[at], offsets[at] + prefix[at + 1] - prefix[at]};
    }
};

template <class RunOf>
JoinedRuns JoinedRuns::of(std::int64_t count, const RunOf& run_of, List<Offset> offsets,
                          const std::shared_ptr<BlockCache>& memory) {
    List<Bytes> prefix(static_cast<std::size_t>(count) + 1, memory);
    // Local pointers stay in registers, because writes to the lists can't change them.
    Offset* const offset = offsets.data();
    Bytes* const before = prefix.data();
    PieceOrder order;
    bool fits = true;
    Bytes total = 0;
    std::size_t kept = 0;
    Extent last{};  // the run that the next one may continue
    Extent earlier{};
    for (std::int64_t i = 0; i < count; ++i) {
        const Extent next = run_of(i);
        if (next.end <= next.begin) continue;
        fits = next.begin > -kOffsetLimit && next.end <= kOffsetLimit &&
               next.length() <= kOffsetLimit - total;
        if (!fits) break;
        if (next.begin == last.end && kept > 0) {
            last.end = next.end;
        } else {
            if (kept > 1) order.follow(earlier, last);
            earlier = last;
            last = next;
            offset[kept] = next.begin;
            before[kept] = total;
            ++kept;
        }
        total += next.length();
    }
    if (kept > 1) order.follow(earlier, last);
    before[kept] = total;
    offsets.shorten(kept);
    prefix.shorten(kept + 1);
    return {std::move(offsets), std::move(prefix), order, fits};
}

}  // namespace oratorio
