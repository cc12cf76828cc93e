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

std::optional<BlockRanges::Range> BlockRanges::next() {
    if (at_ >= to_) return std::nullopt;
    file_.seek_size(at_);
    const Offset begin = file_.next(1).offset;
    file_.seek_offset((begin / block_ + 1) * block_);
    at_ = std::min(file_.tell_size(), to_);
    file_.seek_size(at_ - 1);
    return Range{{begin, file_.next(1).offset + 1}, at_ - from_};
}

ReadAhead::ReadAhead(Prefetch& prefetch, const Access& access, Ahead ahead, Stats& stats)
    : prefetch_(prefetch),
      direction_(access.direction),
      at_once_(static_cast<std::size_t>(ahead.ranges)),
      stats_(stats),
      ranges_(access, prefetch.block() > 0 ? prefetch.block() : ahead.block) {}

ReadAhead::~ReadAhead() {
    for (const BlockRanges::Range& range : fetched_) accessed_.push_back(range.file);
    if (accessed_.empty()) return;
    stats_.ranges_released += accessed_.size();
    prefetch_.move_on(accessed_, {}, direction_);
}

/// Returns the first `count` ranges that the storage hasn't accepted yet.
std::vector<Extent> ReadAhead::upcoming(std::size_t count) {
    while (later_.size() < count) {
        const auto range = ranges_.next();
        if (!range) break;
        later_.push_back(*range);
    }
    std::vector<Extent> files;
    for (std::size_t i = 0; i < std::min(count, later_.size()); ++i)
        files.push_back(later_[i].file);
    return files;
}

Bytes ReadAhead::move_on() {
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
