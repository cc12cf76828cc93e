// SPDX-License-Identifier: BSD-3-Clause
#include "type/cursor.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace oratorio {

namespace {

/// Returns the number of the layout's tiles that end within kOffsetLimit, both in offsets and in
/// data bytes: all tiles of a layout that fits(), and at least one of any other.
std::int64_t reachable_tiles(const Layout& layout) {
    const Bytes size = layout.shape->size();
    if (size == 0 || layout.count <= 1) return layout.count;
    const Extent span = layout.shape->span();
    const Bytes room = layout.extent < 0 ? kOffsetLimit + span.begin + layout.origin
                                         : kOffsetLimit - span.end - layout.origin;
    std::int64_t tiles = kOffsetLimit / size;
    if (layout.extent != 0)
        tiles = std::min(tiles, std::min(room, kOffsetLimit - 1) / std::abs(layout.extent) + 1);
    return std::clamp<std::int64_t>(tiles, 1, layout.count);
}

/// Returns true if the shape is a run or all its parts are runs.
bool is_leaf(const Shape& shape) {
    return shape.depth() <= 2;
}

}  // namespace

inline void Cursor::Leaf::set(const Shape& shape, Offset at) {
    origin = at;
    count = std::max(shape.count(), std::int64_t{1});
    offsets = shape.offsets().empty() ? nullptr : shape.offsets().data();
    prefix = shape.prefix().empty() ? nullptr : shape.prefix().data();
    length = shape.child() ? shape.child()->size() : shape.size();
    stride = shape.stride();
}

inline Offset Cursor::Leaf::begin_of(std::int64_t part) const {
    return origin + (offsets != nullptr ? offsets[part] : part * stride);
}

inline Bytes Cursor::Leaf::length_of(std::int64_t part) const {
    return prefix != nullptr ? prefix[part + 1] - prefix[part] : length;
}

Cursor::Cursor(Layout layout)
    : layout_(std::move(layout)),
      root_(Shape::strided(layout_.shape, reachable_tiles(layout_), layout_.extent)),
      origin_(layout_.origin) {
    if (root_->kind() == Shape::Kind::blocks && root_->count() == 1) {
        origin_ += root_->part_offset(0);
        root_ = ShapePtr(root_->child());
    }
    stack_.reserve(static_cast<std::size_t>(root_->depth()));
    if (root_->size() > 0) descend(root_.get(), origin_);
}

bool Cursor::at_end() const {
    return leaf_.count == 0;
}

Offset Cursor::tell_offset() const {
    return at_end() ? origin_ + root_->last_piece().end : leaf_.begin_of(part_) + within_;
}

void Cursor::descend(const Shape* node, Offset origin) {
    while (!is_leaf(*node)) {
        stack_.push_back({node, origin, 0});
        origin += node->part_offset(0);
        node = node->child(0).get();
    }
    leaf_.set(*node, origin);
    part_ = 0;
    within_ = 0;
}

void Cursor::next_leaf() {
    for (bool same_leaf = true; !stack_.empty(); same_leaf = false, stack_.pop_back()) {
        Level& level = stack_.back();
        if (++level.part == level.shape->count()) continue;
        const Offset origin = level.origin + level.shape->part_offset(level.part);
        if (!same_leaf || level.shape->kind() == Shape::Kind::mixed)
            return descend(level.shape->child(level.part).get(), origin);
        leaf_.origin = origin;
        part_ = 0;
        return;
    }
    leaf_.count = 0;
}

void Cursor::finish() {
    stack_.clear();
    leaf_.count = 0;
    position_ = root_->size();
}

void Cursor::seek_size(Bytes at) {
    if (at >= root_->size()) return finish();
    assert(at >= 0);
    position_ = at;
    stack_.clear();
    const Shape* node = root_.get();
    Offset origin = origin_;
    const auto enter = [&](std::int64_t part) {
        at -= node->size_before(part);
        origin += node->part_offset(part);
        node = node->child(part).get();
    };
    while (!is_leaf(*node)) {
        const std::int64_t part = node->part_of_size(at);
        stack_.push_back({node, origin, part});
        enter(part);
    }
    descend(node, origin);
    if (node->kind() != Shape::Kind::run) {
        part_ = node->part_of_size(at);
        at -= node->size_before(part_);
    }
    within_ = at;
}

void Cursor::seek_offset(Offset offset) {
    assert(layout_.monotonic());
    if (root_->size() == 0 || offset >= origin_ + root_->span().end) return finish();
    stack_.clear();
    position_ = 0;
    const Shape* node = root_.get();
    Offset origin = origin_;
    while (!is_leaf(*node)) {
        const std::int64_t part = node->part_of_offset(offset - origin);
        stack_.push_back({node, origin, part});
        position_ += node->size_before(part);
        origin += node->part_offset(part);
        node = node->child(part).get();
    }
    descend(node, origin);
    if (node->kind() != Shape::Kind::run) {
        part_ = node->part_of_offset(offset - origin);
        position_ += node->size_before(part_);
    }
    within_ = std::max(offset - leaf_.begin_of(part_), Bytes{0});
    position_ += within_;
}

// The functions from here to next() run for every piece, so they are inline and return their
// results in registers.

inline void Cursor::advance(std::int64_t parts) {
    within_ = 0;
    part_ += parts;
    if (part_ == leaf_.count) next_leaf();
}

