// SPDX-License-Identifier: BSD-3-Clause
// Shape: the normal form of a datatype's layout. An immutable tree, built once per datatype and
// shared. Adjacent pieces are merged, constant strides recognised, nested vectors collapsed,
// zero-size parts dropped, so that two datatypes with the same typemap layout usually get the same
// shape and a cursor meets as few and as long strided runs as possible. (Source of the idea: the
// datatype iterator of Hastings & Choudhary 2006, section 2.) However deeply a program nests its
// datatypes, the tree stays shallow (decision 0055), so functions may recurse over it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/extent.hpp"
#include "type/list.hpp"

namespace oratorio {

class Shape;
struct JoinedRuns;
using ShapePtr = std::shared_ptr<const Shape>;

/// One node of the tree. Offsets are bytes relative to the node's origin and may be negative
/// (memory types). Data order (the order of the typemap) is the order of children.
class Shape {
  public:
    enum class Kind {
        empty,    ///< no bytes
        run,      ///< `size` contiguous bytes at offset 0
        strided,  ///< `count` copies of `child`, `stride` bytes apart
        blocks,   ///< copies of `child` at `offsets[i]`
        runs,     ///< runs of differing length: lengths[i] bytes at offsets[i]
        mixed,    ///< children[i] at offsets[i]
    };

    [[nodiscard]] Kind kind() const { return kind_; }
    [[nodiscard]] Bytes size() const { return size_; }  ///< data bytes
    [[nodiscard]] Extent span() const {
        return span_;
    }  ///< first and one-past-last data byte (true lb, true ub)
    /// First and last contiguous piece in data order.
    [[nodiscard]] Extent first_piece() const { return first_piece_; }
    [[nodiscard]] Extent last_piece() const { return last_piece_; }
    /// Contiguous pieces, an upper bound where parts touch.
    [[nodiscard]] std::int64_t pieces() const { return pieces_; }
    [[nodiscard]] bool contiguous() const { return kind_ == Kind::run || kind_ == Kind::empty; }
    /// Neither the begins nor the ends of the pieces ever decrease in data order. What a file view
    /// needs (MPI-4.1, 14.3). Pieces may still overlap.
    [[nodiscard]] bool monotonic() const { return monotonic_; }
    /// Some byte occurs twice, as far as monotonic order shows it; false for non-monotonic shapes.
    [[nodiscard]] bool overlapping() const { return overlapping_; }
    /// Levels of the tree: run 1; 2 when all parts are runs; more otherwise. Grows with the
    /// logarithm of the number of parts and of the data bytes, not with the nesting of datatypes.
    [[nodiscard]] int depth() const { return depth_; }
    /// False for the shape that stands for every layout with data further than kOffsetLimit from
    /// its origin, or with more data than that. It has no parts and can't be walked.
    [[nodiscard]] bool fits() const { return fits_; }

    [[nodiscard]] std::int64_t count() const {
        return count_;
    }  ///< strided, blocks, runs, mixed: number of parts
    [[nodiscard]] Bytes stride() const { return stride_; }          ///< strided
    [[nodiscard]] const ShapePtr& child() const { return child_; }  ///< strided, blocks
    [[nodiscard]] const ShapePtr& child(
        std::int64_t part) const;                               ///< any kind but run, runs, empty
    [[nodiscard]] Offset part_offset(std::int64_t part) const;  ///< where part `part` begins
    [[nodiscard]] Bytes part_size(std::int64_t part) const;
    [[nodiscard]] std::span<const Offset> offsets() const {
        return {offsets_.data(), offsets_.size()};
    }  ///< blocks, runs, mixed
    /// runs, mixed: data bytes before each part, and the total at the end.
    [[nodiscard]] std::span<const Bytes> prefix() const { return {prefix_.data(), prefix_.size()}; }
    [[nodiscard]] Bytes size_before(
        std::int64_t part) const;  ///< data bytes of the parts before it (prefix sum)
    /// Part that holds data byte `at` (0 <= at < size); O(log parts).
    [[nodiscard]] std::int64_t part_of_size(Bytes at) const;
    /// First part whose last data byte is at or after `at`; count() when there is none. Monotonic
    /// shapes only; O(log parts).
    [[nodiscard]] std::int64_t part_of_offset(Offset at) const;

