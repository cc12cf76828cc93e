// SPDX-License-Identifier: BSD-3-Clause
#include "type/shape.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

#include "type/joined_runs.hpp"

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

/// A normal form whose only offset, if any, has been taken off.
struct Placed {
    ShapePtr shape;
    Offset offset = 0;
};

Placed peel(ShapePtr shape) {
    if (shape->kind() != Shape::Kind::blocks || shape->count() > 1) return {std::move(shape), 0};
    return {shape->child(), shape->part_offset(0)};
}

/// Equal as far as a few comparisons can tell.
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

/// One run for each of the offsets, in their memory.
template <class RunOf>
ShapePtr joined_runs(List<Offset> offsets, const RunOf& run_of) {
    const auto count = std::ssize(offsets);
    return Shape::runs(JoinedRuns::of(count, run_of, std::move(offsets), nullptr));
}

/// Peels the children, drops empty ones and joins a run to the run it continues; in place.
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

}  // namespace

/// Makes nodes whose parts are already in normal form and fills in what is derived from the parts.
struct ShapeBuilder {
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
        Bytes step = INT64_MAX;  // the least
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

// For ever there, so that nobody need count who uses it: every layout begins with it.
ShapePtr Shape::empty() {
    static const Shape* const nothing = new Shape;
    return ShapePtr(ShapePtr(), nothing);
}

ShapePtr Shape::run(Bytes bytes) {
    return bytes > 0 ? ShapeBuilder::run(bytes) : empty();
}

ShapePtr Shape::strided(ShapePtr child, std::int64_t count, Bytes stride) {
    if (count <= 0 || child->size_ == 0) return empty();
    if (count == 1) return child;
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
    const Bytes length = joined.run(0).length();
    std::size_t alike = 1;
    while (alike < joined.count() && joined.run(alike).length() == length) ++alike;
    if (alike == joined.count()) return blocks(run(length), std::move(joined.offsets));
    return ShapeBuilder::runs(std::move(joined));
}

ShapePtr Shape::mixed(std::vector<ShapePtr> children, List<Offset> offsets) {
    assert(children.size() == offsets.size());
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
    return ShapeBuilder::mixed(std::move(children), std::move(offsets));
}

ShapePtr Shape::moved(ShapePtr child, Offset by) {
    if (by == 0 || child->size_ == 0) return child;
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

Bytes Shape::size_before(std::int64_t part) const {
    if (kind_ == Kind::strided || kind_ == Kind::blocks) return part * child_->size_;
    return prefix_[index(part)];
}

std::int64_t Shape::part_of_size(Bytes at) const {
    if (kind_ == Kind::strided || kind_ == Kind::blocks) return at / child_->size_;
    return std::upper_bound(prefix_.begin(), prefix_.end(), at) - prefix_.begin() - 1;
}

std::int64_t Shape::part_of_offset(Offset at) const {
    if (at < span_.begin) return 0;
    if (at >= span_.end) return count_;
    // The part ends never decrease in a monotonic shape.
    if (kind_ == Kind::strided) {
        const Bytes past =
            at - child_->span_.end;  // part ends at or before `at`: part * stride <= past
        return past < 0 ? 0 : past / stride_ + 1;  // stride 0 can't get here: the spans are equal
    }
    if (kind_ == Kind::blocks)
        return std::upper_bound(offsets_.begin(), offsets_.end(), at - child_->span_.end) -
               offsets_.begin();
    const auto end_of = [this](std::int64_t part) {
        const auto i = index(part);
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
    return count == unbounded ? INT64_MAX : saturating_product(shape->size(), count);
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
    if (count > 1) order.follow(shape->last_piece(), shifted(shape->first_piece(), extent));
    return order.monotonic();
}

bool Layout::searchable() const {
    const bool tiles_apart = count <= 1 || extent >= shape->span().length();
    return monotonic() && !shape->overlapping() && tiles_apart;
}

}  // namespace oratorio
