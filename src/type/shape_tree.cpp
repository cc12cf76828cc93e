// SPDX-License-Identifier: BSD-3-Clause
#include "type/shape_tree.hpp"

#include <algorithm>
#include <span>

namespace oratorio {

namespace {

/// Compares the lists as memory. The overload of std::equal for iterators does that;
/// std::ranges::equal would compare number by number.
template <class T>
bool same_list(std::span<const T> a, std::span<const T> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::int64_t children_of(const Shape& shape) {
    if (shape.kind() == Shape::Kind::mixed) return shape.count();
    return shape.child() != nullptr ? 1 : 0;
}

}  // namespace

std::int64_t numbers_of(const Shape& shape, std::int64_t most) {
    std::int64_t all = 1 + std::ssize(shape.offsets());
    if (shape.kind() == Shape::Kind::runs) all += shape.count();
    const std::int64_t children = children_of(shape);
    for (std::int64_t part = 0; part < children && all <= most; ++part)
        all += numbers_of(*shape.child(part), most - all);
    return all;
}

bool same_tree(const Shape& a, const Shape& b) {
    if (&a == &b) return true;
    const bool alike = a.kind() == b.kind() && a.size() == b.size() && a.count() == b.count() &&
                       a.stride() == b.stride() && a.span() == b.span();
    if (!alike || !same_list(a.offsets(), b.offsets())) return false;
    if (a.kind() == Shape::Kind::runs && !same_list(a.prefix(), b.prefix())) return false;
    const std::int64_t children = children_of(a);
    for (std::int64_t part = 0; part < children; ++part)
        if (!same_tree(*a.child(part), *b.child(part))) return false;
    return true;
}

}  // namespace oratorio
