// SPDX-License-Identifier: BSD-3-Clause
#include "engine/read_ahead.hpp"

#include <algorithm>

namespace oratorio {

BlockRanges::BlockRanges(const Access& access, Bytes block)
    : file_(access.file),
      from_(access.from),
      to_(access.from + access.bytes()),
      at_(access.from),
      block_(block) {}

std::optional<AheadRanges::Range> BlockRanges::next() {
    if (at_ >= to_) return std::nullopt;
    file_.seek_size(at_);
    const Offset begin = file_.next(1).offset;
    file_.seek_offset((begin / block_ + 1) * block_);
    at_ = std::min(file_.tell_size(), to_);
    file_.seek_size(at_ - 1);
    return Range{{begin, file_.next(1).offset + 1}, at_ - from_};
}

std::optional<AheadRanges::Range> RoundRanges::next() {
    for (; round_ < plan_.rounds; ++round_, extent_ = 0) {
        if (!plan_.has_participants(index_, round_)) continue;
        const Region region = plan_.region(index_, round_);
        while (extent_ < region.count) {
            const std::int64_t i = extent_++;
            const Extent wanted = wanted_of(region.extent(i));
            if (!wanted.empty()) return Range{wanted, position(plan_, round_, i)};
        }
    }
    return std::nullopt;
}

/// Returns the hull of the intersections of the ranks' hulls with an extent.
Extent RoundRanges::wanted_of(Extent extent) const {
    Extent wanted;
    if (extent.empty()) return wanted;
    const Region whole{extent.begin, extent.length(), 0, 1, extent};
    (void)plan_.graph.each_touching(whole, [&](std::size_t i) {
        wanted = hull(wanted, intersect(plan_.graph.participant(i).hull, extent));
        return wanted != extent;
    });
    return wanted;
}

ReadAhead::ReadAhead(Prefetch& prefetch, Direction direction, int at_once,
                     std::unique_ptr<AheadRanges> ranges, Stats& stats)
    : prefetch_(prefetch),
      direction_(direction),
      at_once_(static_cast<std::size_t>(at_once)),
      stats_(stats),
      ranges_(std::move(ranges)) {}

ReadAhead::~ReadAhead() {
    for (const AheadRanges::Range& range : fetched_) accessed_.push_back(range.file);
    if (accessed_.empty()) return;
    stats_.ranges_released += accessed_.size();
    prefetch_.move_on(accessed_, {}, direction_);
}

/// Returns the first `count` ranges that the storage hasn't accepted yet.
std::vector<Extent> ReadAhead::upcoming(std::size_t count) {
    while (later_.size() < count) {
        const auto range = ranges_->next();
        if (!range) break;
        later_.push_back(*range);
    }
    std::vector<Extent> files;
    for (std::size_t i = 0; i < std::min(count, later_.size()); ++i)
        files.push_back(later_[i].file);
    return files;
}

std::int64_t ReadAhead::move_on() {
    const auto wanted = upcoming(2 * at_once_ - fetched_.size());
    const std::size_t taken =
        wanted.empty() && accessed_.empty() ? 0 : prefetch_.move_on(accessed_, wanted, direction_);
    stats_.ranges_released += accessed_.size();
    stats_.ranges_asked += taken;
    accessed_.clear();
    for (std::size_t i = 0; i < std::min(taken, wanted.size()); ++i) {
        fetched_.push_back(later_.front());
        later_.pop_front();
    }
    allow();
    return allowed_;
}

/// Allows access to the next accepted ranges, at most at_once_; to one range if the storage
/// accepted none.
void ReadAhead::allow() {
    if (fetched_.empty() && !later_.empty()) {
        allowed_ = later_.front().until;
        later_.pop_front();
        stats_.ranges_accessed += 1;
        return;
    }
    const std::size_t count = std::min(fetched_.size(), at_once_);
    for (std::size_t i = 0; i < count; ++i) {
        allowed_ = fetched_.front().until;
        accessed_.push_back(fetched_.front().file);
        fetched_.pop_front();
    }
    stats_.ranges_accessed += count;
}

}  // namespace oratorio
