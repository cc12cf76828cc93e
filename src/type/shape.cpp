// SPDX-License-Identifier: BSD-3-Clause
#include "type/shape.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

#include "type/joined_runs.hpp"
#include "type/nesting.hpp"

namespace oratorio {

namespace {

std::size_t index(std::int64_t part) {
    return static_cast<std::size_t>(part);
}

Extent shifted(Extent extent, Offset by) {
    return {extent.begin + by, extent.end + by};
}

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

bool in_range(Offset at) {
    return at > -kOffsetLimit && at < kOffsetLimit;
}

/// Returns true if `span`, moved by `by`, stays in range. REQUIRES: `span` is in range.
bool fits_at(Extent span, Offset by) {
    return in_range(by) && span.begin + by >= -kOffsetLimit && span.end + by <= kOffsetLimit;
}

/// Returns true if copies of `part` at the offsets are in range, and have at most kOffsetLimit data
/// bytes in total.
bool fits_at(const Shape& part, const List<Offset>& offsets) {
    const auto [lowest, highest] = std::minmax_element(offsets.begin(), offsets.end());
    const Bytes size = saturating_product(part.size(), std::ssize(offsets));
    return size <= kOffsetLimit && fits_at(part.span(), *lowest) && fits_at(part.span(), *highest);
}

/// A shape in normal form without its outermost displacement, and that displacement.
struct Placed {
    ShapePtr shape;
    Offset offset = 0;
};

Placed peel(ShapePtr shape) {
    if (shape->kind() != Shape::Kind::blocks || shape->count() > 1) return {std::move(shape), 0};
    return {shape->child(), shape->part_offset(0)};
}

/// Returns true if a few comparisons show that the shapes are equal. Compares no lists, so the
/// result can be false for equal shapes.
bool same(const Shape& a, const Shape& b) {
    if (&a == &b) return true;
    if (a.kind() != b.kind() || a.size() != b.size()) return false;
    if (a.kind() == Shape::Kind::run) return true;
    return a.kind() == Shape::Kind::strided && a.count() == b.count() && a.stride() == b.stride() &&
           same(*a.child(), *b.child());
}

bool equally_spaced(const List<Offset>& offsets) {
    const Bytes step = offsets[1] - offsets[0];
    return std::adjacent_find(offsets.begin() + 1, offsets.end(), [step](Offset a, Offset b) {
               return b - a != step;
           }) == offsets.end();
}

/// Makes a shape of the runs run_of(i), one per offset. Reuses the memory of the offsets.
template <class RunOf>
ShapePtr joined_runs(List<Offset> offsets, const RunOf& run_of) {
    const auto count = std::ssize(offsets);
    return Shape::runs(JoinedRuns::of(count, run_of, std::move(offsets), nullptr));
}

/// Moves the children's displacements into `offsets`, drops empty children, and joins each run to
/// the run that it continues. Works in place. REQUIRES: the children fit at their offsets.
void merge_children(std::vector<ShapePtr>& children, List<Offset>& offsets) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < children.size(); ++i) {
        if (children[i]->size() == 0) continue;
        Placed placed = peel(std::move(children[i]));
        placed.offset += offsets[i];
        if (kept > 0 && placed.shape->kind() == Shape::Kind::run &&
            children[kept - 1]->kind() == Shape::Kind::run &&
            offsets[kept - 1] + children[kept - 1]->size() == placed.offset) {
            children[kept - 1] = Shape::run(children[kept - 1]->size() + placed.shape->size());
            continue;
        }
        children[kept] = std::move(placed.shape);
        offsets[kept++] = placed.offset;
    }
    children.resize(kept);
    offsets.shorten(kept);
}

/// Returns true if all children with data are in range at their offsets, and have at most
/// kOffsetLimit data bytes in total.
bool fit_at(const std::vector<ShapePtr>& children, const List<Offset>& offsets) {
    Bytes size = 0;
    for (std::size_t i = 0; i < children.size(); ++i) {
        const Shape& child = *children[i];
        if (child.size() == 0) continue;
        if (!child.fits() || !fits_at(child.span(), offsets[i])) return false;
        size += child.size();
        if (size > kOffsetLimit) return false;
    }
    return true;
}

