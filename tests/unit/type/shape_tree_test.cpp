// SPDX-License-Identifier: BSD-3-Clause
#include "type/shape_tree.hpp"

#include <gtest/gtest.h>

#include "support/typemap_oracle.hpp"
#include "type/shape_codec.hpp"

namespace oratorio::test::shape_tree_test {
namespace {

using test::TypemapGenerator;

std::vector<std::byte> encoded(const ShapePtr& shape) {
    std::vector<std::byte> code;
    encode({shape, 0, 0, 1}, code);
    return code;
}

TEST(ShapeTree, TheSameTreesAreThoseWhoseCodesAreTheSame) {
    std::vector<std::pair<ShapePtr, std::vector<std::byte>>> all;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const ShapePtr shape =
            TypemapGenerator(seed, TypemapGenerator::Style::any).layout(5).layout.shape;
        all.emplace_back(shape, encoded(shape));
        all.emplace_back(decode(encoded({shape}))->shape, encoded(shape));
    }
    for (const auto& [shape, code] : all)
        for (const auto& [other, its_code] : all)
            ASSERT_EQ(same_tree(*shape, *other), code == its_code)
                << shape->describe() << " and " << other->describe();
}

TEST(ShapeTree, OneNumberMakesTheDifference) {
    const std::vector<Offset> offsets{0, 10, 25, 70};
    const auto blocks = [](std::vector<Offset> at) {
        return Shape::blocks(Shape::run(4), std::move(at));
    };
    EXPECT_TRUE(same_tree(*blocks(offsets), *blocks(offsets)));
    auto other = offsets;
    other[1] = 11;
    EXPECT_FALSE(same_tree(*blocks(offsets), *blocks(other)));
    EXPECT_TRUE(
        same_tree(*Shape::runs({0, 10, 30}, {4, 5, 6}), *Shape::runs({0, 10, 30}, {4, 5, 6})));
    EXPECT_FALSE(
        same_tree(*Shape::runs({0, 10, 30}, {4, 5, 6}), *Shape::runs({0, 10, 30}, {5, 4, 6})));
}

TEST(ShapeTree, NumbersAreCountedAsFarAsOneWantsToKnow) {
    EXPECT_EQ(numbers_of(*Shape::run(8), 100), 1);
    EXPECT_EQ(numbers_of(*Shape::strided(Shape::run(8), 1000, 32), 100), 2);
    EXPECT_EQ(numbers_of(*Shape::blocks(Shape::run(8), {0, 10, 70}), 100), 5);
    EXPECT_EQ(numbers_of(*Shape::runs({0, 10, 30}, {4, 5, 6}), 100), 7);
    // Shared subtrees make a tree of 2^40 nodes, if each occurrence is counted.
    ShapePtr shape = Shape::runs({0, 10, 30}, {4, 5, 6});
    for (int i = 0; i < 40; ++i) {
        const Bytes end = shape->span().end;
        if (end > Bytes{1} << 55) break;
        shape = Shape::mixed({shape, Shape::run(1), shape}, {0, end + 1, end + 3 + i});
    }
    const std::int64_t counted = numbers_of(*shape, 1000);
    EXPECT_GT(counted, 1000);
    EXPECT_LT(counted, 1100);
}

}  // namespace
}  // namespace oratorio::test::shape_tree_test