    /// "strided(8192 x 64, run 8)": for explain and tests.
    [[nodiscard]] std::string describe() const;

    // What the factories make of a part that doesn't fit doesn't fit either.
    static ShapePtr empty();
    static ShapePtr too_large();
    static ShapePtr run(Bytes bytes);
    /// count copies of child at stride; negative and zero strides allowed.
    static ShapePtr strided(ShapePtr child, std::int64_t count, Bytes stride);
    // The lists become the shape's own and may be written to.
    static ShapePtr blocks(ShapePtr child, List<Offset> offsets);
    static ShapePtr runs(List<Offset> offsets, const List<Bytes>& lengths);
    static ShapePtr runs(JoinedRuns joined);
    static ShapePtr mixed(std::vector<ShapePtr> children, List<Offset> offsets);
    /// `child` moved by `by` bytes.
    static ShapePtr moved(ShapePtr child, Offset by);

    friend struct ShapeBuilder;
    Shape() = default;

  private:
    Kind kind_ = Kind::empty;
    Bytes size_ = 0;
    Extent span_{};
    Extent first_piece_{};
    Extent last_piece_{};
    std::int64_t pieces_ = 0;
    bool monotonic_ = true;
    bool overlapping_ = false;
    bool fits_ = true;
    int depth_ = 1;
    std::int64_t count_ = 0;
    Bytes stride_ = 0;
    ShapePtr child_;
    List<Offset> offsets_;
    List<Bytes> prefix_;  ///< size before each part, and the total at the end (runs, mixed)
    std::vector<ShapePtr> children_;
};

// The three accessors below are on the path of every piece a cursor gives.
inline const ShapePtr& Shape::child(std::int64_t part) const {
    return kind_ == Kind::mixed ? children_[static_cast<std::size_t>(part)] : child_;
}

inline Offset Shape::part_offset(std::int64_t part) const {
    return kind_ == Kind::strided ? part * stride_ : offsets_[static_cast<std::size_t>(part)];
}

inline Bytes Shape::part_size(std::int64_t part) const {
    if (kind_ == Kind::strided || kind_ == Kind::blocks) return child_->size_;
    const auto at = static_cast<std::size_t>(part);
    return prefix_[at + 1] - prefix_[at];
}

/// A shape repeated: `count` tiles, `extent` bytes apart, the first one's origin at `origin`.
/// A file view is a layout with origin = displacement and unbounded count; a user's buffer is one
/// with origin 0 (offsets relative to the user's pointer) and the call's count.
struct Layout {
    ShapePtr shape = Shape::empty();
    Bytes extent = 0;
    Offset origin = 0;
    std::int64_t count = 0;

    static constexpr std::int64_t unbounded = INT64_MAX;

    /// Data bytes; INT64_MAX when unbounded (or too large) and the shape isn't empty.
    [[nodiscard]] Bytes size() const;
    /// All tiles, with the gaps after them, lie within kOffsetLimit of offset 0.
    [[nodiscard]] bool fits() const;
    /// All data is one contiguous run.
    [[nodiscard]] bool contiguous() const;
    /// Offsets never decrease over all tiles (tiles may not interleave).
    [[nodiscard]] bool monotonic() const;
    /// Data can be found by offset: a byte further on in the data is never at or before an earlier
    /// one.
    [[nodiscard]] bool searchable() const;
    [[nodiscard]] bool operator==(const Layout& other) const =
        default;  // same shape object, same numbers
};

}  // namespace oratorio
