// SPDX-License-Identifier: BSD-3-Clause
// ShapeBook: the shapes of the accesses that one rank traces, equal ones once, so that an access
// can be made again from its trace. Bounded: what doesn't fit isn't kept. Private to src/file.
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

    /// Room for so many shapes with so many numbers together. Where there is no memory for the
    /// book it has no room.
    ShapeBook(std::size_t shapes, std::int64_t numbers);

    /// The number of the shape; `none`: it doesn't fit. One that was asked for lately is found by
    /// its address.
    [[nodiscard]] int number_of(const ShapePtr& shape);

    [[nodiscard]] std::size_t size() const { return kept_.size(); }
    /// All of them, each as a layout of one tile without extent, and how many bytes each has.
    struct Encoded {
        std::vector<Bytes> sizes;
        std::vector<std::byte> bytes;
    };
    [[nodiscard]] Encoded encoded() const;

  private:
    /// The address is nobody else's as long as this is here.
    struct Recent {
        std::weak_ptr<const Shape> shape;
        int number = none;
    };
    [[nodiscard]] int look_up(const ShapePtr& shape);

    std::size_t shapes_most_;
    std::int64_t numbers_most_;
    std::int64_t numbers_ = 0;
    std::vector<ShapePtr> kept_;
    std::array<Recent, 4> recent_{};
    std::size_t next_ = 0;  ///< whose place the next recent one takes
};

}  // namespace oratorio
