// SPDX-License-Identifier: BSD-3-Clause
// The shapes that a rank records for a trace: equal shapes once, and no more than there is space
// for.
#include "file/shape_book.hpp"

#include <gtest/gtest.h>

#include "type/shape_codec.hpp"

namespace oratorio::test::shape_book_test {
namespace {

/// Returns `count` runs of 8 bytes with gaps that depend on the seed.
ShapePtr scattered(std::int64_t count, Offset seed = 0) {
    std::vector<Offset> offsets(static_cast<std::size_t>(count));
    for (Offset i = 0; i < count; ++i)
        offsets[static_cast<std::size_t>(i)] = 100 * i + i * i % (7 + seed);
    return Shape::blocks(Shape::run(8), std::move(offsets));
}

TEST(ShapeBook, EqualShapesAreOneWhereverTheyLie) {
    ShapeBook book(10, 1 << 20);
    const ShapePtr first = scattered(50);
    EXPECT_EQ(book.number_of(first), 0);
    EXPECT_EQ(book.number_of(scattered(50)), 0);
    EXPECT_EQ(book.number_of(scattered(51)), 1);
    EXPECT_EQ(book.number_of(scattered(50, 1)), 2);
    EXPECT_EQ(book.number_of(first), 0);
    EXPECT_EQ(book.size(), 3u);
}

TEST(ShapeBook, AnAddressThatIsUsedAgainIsAnotherShape) {
    ShapeBook book(1, 1 << 20);
    EXPECT_EQ(book.number_of(Shape::run(8)), 0);
    for (Bytes bytes = 9; bytes < 300; ++bytes)
        EXPECT_EQ(book.number_of(Shape::run(bytes)), ShapeBook::none) << "there is no more room";
    EXPECT_EQ(book.number_of(Shape::run(8)), 0);
}

/// Predefined datatypes have shapes that are never freed, so their pointers count no references.
TEST(ShapeBook, ShapesThatNoPointerOwnsAreToldApart) {
    const ShapePtr owner = Shape::run(8), other_owner = Shape::run(4);
    const ShapePtr eight(ShapePtr(), owner.get()), four(ShapePtr(), other_owner.get());
    ShapeBook book(10, 1 << 20);
    EXPECT_EQ(book.number_of(eight), 0);
    EXPECT_EQ(book.number_of(four), 1);
    EXPECT_EQ(book.number_of(Shape::empty()), 2);
    EXPECT_EQ(book.number_of(eight), 0);
    EXPECT_EQ(book.size(), 3u);
}

TEST(ShapeBook, DropsOnlyShapesThatDoNotFit) {
    ShapeBook book(10, 50);
    EXPECT_EQ(book.number_of(scattered(1000)), ShapeBook::none);
    EXPECT_EQ(book.number_of(scattered(20)), 0) << "22 numbers";
    EXPECT_EQ(book.number_of(scattered(21)), 1);
    EXPECT_EQ(book.number_of(scattered(22)), ShapeBook::none);
    EXPECT_EQ(book.number_of(Shape::run(1)), 2) << "a small one still fits";
    EXPECT_EQ(book.encoded().sizes.size(), 3u);
}

TEST(ShapeBook, EachIsDecodedAsItWas) {
    ShapeBook book(10, 1 << 20);
    const ShapePtr shapes[] = {scattered(30), Shape::run(7), Shape::strided(Shape::run(8), 4, 32)};
    for (const ShapePtr& shape : shapes) (void)book.number_of(shape);
    const auto all = book.encoded();
    ASSERT_EQ(all.sizes.size(), 3u);
    std::span<const std::byte> left(all.bytes);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto layout = decode(left.first(static_cast<std::size_t>(all.sizes[i])));
        ASSERT_TRUE(layout.ok());
        EXPECT_EQ(layout->shape->describe(), shapes[i]->describe());
        left = left.subspan(static_cast<std::size_t>(all.sizes[i]));
    }
    EXPECT_TRUE(left.empty());
}

}  // namespace
}  // namespace oratorio::test::shape_book_test
