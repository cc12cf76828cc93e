// SPDX-License-Identifier: BSD-3-Clause
// Shape: the normal form of a datatype's layout. An immutable tree, built once per datatype and
// shared. Adjacent pieces are merged, constant strides recognised, nested vectors collapsed, and
// parts without data dropped. So two datatypes with the same typemap usually have the same shape,
// and a cursor returns few, long strided runs. (The idea is from the datatype iterator of
// Hastings & Choudhary 2006, section 2.) However deeply a program nests its datatypes, the tree
// stays shallow (docs/internals/decisions/layouts-and-conversion.md), so functions may recurse over
// it.
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

/// One node of the tree. Offsets are in bytes, relative to the node's origin, and may be negative
/// (memory types). Data order, the order of the typemap, is the order of children.
class Shape {
  public:
    enum class Kind {
        empty,    ///< no bytes
        run,      ///< `size` contiguous bytes at offset 0
        strided,  ///< `count` copies of `child`, `stride` bytes apart
        blocks,   ///< copies of `child` at `offsets[i]`
        runs,     ///< runs that differ in length: part_size(i) bytes at offsets[i]
        mixed,    ///< children[i] at offsets[i]
    };

    [[nodiscard]] Kind kind() const { return kind_; }
    /// Returns the number of data bytes.
    [[nodiscard]] Bytes size() const { return size_; }
    /// Returns the range from the lowest data byte to the highest (true lb, true ub).
    [[nodiscard]] Extent span() const { return span_; }
    /// Return the first and the last contiguous piece in data order.
    [[nodiscard]] Extent first_piece() const { return first_piece_; }
    [[nodiscard]] Extent last_piece() const { return last_piece_; }
    /// Returns the number of contiguous pieces; an upper bound where parts touch.
    [[nodiscard]] std::int64_t pieces() const { return pieces_; }
    [[nodiscard]] bool contiguous() const { return kind_ == Kind::run || kind_ == Kind::empty; }
    /// Returns true if neither the begins nor the ends of the pieces ever decrease in data order.
    /// MPI requires this of a file view (MPI-4.1, 14.3). Pieces may still overlap.
    [[nodiscard]] bool monotonic() const { return monotonic_; }
    /// Returns true if the shape is monotonic and some byte occurs twice. Returns false for all
    /// shapes that aren't monotonic.
    [[nodiscard]] bool overlapping() const { return overlapping_; }
    /// Returns the number of levels of the tree: 1 for a run, 2 if all parts are runs, more
    /// otherwise. Grows with the logarithm of the number of parts and of the data bytes, not with
    /// the nesting of datatypes.
    [[nodiscard]] int depth() const { return depth_; }
    /// Returns false for too_large(), which replaces every layout with data further than
    /// kOffsetLimit from its origin, or with more data than that. Such a shape has no parts and
    /// can't be walked.
    [[nodiscard]] bool fits() const { return fits_; }

    /// Returns the number of parts of a strided, blocks, runs or mixed shape.
    [[nodiscard]] std::int64_t count() const { return count_; }
    /// Returns the distance between the copies of a strided shape.
    [[nodiscard]] Bytes stride() const { return stride_; }
    /// Returns the repeated child of a strided or blocks shape.
    [[nodiscard]] const ShapePtr& child() const { return child_; }
    /// Returns the child in part `part` of a strided, blocks or mixed shape.
    [[nodiscard]] const ShapePtr& child(std::int64_t part) const;
    /// Returns the offset of the origin of part `part`; for runs, where the run begins.
    [[nodiscard]] Offset part_offset(std::int64_t part) const;
    [[nodiscard]] Bytes part_size(std::int64_t part) const;
    /// Returns the offsets of the parts of a blocks, runs or mixed shape.
    [[nodiscard]] std::span<const Offset> offsets() const {
        return {offsets_.data(), offsets_.size()};
    }
    /// Returns, for runs and mixed, the number of data bytes before each part, and the total at the
    /// end.
    [[nodiscard]] std::span<const Bytes> prefix() const { return {prefix_.data(), prefix_.size()}; }
    /// Returns the number of data bytes in the parts before part `part`.
    [[nodiscard]] Bytes size_before(std::int64_t part) const;
    /// Returns the part that contains data byte `at`; O(log parts). REQUIRES: 0 <= at < size().
    [[nodiscard]] std::int64_t part_of_size(Bytes at) const;
    /// Returns the first part with a data byte at or after `at`, or count() if there is none;
    /// O(log parts). REQUIRES: the shape is monotonic.
    [[nodiscard]] std::int64_t part_of_offset(Offset at) const;

    /// Describes the shape for messages of tests: "strided(8192 x 64, run 8)".
    [[nodiscard]] std::string describe() const;

    // The functions below make shapes. They return too_large() for a shape that doesn't fit.
    static ShapePtr empty();
    static ShapePtr too_large();
    static ShapePtr run(Bytes bytes);
    /// Makes `count` copies of `child`, `stride` bytes apart; the stride may be negative or zero.
    static ShapePtr strided(ShapePtr child, std::int64_t count, Bytes stride);
    // blocks(), runs() and mixed() take ownership of the offsets and may write to them.
    static ShapePtr blocks(ShapePtr child, List<Offset> offsets);
    static ShapePtr runs(List<Offset> offsets, const List<Bytes>& lengths);
    static ShapePtr runs(JoinedRuns joined);
    static ShapePtr mixed(std::vector<ShapePtr> children, List<Offset> offsets);
    /// Returns `child` moved by `by` bytes.
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
    List<Bytes> prefix_;  ///< data bytes before each part, and the total at the end (runs, mixed)
    std::vector<ShapePtr> children_;
};

// Walks call these accessors for every part, so they are inline.
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

/// A shape repeated: `count` tiles, `extent` bytes apart, with the origin of the first one at
/// `origin`. A file view is a layout with origin = displacement and unbounded count. A user's
/// buffer is a layout with origin 0 (offsets relative to the user's pointer) and the call's count.
struct Layout {
    ShapePtr shape = Shape::empty();
    Bytes extent = 0;
    Offset origin = 0;
    std::int64_t count = 0;

    static constexpr std::int64_t unbounded = INT64_MAX;

    /// Returns the number of data bytes; INT64_MAX if the shape isn't empty and the count is
    /// unbounded or the product too large.
    [[nodiscard]] Bytes size() const;
    /// Returns true if the layout has no data, or if all its tiles lie within kOffsetLimit of
    /// offset 0 and have at most kOffsetLimit data bytes in total.
    [[nodiscard]] bool fits() const;
    /// Returns true if all data is one contiguous run.
    [[nodiscard]] bool contiguous() const;
    /// Returns true for a contiguous run that a type without parts describes. Costs less than
    /// contiguous(), which also recognizes runs in a derived type.
    [[nodiscard]] bool is_one_run() const {
        return shape->kind() == Shape::Kind::run && (count == 1 || extent == shape->size());
    }
    /// Returns true if offsets never decrease over all tiles, which implies that tiles don't
    /// interleave.
    [[nodiscard]] bool monotonic() const;
    /// Returns true if data can be found by its offset, because offsets increase from each data
    /// byte to the next.
    [[nodiscard]] bool searchable() const;
    /// Returns true if both layouts have the same shape object and the same numbers.
    [[nodiscard]] bool operator==(const Layout& other) const = default;
};

}  // namespace oratorio
