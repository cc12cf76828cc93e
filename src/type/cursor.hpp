// SPDX-License-Identifier: BSD-3-Clause
// Cursor: the datatype iterator (Hastings & Choudhary 2006, section 2). Walks a layout in data
// order and gives strided runs; seeks and tells by data size and by offset. Costs O(depth log
// parts) to seek, O(1) memory per level, nothing per piece.
#pragma once

#include <cstdint>
#include <vector>

#include "type/piece_run.hpp"
#include "type/shape.hpp"

namespace oratorio {

/// `count` pieces of `length` bytes, `stride` bytes apart, the first at `offset`.
struct StridedRun {
    Offset offset = 0;
    Bytes length = 0;
    Bytes stride = 0;  ///< 0 when count is 1
    std::int64_t count = 0;

    [[nodiscard]] Bytes bytes() const { return length * count; }
    [[nodiscard]] Offset end() const {
        return offset + (count - 1) * stride + length;
    }  ///< of the last piece
    [[nodiscard]] bool operator==(const StridedRun&) const = default;
};

/// Copyable: a copy is a bookmark.
class Cursor {
  public:
    explicit Cursor(Layout layout);

    [[nodiscard]] const Layout& layout() const { return layout_; }
    [[nodiscard]] bool at_end() const;
    /// Data bytes before the current position.
    [[nodiscard]] Bytes tell_size() const { return position_; }
    /// Offset of the next data byte; the end of the last one when at the end.
    [[nodiscard]] Offset tell_offset() const;
    /// To data position `at`, 0 <= at <= layout().size().
    void seek_size(Bytes at);
    /// To the first data byte at or after `offset`. Monotonic layouts only.
    void seek_offset(Offset offset);
    /// Takes the next strided run: as long as it can be with at most `bytes_max` (> 0) data bytes
    /// and with every byte before `offset_limit` (runs are cut there; a limit only makes sense for
    /// monotonic layouts). count == 0 when nothing is left under the limits. A piece cut by a limit
    /// comes as a run of its own. A lone piece and the touching pieces of the parts and tiles after
    /// it come as one.
    StridedRun next(Bytes bytes_max = INT64_MAX, Offset offset_limit = INT64_MAX);
    /// Takes pieces the way a leaf of the shape keeps them: whole ones, all that fit `bytes_max`
    /// (> 0) data bytes, and as many whole repetitions of the leaf as its parent has and that fit;
    /// or, as a run of its own, the part of a piece that fits or that is left of one. Touching
    /// pieces aren't joined. pieces.rows == 0 at the end. O(log pieces taken).
    void next_pieces(PieceRows& pieces, Bytes bytes_max = INT64_MAX);

  private:
    /// A run or a node of runs, unpacked: what every piece needs.
    struct Leaf {
        Offset origin = 0;
        std::int64_t count = 0;           ///< pieces
        const Offset* offsets = nullptr;  ///< of each piece; null: `stride` apart
        const Bytes* prefix =
            nullptr;  ///< data bytes before each piece; null: all are `length` long
        Bytes length = 0;
        Bytes stride = 0;

        void set(const Shape& shape, Offset at);
        [[nodiscard]] Offset begin_of(std::int64_t part) const;
        [[nodiscard]] Bytes length_of(std::int64_t part) const;
    };
    /// Pieces that follow each other at a constant stride.
    struct Series {
        std::int64_t count = 1;
        Bytes stride = 0;
    };
    /// A node whose parts are not all runs, and the part of it we are in.
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
    ShapePtr root_;             ///< the tiles are a level of the tree like any other
    Offset origin_ = 0;         ///< of root_
    std::vector<Level> stack_;  ///< the levels above the leaf, root first
    Leaf leaf_;                 ///< count 0 at the end
    std::int64_t part_ = 0;     ///< the piece of the leaf we are in
    Bytes within_ = 0;          ///< bytes already taken of that piece
    Bytes position_ = 0;
};

/// Data bytes of `layout` whose offset is before `offset`. Monotonic layouts only.
[[nodiscard]] Bytes size_before_offset(const Layout& layout, Offset offset);
/// Offset of data byte `at` (a size position).
[[nodiscard]] Offset offset_of_size(const Layout& layout, Bytes at);

}  // namespace oratorio