/// Advances by `bytes` in the current piece. REQUIRES: the piece has that many bytes left.
inline void Cursor::take(Bytes bytes) {
    position_ += bytes;
    within_ += bytes;
    if (within_ == leaf_.length_of(part_)) advance(1);
}

/// Returns the series of whole pieces that begins with the current piece `first`, in a leaf with a
/// list. If all pieces of the leaf have the same length, any two form a series. If their lengths
/// differ, a series begins only with three equally spaced pieces, because the processor would
/// mispredict the branches of a search at every piece.
inline Cursor::Series Cursor::listed_series(Extent first, Bytes bytes_max,
                                            Offset offset_limit) const {
    const Offset* const at = leaf_.offsets + part_;
    const std::int64_t left = leaf_.count - part_;
    const Bytes length = first.length();
    const auto alike = [&](std::int64_t part) { return leaf_.length_of(part_ + part) == length; };
    if (left < 2) return {};
    if (leaf_.prefix != nullptr && (left < 3 || at[2] - at[1] != at[1] - at[0])) return {};
    const Bytes stride = at[1] - at[0];
    std::int64_t count = 1;
    for (Bytes bytes = 2 * length; count < left && bytes <= bytes_max; bytes += length) {
        if (at[count] - at[count - 1] != stride || !alike(count)) break;
        if (leaf_.origin + at[count] + length > offset_limit) break;
        ++count;
    }
    return {count, count > 1 ? stride : 0};
}

/// Returns the series of whole pieces of the leaf, within the limits, that begins with the current
/// piece `first`.
inline Cursor::Series Cursor::series(Extent first, Bytes bytes_max, Offset offset_limit) const {
    if (leaf_.offsets != nullptr) return listed_series(first, bytes_max, offset_limit);
    const Bytes length = first.length();
    std::int64_t count = leaf_.count - part_;
    if (count * length > bytes_max) count = bytes_max / length;
    if (first.end + (count - 1) * leaf_.stride > offset_limit)
        count = (offset_limit - first.end) / leaf_.stride + 1;
    return {count, count > 1 ? leaf_.stride : 0};
}

inline StridedRun Cursor::next_in_leaf(Bytes bytes_max, Offset offset_limit) {
    if (leaf_.count == 0) return {};
    const Offset piece = leaf_.begin_of(part_);
    const Bytes whole = leaf_.length_of(part_);
    const Offset begin = piece + within_;
    if (begin >= offset_limit) return {};
    const Bytes length = std::min(std::min(piece + whole, offset_limit) - begin, bytes_max);
    if (length < whole) {  // a cut piece, or the rest of one that was cut before
        take(length);
        return {begin, length, 0, 1};
    }
    const Series pieces = series({piece, piece + whole}, bytes_max, offset_limit);
    position_ += pieces.count * length;
    advance(pieces.count);
    return {begin, length, pieces.stride, pieces.count};
}

StridedRun Cursor::next(Bytes bytes_max, Offset offset_limit) {
    StridedRun run = next_in_leaf(bytes_max, offset_limit);
    // If the run is a single piece and the cursor is at the start of the next leaf, the piece may
    // continue there.
    while (part_ == 0 && within_ == 0 && run.count == 1 && leaf_.count > 0) {
        const Offset begin = leaf_.begin_of(0);
        if (begin != run.end()) break;
        const Offset end = std::min(begin + leaf_.length_of(0), offset_limit);
        const Bytes length = std::min(end - begin, bytes_max - run.length);
        if (length <= 0) break;
        run.length += length;
        take(length);
    }
    return run;
}

void Cursor::next_pieces(PieceRows& pieces, Bytes bytes_max) {
    PieceRun& row = pieces.row;
    pieces.rows = leaf_.count > 0 ? 1 : 0;
    if (pieces.rows == 0) return;
    row.offsets = leaf_.offsets != nullptr ? leaf_.offsets + part_ : nullptr;
    row.prefix = leaf_.prefix != nullptr ? leaf_.prefix + part_ : nullptr;
    row.origin = leaf_.offsets != nullptr ? leaf_.origin : leaf_.begin_of(part_);
    row.stride = leaf_.stride;
    row.length = leaf_.length_of(part_);
    row.count = 1;
    const Bytes left = row.length - within_;
    if (within_ > 0 || left > bytes_max) {  // a cut piece
        row.origin = leaf_.begin_of(part_) + within_;
        row.offsets = nullptr;
        row.prefix = nullptr;
        row.length = std::min(left, bytes_max);
        return take(row.length);
    }
    row.count = leaf_.count - part_;
    Bytes bytes = row.bytes();
    if (bytes > bytes_max) {
        row.count = pieces_within(row, 0, bytes_max);
        bytes = row.bytes();
    } else if (part_ == 0 && !stack_.empty() &&
               stack_.back().shape->kind() == Shape::Kind::strided) {
        Level& level = stack_.back();
        pieces.stride = level.shape->stride();
        pieces.rows = level.shape->count() - level.part;
        if (pieces.rows * bytes > bytes_max) pieces.rows = bytes_max / bytes;
        level.part += pieces.rows - 1;
        bytes *= pieces.rows;
    }
    position_ += bytes;
    advance(row.count);
}

Bytes size_before_offset(const Layout& layout, Offset offset) {
    Cursor cursor(layout);
    cursor.seek_offset(offset);
    return cursor.tell_size();
}

Offset offset_of_size(const Layout& layout, Bytes at) {
    Cursor cursor(layout);
    cursor.seek_size(at);
    return cursor.tell_offset();
}

}  // namespace oratorio
