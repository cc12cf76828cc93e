// SPDX-License-Identifier: BSD-3-Clause
// Cursor: the datatype iterator (Hastings & Choudhary 2006, section 2). Walks a layout in data
// order and returns strided runs. It can seek to a position, and report its position, by data size
// and by offset. A seek costs O(depth log parts); memory is O(1) per level, and nothing per piece.
#pragma once

#include <cstdint>
#include <vector>

#include "type/piece_run.hpp"
#include "type/shape.hpp"

namespace oratorio {

/// A strided run: `count` pieces of `length` bytes, `stride` bytes apart, the first at `offset`.
struct StridedRun {
    Offset offset = 0;
    Bytes length = 0;
    Bytes stride = 0;  ///< 0 when count is 1
    std::int64_t count = 0;

    [[nodiscard]] Bytes bytes() const { return length * count; }
    /// Returns the end of the last piece.
    [[nodiscard]] Offset end() const { return offset + (count - 1) * stride + length; }
    [[nodiscard]] bool operator==(const StridedRun&) const = default;
};

/// An iterator over a layout. A copy of the object remembers the position.
class Cursor {
  public:
    explicit Cursor(Layout layout);

    [[nodiscard]] const Layout& layout() const { return layout_; }
    [[nodiscard]] bool at_end() const;
    /// Returns the number of data bytes before the current position.
    [[nodiscard]] Bytes tell_size() const { return position_; }
    /// Returns the offset of the next data byte; at the end, the end of the last piece.
    [[nodiscard]] Offset tell_offset() const;
    /// Moves to data position `at`. REQUIRES: 0 <= at <= layout().size().
    void seek_size(Bytes at);
    /// Moves to the first data byte at or after `offset`. REQUIRES: the layout is monotonic.
    void seek_offset(Offset offset);
    /// Takes the next strided run of a leaf: at most `bytes_max` (> 0) data bytes, all of them
    /// before `offset_limit`. The result has a count of 0 if nothing is left within the limits. A
    /// piece that is cut by a limit is a run of its own. A run of a single piece also takes in the
    /// touching pieces of the parts and tiles that follow. REQUIRES: the layout is monotonic, or
    /// there is no `offset_limit`.
    StridedRun next(Bytes bytes_max = INT64_MAX, Offset offset_limit = INT64_MAX);
    /// Takes pieces in the form in which a leaf of the shape keeps them. Takes as many whole pieces
    /// of the leaf as fit `bytes_max` (> 0) data bytes. If the whole leaf fits and its parent
    /// repeats it at a constant stride, takes as many of the repetitions as fit. If the current
    /// piece was partly taken before or doesn't fit, takes the rest of it, up to `bytes_max` bytes,
    /// as a run of its own. Doesn't join touching pieces. Sets pieces.rows to 0 at the end. Takes
    /// O(log pieces taken) time.
    void next_pieces(PieceRows& pieces, Bytes bytes_max = INT64_MAX);

  private:
    /// A leaf of the shape (a run, or a node of runs), unpacked to what is needed for each piece.
    struct Leaf {
        Offset origin = 0;
        std::int64_t count = 0;           ///< number of pieces
        const Offset* offsets = nullptr;  ///< offset of each piece; null: pieces are `stride` apart
        /// Data bytes before each piece; null: all pieces have `length`.
        const Bytes* prefix = nullptr;
        Bytes length = 0;
        Bytes stride = 0;

        void set(const Shape& shape, Offset at);
        [[nodiscard]] Offset begin_of(std::int64_t part) const;
        [[nodiscard]] Bytes length_of(std::int64_t part) const;
    };
    /// Successive pieces of equal length at a constant stride.
    struct Series {
        std::int64_t count = 1;
        Bytes stride = 0;
    };
    /// A node above the leaf, and its current part.
    struct Level {
        const Shape* shape = nullptr;
        Offset origin = 0;
        std::int64_t part = 0;
    };

    void descend(const Shape* node, Offset origin);
    void next_leaf();
    void finish();
    void advance(std::int64_t parts);
    void take(Bytes bytes);
    [[nodiscard]] Series series(Extent first, Bytes bytes_max, Offset offset_limit) const;
    [[nodiscard]] Series listed_series(Extent first, Bytes bytes_max, Offset offset_limit) const;
    StridedRun next_in_leaf(Bytes bytes_max, Offset offset_limit);

    Layout layout_;
    ShapePtr root_;             ///< the layout's shape with its tiles as the highest level
    Offset origin_ = 0;         ///< origin of root_
    std::vector<Level> stack_;  ///< the levels above the leaf, root first
    Leaf leaf_;                 ///< the current leaf; its count is 0 at the end
    std::int64_t part_ = 0;     ///< current piece of the leaf
    Bytes within_ = 0;          ///< bytes of that piece that were already taken
    Bytes position_ = 0;
};

/// Returns the number of data bytes of `layout` that come, in data order, before the first data
/// byte at or after `offset`. REQUIRES: the layout is monotonic.
[[nodiscard]] Bytes size_before_offset(const Layout& layout, Offset offset);
/// Returns the offset of the data byte at data position `at`.
[[nodiscard]] Offset offset_of_size(const Layout& layout, Bytes at);

}  // namespace oratorio
