// SPDX-License-Identifier: BSD-3-Clause
// File domains: which aggregator owns which bytes of the hull. Blocks of equal length dealt round
// robin: `even` is one block each, `cyclic(n)` is HPF CYCLIC with n-byte blocks (Nitzberg &
// Fineberg 1995, collective buffering targets).
#pragma once

#include <cstdint>

#include "base/extent.hpp"

namespace oratorio {

/// What one aggregator handles in one round: `count` extents of `length` bytes, `stride` apart, cut
/// to `clip`. Extent i lies at i * length of the collective buffer.
struct Region {
    Offset begin = 0;
    Bytes length = 0;
    Bytes stride = 0;
    std::int64_t count = 0;
    Extent clip;

    [[nodiscard]] Extent extent(std::int64_t i) const {
        return intersect({begin + i * stride, begin + i * stride + length}, clip);
    }
    /// Where file offset `at` of extent i lies in the collective buffer.
    [[nodiscard]] Bytes buffer_position(std::int64_t i, Offset at) const {
        return i * length + (at - (begin + i * stride));
    }
    [[nodiscard]] bool empty() const { return count == 0; }
    /// Some extent has bytes in common with `range`. O(1).
    [[nodiscard]] bool touches(Extent range) const;
    [[nodiscard]] Bytes bytes() const;
};

class FileDomains {
  public:
    FileDomains() = default;
    /// One block per aggregator, cut at multiples of `alignment` (>= 1).
    static FileDomains even(Extent hull, int aggregators, Bytes alignment);
    /// Blocks of `block` bytes counted from file offset 0, dealt round robin.
    static FileDomains cyclic(Extent hull, int aggregators, Bytes block);
    /// The hull is `parts` parts, `period` bytes apart. An aggregator owns an even share of each
    /// part, and a round takes as much of every part: data that is near in memory though far in the
    /// file (variables of a cell) is met in one round, while its cache lines are at hand.
    static FileDomains sliced(Extent hull, int aggregators, Bytes alignment, Bytes period,
                              std::int64_t parts);
    /// The same domains, `by` bytes further on.
    [[nodiscard]] FileDomains moved(Offset by) const;

    [[nodiscard]] int aggregators() const { return aggregators_; }
    [[nodiscard]] Bytes block() const { return block_; }
    [[nodiscard]] bool is_cyclic() const { return cyclic_; }
    [[nodiscard]] Extent hull() const { return hull_; }
    [[nodiscard]] std::int64_t parts() const { return parts_; }
    [[nodiscard]] int owner(Offset at) const;
    /// The aggregator owns bytes of `range`. O(1).
    [[nodiscard]] bool touches(int aggregator, Extent range) const;
    /// Rounds that the busiest aggregator needs with `buffer` bytes.
    [[nodiscard]] std::int64_t rounds(Bytes buffer) const;
    [[nodiscard]] Region region(int aggregator, std::int64_t round, Bytes buffer) const;

  private:
    FileDomains(Extent hull, int aggregators, Bytes unit);
    [[nodiscard]] Bytes slice(Bytes buffer) const;

    Extent hull_;
    Offset origin_ = 0;  ///< where block 0 begins, at or before the hull
    Bytes block_ = 1;
    int aggregators_ = 1;
    bool cyclic_ = false;
    Bytes period_ = 0;
    std::int64_t parts_ = 1;
};

}  // namespace oratorio