/// Returns the number of parts that could replace `shape` in its parent; 0 unless `shape` lists
/// differing parts (mixed or runs).
std::size_t parts_to_take(const Shape& shape) {
    const bool listed = shape.kind() == Shape::Kind::mixed || shape.kind() == Shape::Kind::runs;
    return listed ? static_cast<std::size_t>(shape.count()) : 0;
}

/// Replaces child `at` by its parts.
void take_parts(std::vector<ShapePtr>& children, List<Offset>& offsets, std::size_t at) {
    const ShapePtr taken = std::move(children[at]);
    const auto parts = static_cast<std::size_t>(taken->count());
    List<Offset> all(children.size() - 1 + parts);
    std::vector<ShapePtr> shapes;
    shapes.reserve(all.size());
    for (std::size_t i = 0; i < children.size(); ++i) {
        if (i != at) {
            all[shapes.size()] = offsets[i];
            shapes.push_back(std::move(children[i]));
            continue;
        }
        for (std::int64_t part = 0; part < taken->count(); ++part) {
            all[shapes.size()] = offsets[at] + taken->part_offset(part);
            shapes.push_back(taken->kind() == Shape::Kind::mixed
                                 ? taken->child(part)
                                 : Shape::run(taken->part_size(part)));
        }
    }
    children = std::move(shapes);
    offsets = std::move(all);
}

}  // namespace

/// Makes nodes from parts that are in normal form, and computes all members of the nodes.
struct ShapeBuilder {
    /// Makes the node for all layouts that don't fit. Its size is one byte, so that it isn't
    /// treated as an empty shape.
    static ShapePtr unfit() {
        auto node = std::make_shared<Shape>(*run(1));
        node->fits_ = false;
        return node;
    }

    static ShapePtr run(Bytes bytes) {
        auto node = std::make_shared<Shape>();
        node->kind_ = Shape::Kind::run;
        node->size_ = bytes;
        node->span_ = node->first_piece_ = node->last_piece_ = {0, bytes};
        node->pieces_ = 1;
        return node;
    }

    static ShapePtr strided(ShapePtr child, std::int64_t count, Bytes stride) {
        auto node = repeated(Shape::Kind::strided, std::move(child), count);
        node->stride_ = stride;
        const Shape& part = *node->child_;
        const Offset last = (count - 1) * stride;
        node->span_ = hull(part.span_, shifted(part.span_, last));
        node->first_piece_ = part.first_piece_;
        node->last_piece_ = shifted(part.last_piece_, last);
        PieceOrder order{part.monotonic_, part.overlapping_};
        order.follow(part.last_piece_, shifted(part.first_piece_, stride));
        set_order(*node, order);
        return node;
    }

    static ShapePtr blocks(ShapePtr child, List<Offset> offsets) {
        auto node = repeated(Shape::Kind::blocks, std::move(child), std::ssize(offsets));
        const Shape& part = *node->child_;
        Offset lowest = offsets.front();
        Offset highest = lowest;
        Bytes step = INT64_MAX;  // smallest distance between neighbouring offsets
        for (std::size_t i = 1; i < offsets.size(); ++i) {
            lowest = std::min(lowest, offsets[i]);
            highest = std::max(highest, offsets[i]);
            step = std::min(step, offsets[i] - offsets[i - 1]);
        }
        node->span_ = {lowest + part.span_.begin, highest + part.span_.end};
        node->first_piece_ = shifted(part.first_piece_, offsets.front());
        node->last_piece_ = shifted(part.last_piece_, offsets.back());
        PieceOrder order{part.monotonic_, part.overlapping_};
        if (offsets.size() > 1) order.follow(part.last_piece_, shifted(part.first_piece_, step));
        set_order(*node, order);
        node->offsets_ = std::move(offsets);
        return node;
    }

