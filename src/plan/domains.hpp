// SPDX-License-Identifier: BSD-3-Clause
// File domains: which aggregator owns which bytes of the hull, and the regions that it handles in
// each round. Blocks of equal length are dealt round robin: `even` deals one block each,
// `cyclic(n)` is HPF CYCLIC with n-byte blocks (Nitzberg & Fineberg 1995, collective buffering
// targets), and `stripes` deals the stripes of the file by their number (Kang et al. 2019).
// `sliced` divides each of several parts of the hull like `even`.
#pragma once

#include <cstdint>

#include "base/extent.hpp"

namespace oratorio {

/// The file bytes that one aggregator handles in one round: `count` extents of `length` bytes,
/// `stride` apart, cut to `clip`. Extent i lies at i * length of the collective buffer.
struct Region {
    Offset begin = 0;
    Bytes length = 0;
    Bytes stride = 0;
    std::int64_t count = 0;
    Extent clip;

    [[nodiscard]] Extent extent(std::int64_t i) const {
        return intersect({begin + i * stride, begin + i * stride + length}, clip);
    }
    /// Returns the position of file offset `at`, in extent i, in the collective buffer.
    [[nodiscard]] Bytes buffer_position(std::int64_t i, Offset at) const {
        return i * length + (at - (begin + i * stride));
    }
    [[nodiscard]] bool empty() const { return count == 0; }
    /// Returns true if some extent overlaps `range`. Takes constant time.
    [[nodiscard]] bool touches(Extent range) const;
    [[nodiscard]] Bytes bytes() const;
};

class FileDomains {
  public:
    FileDomains() = default;
    /// Makes one block per aggregator, cut at multiples of `alignment` (>= 1).
    static FileDomains even(Extent hull, int aggregators, Bytes alignment);
    /// Makes blocks of `block` bytes, cut at multiples of `block` and dealt round robin. The block
    /// in which the hull begins belongs to aggregator 0.
    static FileDomains cyclic(Extent hull, int aggregators, Bytes block);
    /// Makes blocks of `stripe` bytes, counted from file offset 0: block i belongs to aggregator i
    /// modulo `aggregators`, wherever the hull begins.
    static FileDomains stripes(Extent hull, int aggregators, Bytes stripe);
    /// Makes domains of a hull that consists of `parts` parts, `period` bytes apart. An aggregator
    /// owns an even share of each part, and a round takes the same amount of every part. So data
    /// that is close in memory but far apart in the file (variables of a cell) is handled in one
    /// round, while its cache lines are in the cache.
    static FileDomains sliced(Extent hull, int aggregators, Bytes alignment, Bytes period,
                              std::int64_t parts);
    /// Returns the same domains, shifted by `by` bytes.
    [[nodiscard]] FileDomains moved(Offset by) const;
    /// Returns false if the domains follow stripes, but moved(by) would not.
    [[nodiscard]] bool can_move(Offset by) const;

    [[nodiscard]] int aggregators() const { return aggregators_; }
    [[nodiscard]] Bytes block() const { return block_; }
    [[nodiscard]] bool is_cyclic() const { return cyclic_; }
    [[nodiscard]] bool is_striped() const { return striped_; }
    [[nodiscard]] Extent hull() const { return hull_; }
    [[nodiscard]] std::int64_t parts() const { return parts_; }
    [[nodiscard]] int owner(Offset at) const;
    /// Returns true if the aggregator owns bytes of `range`. Takes constant time.
    [[nodiscard]] bool touches(int aggregator, Extent range) const;
    /// Returns a number of rounds that is enough for every aggregator with a buffer of `buffer`
    /// bytes. Some of these rounds may be empty.
    [[nodiscard]] std::int64_t rounds(Bytes buffer) const;
    [[nodiscard]] Region region(int aggregator, std::int64_t round, Bytes buffer) const;

  private:
    FileDomains(Extent hull, int aggregators, Bytes unit);
    [[nodiscard]] Bytes slice(Bytes buffer) const;
    [[nodiscard]] Offset first_block(int aggregator) const;

    Extent hull_;
    Offset origin_ = 0;  ///< start of block 0, at or before the hull
    Bytes block_ = 1;
    int aggregators_ = 1;
    bool cyclic_ = false;
    bool striped_ = false;
    int first_ = 0;  ///< owner of block 0
    Bytes period_ = 0;
    std::int64_t parts_ = 1;
};

}  // namespace oratorio
