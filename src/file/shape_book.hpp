// SPDX-License-Identifier: BSD-3-Clause
// ShapeBook: the shapes of the collective accesses that one rank traces, each kept once, so that an
// access can be repeated from its trace. The book is bounded: shapes that don't fit aren't kept.
// Private to src/file.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "type/shape.hpp"

namespace oratorio {

class ShapeBook {
  public:
    static constexpr int none = -1;

    /// Makes a book with room for `shapes` shapes, whose trees may have `numbers` numbers in total
    /// (numbers_of); without any room if memory is short.
    ShapeBook(std::size_t shapes, std::int64_t numbers);

    /// Returns the number of the shape, and adds the shape if the book doesn't have it yet; returns
    /// `none` if it doesn't fit. A shape object that was looked up recently is found by identity,
    /// without comparing shapes.
    [[nodiscard]] int number_of(const ShapePtr& shape);

    [[nodiscard]] std::size_t size() const { return kept_.size(); }
    /// All shapes, each encoded as a layout of one tile without extent, and their encoded sizes.
    struct Encoded {
        std::vector<Bytes> sizes;
        std::vector<std::byte> bytes;
    };
    [[nodiscard]] Encoded encoded() const;

  private:
    /// A shape that was looked up recently. The weak pointer keeps its control block, so no later
    /// shape at the same address can be taken for this one. Shapes that no pointer owns have no
    /// control block, and are never freed.
    struct Recent {
        const Shape* address = nullptr;
        std::weak_ptr<const Shape> shape;
        int number = none;
    };
    [[nodiscard]] int look_up(const ShapePtr& shape);

    std::size_t shapes_most_;
    std::int64_t numbers_most_;
    std::int64_t numbers_ = 0;
    std::vector<ShapePtr> kept_;
    std::array<Recent, 4> recent_{};
    std::size_t next_ = 0;  ///< entries of `recent_` written so far; the next replaces the oldest
};

}  // namespace oratorio