    static ShapePtr runs(JoinedRuns joined) {
        auto node = std::make_shared<Shape>();
        node->kind_ = Shape::Kind::runs;
        node->count_ = node->pieces_ = std::ssize(joined.offsets);
        node->depth_ = 2;
        node->size_ = joined.prefix.back();
        node->first_piece_ = joined.run(0);
        node->last_piece_ = joined.run(joined.count() - 1);
        node->span_ = hull(node->first_piece_, node->last_piece_);
        for (std::size_t i = 0; i < joined.count() && !joined.order.monotonic(); ++i)
            node->span_ = hull(node->span_, joined.run(i));
        set_order(*node, joined.order);
        node->offsets_ = std::move(joined.offsets);
        node->prefix_ = std::move(joined.prefix);
        return node;
    }

    static ShapePtr mixed(std::vector<ShapePtr> children, List<Offset> offsets) {
        auto node = std::make_shared<Shape>();
        node->kind_ = Shape::Kind::mixed;
        node->count_ = std::ssize(children);
        node->prefix_ = List<Bytes>(children.size() + 1);
        PieceOrder order;
        for (std::size_t i = 0; i < children.size(); ++i) {
            const Shape& part = *children[i];
            const Extent first = shifted(part.first_piece_, offsets[i]);
            if (i == 0) node->first_piece_ = first;
            if (i > 0) order.follow(node->last_piece_, first);
            order.add({part.monotonic_, part.overlapping_});
            node->span_ = hull(node->span_, shifted(part.span_, offsets[i]));
            node->last_piece_ = shifted(part.last_piece_, offsets[i]);
            node->prefix_[i] = node->size_;
            node->size_ += part.size_;
            node->pieces_ += part.pieces_;
            node->depth_ = std::max(node->depth_, part.depth_ + 1);
        }
        node->prefix_.back() = node->size_;
        set_order(*node, order);
        node->children_ = std::move(children);
        node->offsets_ = std::move(offsets);
        return node;
    }

  private:
    static std::shared_ptr<Shape> repeated(Shape::Kind kind, ShapePtr child, std::int64_t count) {
        auto node = std::make_shared<Shape>();
        node->kind_ = kind;
        node->count_ = count;
        node->size_ = child->size_ * count;
        node->pieces_ = saturating_product(child->pieces_, count);
        node->depth_ = child->depth_ + 1;
        node->child_ = std::move(child);
        return node;
    }

    static void set_order(Shape& node, PieceOrder order) {
        node.monotonic_ = order.monotonic();
        node.overlapping_ = order.overlapping();
    }
};

// The empty shape is never freed and has no reference count, because every new layout starts with
// it.
ShapePtr Shape::empty() {
    static const Shape* const nothing = new Shape;
    return ShapePtr(ShapePtr(), nothing);
}

ShapePtr Shape::too_large() {
    static const Shape* const unfit = new Shape(*ShapeBuilder::unfit());
    return ShapePtr(ShapePtr(), unfit);
}

ShapePtr Shape::run(Bytes bytes) {
    if (bytes > kOffsetLimit) return too_large();
    return bytes > 0 ? ShapeBuilder::run(bytes) : empty();
}

ShapePtr Shape::strided(ShapePtr child, std::int64_t count, Bytes stride) {
    if (count <= 0 || child->size_ == 0) return empty();
    if (count == 1 || !child->fits_) return child;
    const Offset last = saturating_product(count - 1, stride);
    if (!oratorio::fits_at(child->span_, last) ||
        saturating_product(child->size_, count) > kOffsetLimit)
        return too_large();
    auto [part, offset] = peel(std::move(child));
    if (part->kind_ == Kind::run && stride == part->size_)
        return moved(run(part->size_ * count), offset);
    if (part->kind_ == Kind::strided && stride == part->count_ * part->stride_)
        return moved(ShapeBuilder::strided(part->child_, part->count_ * count, part->stride_),
                     offset);
    return moved(ShapeBuilder::strided(std::move(part), count, stride), offset);
}

