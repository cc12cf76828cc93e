// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/cursor_pair.hpp"

#include <algorithm>

namespace oratorio {

namespace {

constexpr Bytes kCacheBytes = 1 << 20;  // a core's private cache

Target target_of(const Access& access, Direction direction, Target file) {
    if (direction == Direction::write) return file;
    return access.bytes() > kCacheBytes ? Target::streamed : Target::reused;
}

}  // namespace

CursorPair::CursorPair(const Access& access, Direction direction, Target file)
    : reading_(direction == Direction::read),
      target_(target_of(access, direction, file)),
      from_(access.from),
      to_(access.from + access.bytes()),
      user_(access.buffer),
      file_(access.file),
      end_(access.file),
      memory_(access.memory) {}

Bytes CursorPair::enter(Extent extent) {
    first_ = last_ = from_;
    if (from_ == to_ || extent.empty()) return 0;
    end_.seek_offset(extent.end);
    last_ = std::min(end_.tell_size(), to_);
    seek_within(file_, extent.begin, from_);
    first_ = file_.tell_size();
    last_ = std::max(first_, last_);
    if (first_ < last_ && memory_.tell_size() != first_ - from_) memory_.seek_size(first_ - from_);
    return last_ - first_;
}

Extent CursorPair::hull() {
    if (first_ == last_) return {};
    end_.seek_size(last_ - 1);
    return {file_.tell_offset(), end_.tell_offset() + 1};
}

bool CursorPair::in_every_page() const {
    Cursor pieces = file_;
    Offset end = pieces.tell_offset();
    for (Bytes left = last_ - first_; left > 0;) {
        const StridedRun run = pieces.next(left);
        const bool has_page = run.count > 1 && run.stride - run.length >= kPage;
        if (has_page || run.offset - end >= kPage) return false;
        left -= run.bytes();
        end = run.end();
    }
    return true;
}

void CursorPair::copy(std::byte* base, Bytes bytes) {
    if (reading_) {
        copy_between(memory_, user_, file_, base, bytes, target_);
    } else {
        copy_between(file_, base, memory_, user_, bytes, target_);
    }
}

}  // namespace oratorio
