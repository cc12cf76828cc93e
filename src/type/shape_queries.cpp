// SPDX-License-Identifier: BSD-3-Clause
// Queries of finished shapes and of layouts.
#include <algorithm>
#include <cstdlib>

#include "type/joined_runs.hpp"
#include "type/shape.hpp"

namespace oratorio {

namespace {

Extent moved_by(Extent extent, Offset by) {
    return {extent.begin + by, extent.end + by};
}

}  // namespace

Bytes Shape::size_before(std::int64_t part) const {
    if (kind_ == Kind::strided || kind_ == Kind::blocks) return part * child_->size_;
    return prefix_[static_cast<std::size_t>(part)];
}

std::int64_t Shape::part_of_size(Bytes at) const {
    if (kind_ == Kind::strided || kind_ == Kind::blocks) return at / child_->size_;
    return std::upper_bound(prefix_.begin(), prefix_.end(), at) - prefix_.begin() - 1;
}

std::int64_t Shape::part_of_offset(Offset at) const {
    if (at < span_.begin) return 0;
    if (at >= span_.end) return count_;
    // In a monotonic shape the ends of the parts never decrease.
    if (kind_ == Kind::strided) {
        const Bytes past =
            at - child_->span_.end;  // a part ends at or before `at` if part * stride <= past
        return past < 0 ? 0 : past / stride_ + 1;  // past < 0 if stride is 0: the spans are equal
    }
    if (kind_ == Kind::blocks)
        return std::upper_bound(offsets_.begin(), offsets_.end(), at - child_->span_.end) -
               offsets_.begin();
    const auto end_of = [this](std::int64_t part) {
        const auto i = static_cast<std::size_t>(part);
        return offsets_[i] + (kind_ == Kind::mixed ? children_[i]->span_.end : part_size(part));
    };
    std::int64_t low = 0;
    for (std::int64_t high = count_; low < high;) {
        const std::int64_t middle = low + (high - low) / 2;
        if (end_of(middle) > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

std::string Shape::describe() const {
    const auto listed = [this](auto one) {
        constexpr std::int64_t kShown = 4;
        std::string text = std::to_string(count_) + " @";
        for (std::int64_t part = 0; part < std::min(count_, kShown); ++part) text += one(part);
        return text + (count_ > kShown ? " ..." : "");
    };
    const auto at = [this](std::int64_t part) { return " " + std::to_string(part_offset(part)); };
    switch (kind_) {
        case Kind::empty:
            return "empty";
        case Kind::run:
            return "run " + std::to_string(size_);
        case Kind::strided:
            return "strided(" + std::to_string(count_) + " x " + std::to_string(stride_) + ", " +
                   child_->describe() + ")";
        case Kind::blocks:
            return "blocks(" + listed(at) + ", " + child_->describe() + ")";
        case Kind::runs:
            return "runs(" + listed([&](auto part) {
                       return at(part) + "+" + std::to_string(part_size(part));
                   }) +
                   ")";
        case Kind::mixed:
            return "mixed(" +
                   listed([&](auto part) { return at(part) + ": " + child(part)->describe(); }) +
                   ")";
    }
    return {};
}

Bytes Layout::size() const {
    if (shape->size() == 0 || count <= 0) return 0;
    Bytes all = 0;
    const bool overflows = __builtin_mul_overflow(shape->size(), count, &all);
    return count == unbounded || overflows ? INT64_MAX : all;
}

bool Layout::fits() const {
    if (size() == 0) return true;
    if (std::abs(origin) > kOffsetLimit || size() > kOffsetLimit) return false;
    Offset last = 0;  // origin of the last tile, relative to the first one's
    if (__builtin_mul_overflow(extent, count - 1, &last)) return false;
    if (last < -kOffsetLimit || last > kOffsetLimit) return false;
    const Extent all = hull(shape->span(), moved_by(shape->span(), last));
    return all.begin >= -kOffsetLimit - origin && all.end <= kOffsetLimit - origin;
}

bool Layout::contiguous() const {
    if (size() == 0) return true;
    const bool placed = shape->kind() == Shape::Kind::blocks && shape->count() == 1;
    const Shape& part = placed ? *shape->child() : *shape;
    return part.kind() == Shape::Kind::run && (count == 1 || extent == part.size());
}

bool Layout::monotonic() const {
    if (size() == 0) return true;
    PieceOrder order{shape->monotonic(), shape->overlapping()};
    if (count > 1) order.follow(shape->last_piece(), moved_by(shape->first_piece(), extent));
    return order.monotonic();
}

bool Layout::searchable() const {
    const bool tiles_apart = count <= 1 || extent >= shape->span().length();
    return monotonic() && !shape->overlapping() && tiles_apart;
}

}  // namespace oratorio
