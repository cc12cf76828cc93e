// SPDX-License-Identifier: BSD-3-Clause
#include "plan/domains.hpp"

#include <algorithm>

namespace oratorio {

namespace {

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}
constexpr Offset align_down(Offset at, Bytes unit) {
    return at - at % unit;
}

}  // namespace

bool Region::touches(Extent range) const {
    const Extent wanted = intersect(range, clip);
    if (count == 0 || wanted.empty()) return false;
    // Finds the first extent that ends after wanted.begin, then checks whether it begins before
    // wanted.end.
    std::int64_t i = 0;
    if (wanted.begin >= begin + length) {
        i = stride == 0 ? count : divide_up(wanted.begin - begin - length + 1, stride);
    }
    return i < count && begin + i * stride < wanted.end;
}

Bytes Region::bytes() const {
    Bytes total = 0;
    for (std::int64_t i = 0; i < count; ++i) total += extent(i).length();
    return total;
}

FileDomains::FileDomains(Extent hull, int aggregators, Bytes unit)
    : hull_(hull), origin_(align_down(hull.begin, unit)), block_(unit), aggregators_(aggregators) {}

FileDomains FileDomains::even(Extent hull, int aggregators, Bytes alignment) {
    FileDomains domains(hull, aggregators, alignment);
    const Bytes share = divide_up(hull.end - domains.origin_, aggregators);
    domains.block_ = std::max<Bytes>(alignment, divide_up(share, alignment) * alignment);
    return domains;
}

FileDomains FileDomains::cyclic(Extent hull, int aggregators, Bytes block) {
    FileDomains domains(hull, aggregators, block);
    domains.cyclic_ = true;
    return domains;
}

FileDomains FileDomains::stripes(Extent hull, int aggregators, Bytes stripe) {
    FileDomains domains = cyclic(hull, aggregators, stripe);
    domains.striped_ = true;
    domains.first_ = static_cast<int>(domains.origin_ / stripe % aggregators);
    return domains;
}

FileDomains FileDomains::sliced(Extent hull, int aggregators, Bytes alignment, Bytes period,
                                std::int64_t parts) {
    FileDomains domains = even({hull.begin, hull.begin + period}, aggregators, alignment);
    domains.origin_ = hull.begin;  // not aligned: parts begin wherever the period puts them
    domains.hull_ = hull;
    domains.period_ = period;
    domains.parts_ = parts;
    return domains;
}

FileDomains FileDomains::moved(Offset by) const {
    FileDomains domains = *this;
    domains.hull_ = {hull_.begin + by, hull_.end + by};
    domains.origin_ += by;
    return domains;
}

bool FileDomains::can_move(Offset by) const {
    return !striped_ || by % (block_ * aggregators_) == 0;
}

/// Returns where the aggregator's first block begins, which may be past the hull.
Offset FileDomains::first_block(int aggregator) const {
    return origin_ + (aggregator - first_ + aggregators_) % aggregators_ * block_;
}

/// Returns the bytes that a round takes of each part; whole pages if possible, for direct I/O.
Bytes FileDomains::slice(Bytes buffer) const {
    const Bytes share = buffer / parts_;
    return share >= kPage ? align_down(share, kPage) : std::max<Bytes>(1, share);
}

int FileDomains::owner(Offset at) const {
    if (parts_ > 1) return static_cast<int>((at - origin_) % period_ / block_);
    return static_cast<int>(((at - origin_) / block_ + first_) % aggregators_);
}

bool FileDomains::touches(int aggregator, Extent range) const {
    Region all;
    all.begin = first_block(aggregator);
    all.length = parts_ > 1 ? std::min(block_, period_ - aggregator * block_) : block_;
    all.stride = parts_ > 1 ? period_ : block_ * aggregators_;
    if (all.length > 0 && all.begin < hull_.end)
        all.count = divide_up(hull_.end - all.begin, all.stride);
    all.clip = hull_;
    return all.touches(range);
}

std::int64_t FileDomains::rounds(Bytes buffer) const {
    if (hull_.empty()) return 0;
    if (parts_ > 1) return divide_up(std::min(block_, period_), slice(buffer));
    const std::int64_t blocks = divide_up(hull_.end - origin_, block_);
    const std::int64_t blocks_each = divide_up(blocks, aggregators_);
    if (aggregators_ == 1) return divide_up(hull_.end - origin_, buffer);
    if (block_ <= buffer) return divide_up(blocks_each, buffer / block_);
    // The last block may be short, so fewer rounds might suffice. The extra rounds are empty and
    // cost nothing.
    const Bytes longest = blocks == 1 ? hull_.end - origin_ : block_;
    return blocks_each * divide_up(longest, buffer);
}

Region FileDomains::region(int aggregator, std::int64_t round, Bytes buffer) const {
    Region region;
    region.clip = hull_;
    if (parts_ > 1) {
        const Bytes begin = aggregator * block_ + round * slice(buffer);
        const Bytes end = std::min((aggregator + 1) * block_, period_);
        region.begin = origin_ + begin;
        region.length = std::clamp<Bytes>(end - begin, 0, slice(buffer));
        region.stride = period_;
        region.count = region.length > 0 ? parts_ : 0;
        return region;
    }
    // Distance between successive blocks of an aggregator.
    const Bytes deal = block_ * aggregators_;
    if (aggregators_ == 1) {
        region.begin = origin_ + round * buffer;
        region.length = buffer;
        region.count = 1;
    } else if (block_ <= buffer) {
        const std::int64_t blocks_per_round = buffer / block_;
        region.begin = first_block(aggregator) + round * blocks_per_round * deal;
        region.length = block_;
        region.stride = deal;
        region.count = blocks_per_round;
    } else {
        const std::int64_t parts = divide_up(block_, buffer);
        const Offset block_begin = first_block(aggregator) + round / parts * deal;
        region.begin = block_begin + round % parts * buffer;
        region.length = std::min(buffer, block_begin + block_ - region.begin);
        region.count = 1;
    }
    if (region.count > 1) {  // drop extents beyond the hull
        const Bytes left = hull_.end - region.begin;
        region.count = left <= 0 ? 0 : std::min(region.count, divide_up(left, region.stride));
    }
    if (region.count == 1 && intersect({region.begin, region.begin + region.length}, hull_).empty())
        region.count = 0;
    return region;
}

}  // namespace oratorio