ShapePtr Shape::blocks(ShapePtr child, List<Offset> offsets) {
    if (offsets.empty() || child->size_ == 0) return empty();
    if (!child->fits_ || !oratorio::fits_at(*child, offsets)) return too_large();
    auto [part, inner] = peel(std::move(child));
    if (inner != 0)
        for (Offset& offset : offsets) offset += inner;
    const Offset first = offsets.front();
    if (offsets.size() == 1) return moved(std::move(part), first);
    if (equally_spaced(offsets)) {
        const Bytes stride = offsets[1] - offsets[0];
        return moved(strided(std::move(part), std::ssize(offsets), stride), first);
    }
    const Bytes length = part->size_;
    const auto touches = [length](Offset a, Offset b) { return a + length == b; };
    if (part->kind_ == Kind::run &&
        std::adjacent_find(offsets.begin(), offsets.end(), touches) != offsets.end()) {
        const Offset* const at = offsets.data();
        const auto run_of = [at, length](std::int64_t i) { return Extent{at[i], at[i] + length}; };
        return joined_runs(std::move(offsets), run_of);
    }
    return ShapeBuilder::blocks(std::move(part), std::move(offsets));
}

ShapePtr Shape::runs(List<Offset> offsets, const List<Bytes>& lengths) {
    assert(offsets.size() == lengths.size());
    const Offset* const at = offsets.data();
    const Bytes* const length = lengths.data();
    const auto run_of = [at, length](std::int64_t i) { return Extent{at[i], at[i] + length[i]}; };
    return joined_runs(std::move(offsets), run_of);
}

ShapePtr Shape::runs(JoinedRuns joined) {
    if (joined.count() == 0) return empty();
    if (!joined.fits) return too_large();
    const Bytes length = joined.run(0).length();
    std::size_t alike = 1;
    while (alike < joined.count() && joined.run(alike).length() == length) ++alike;
    if (alike == joined.count()) return blocks(run(length), std::move(joined.offsets));
    return ShapeBuilder::runs(std::move(joined));
}

ShapePtr Shape::mixed(std::vector<ShapePtr> children, List<Offset> offsets) {
    assert(children.size() == offsets.size());
    if (!fit_at(children, offsets)) return too_large();
    merge_children(children, offsets);
    if (children.empty()) return empty();
    const auto is = [&](auto test) { return std::all_of(children.begin(), children.end(), test); };
    if (is([&](const ShapePtr& child) { return same(*child, *children.front()); }))
        return blocks(children.front(), std::move(offsets));
    if (is([](const ShapePtr& child) { return child->kind_ == Kind::run; })) {
        const Offset* const at = offsets.data();
        const auto run_of = [at, &children](std::int64_t i) {
            return Extent{at[i], at[i] + children[index(i)]->size_};
        };
        return joined_runs(std::move(offsets), run_of);
    }
    const auto parts_of = [&](std::size_t i) { return parts_to_take(*children[i]); };
    const auto depth_of = [&](std::size_t i) { return children[i]->depth_; };
    if (const auto deepest = part_to_replace(children.size(), depth_of, parts_of)) {
        take_parts(children, offsets, *deepest);
        return mixed(std::move(children), std::move(offsets));
    }
    return ShapeBuilder::mixed(std::move(children), std::move(offsets));
}

ShapePtr Shape::moved(ShapePtr child, Offset by) {
    if (by == 0 || child->size_ == 0 || !child->fits_) return child;
    if (!oratorio::fits_at(child->span_, by)) return too_large();
    if (child->kind_ == Kind::run || child->kind_ == Kind::strided)
        return ShapeBuilder::blocks(std::move(child), {by});
    auto [part, offset] = peel(child);
    if (part != child) return moved(std::move(part), offset + by);
    auto node = std::make_shared<Shape>(*child);
    node->offsets_ = node->offsets_.first(node->offsets_.size());
    for (Offset& at : node->offsets_) at += by;
    for (Extent* extent : {&node->span_, &node->first_piece_, &node->last_piece_})
        *extent = shifted(*extent, by);
    return node;
}

}  // namespace oratorio
