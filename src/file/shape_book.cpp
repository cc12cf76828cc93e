// SPDX-License-Identifier: BSD-3-Clause
#include "file/shape_book.hpp"

#include <algorithm>
#include <new>

#include "type/shape_codec.hpp"
#include "type/shape_tree.hpp"

namespace oratorio {

ShapeBook::ShapeBook(std::size_t shapes, std::int64_t numbers)
    : shapes_most_(shapes), numbers_most_(numbers) {
    try {
        kept_.reserve(shapes);
    } catch (const std::bad_alloc&) {
        shapes_most_ = 0;
    }
}

int ShapeBook::number_of(const ShapePtr& shape) {
    const auto same = [&](const Recent& one) {
        return one.address == shape.get() && !one.shape.owner_before(shape) &&
               !shape.owner_before(one.shape);
    };
    const auto found = std::ranges::find_if(recent_, same);
    if (found != recent_.end()) return found->number;
    Recent& mine = recent_[next_++ % recent_.size()];
    mine = {shape.get(), shape, look_up(shape)};
    return mine.number;
}

int ShapeBook::look_up(const ShapePtr& shape) {
    const std::int64_t numbers = numbers_of(*shape, numbers_most_);
    if (numbers > numbers_most_) return none;
    const auto same = [&](const ShapePtr& other) { return same_tree(*shape, *other); };
    const auto found = std::ranges::find_if(kept_, same);
    if (found != kept_.end()) return static_cast<int>(found - kept_.begin());
    if (kept_.size() >= shapes_most_ || numbers_ + numbers > numbers_most_) return none;
    numbers_ += numbers;
    kept_.push_back(shape);
    return static_cast<int>(kept_.size()) - 1;
}

ShapeBook::Encoded ShapeBook::encoded() const {
    Encoded all;
    for (const ShapePtr& one : kept_) {
        const Bytes before = std::ssize(all.bytes);
        encode({one, 0, 0, 1}, all.bytes);
        all.sizes.push_back(std::ssize(all.bytes) - before);
    }
    return all;
}

}  // namespace oratorio
