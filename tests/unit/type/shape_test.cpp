// SPDX-License-Identifier: BSD-3-Clause
#include "type/shape.hpp"

#include <gtest/gtest.h>

#include "support/typemap_oracle.hpp"

namespace oratorio::test::shape_test {
namespace {

using test::TypemapGenerator;

const ShapePtr kRun8 = Shape::run(8);

TEST(ShapeNormalForm, TouchingRepetitionIsOneRun) {
    EXPECT_EQ(Shape::strided(kRun8, 4, 8)->describe(), "run 32");
    EXPECT_EQ(Shape::blocks(kRun8, {0, 8, 16})->describe(), "run 24");
    EXPECT_EQ(Shape::runs({0, 3, 10}, {3, 7, 1})->describe(), "run 11");
    EXPECT_EQ(Shape::mixed({Shape::run(4), kRun8}, {0, 4})->describe(), "run 12");
}

TEST(ShapeNormalForm, NestedVectorsThatLineUpAreOneVector) {
    const ShapePtr row = Shape::strided(kRun8, 4, 16);
    EXPECT_EQ(Shape::strided(row, 5, 64)->describe(), "strided(20 x 16, run 8)");
    EXPECT_EQ(Shape::blocks(row, {0, 64, 128})->describe(), "strided(12 x 16, run 8)");
    EXPECT_EQ(Shape::strided(row, 5, 100)->describe(), "strided(5 x 100, strided(4 x 16, run 8))");
    EXPECT_EQ(Shape::strided(Shape::strided(kRun8, 3, -8), 2, -24)->describe(),
              "strided(6 x -8, run 8)");
    EXPECT_EQ(Shape::strided(Shape::strided(kRun8, 3, 0), 2, 0)->describe(),
              "strided(6 x 0, run 8)");
}

TEST(ShapeNormalForm, ListsWithAPatternLoseTheList) {
    EXPECT_EQ(Shape::runs({0, 16, 32}, {8, 8, 8})->describe(), "strided(3 x 16, run 8)");
    EXPECT_EQ(Shape::runs({0, 16, 40}, {8, 8, 8})->describe(), "blocks(3 @ 0 16 40, run 8)");
    EXPECT_EQ(Shape::runs({5, 16, 40}, {8, 4, 8})->describe(), "runs(3 @ 5+8 16+4 40+8)");
    EXPECT_EQ(Shape::blocks(kRun8, {0, 8, 32})->describe(), "runs(2 @ 0+16 32+8)");
    EXPECT_EQ(Shape::blocks(kRun8, {0, 8, 32, 40})->describe(), "strided(2 x 32, run 16)");
    EXPECT_EQ(Shape::mixed({Shape::run(4), kRun8}, {0, 8})->describe(), "runs(2 @ 0+4 8+8)");
    EXPECT_EQ(Shape::mixed({Shape::strided(kRun8, 2, 9), Shape::strided(kRun8, 2, 9)}, {0, 50})
                  ->describe(),
              "strided(2 x 50, strided(2 x 9, run 8))");
}

TEST(ShapeNormalForm, SingleAndEmptyPartsVanish) {
    EXPECT_EQ(Shape::run(0)->kind(), Shape::Kind::empty);
    EXPECT_EQ(Shape::run(-1)->kind(), Shape::Kind::empty);
    EXPECT_EQ(Shape::strided(kRun8, 0, 8)->kind(), Shape::Kind::empty);
    EXPECT_EQ(Shape::strided(Shape::empty(), 7, 8)->kind(), Shape::Kind::empty);
    EXPECT_EQ(Shape::blocks(kRun8, {})->kind(), Shape::Kind::empty);
    EXPECT_EQ(Shape::runs({3, 9}, {0, 0})->kind(), Shape::Kind::empty);
    EXPECT_EQ(Shape::mixed({Shape::empty()}, {4})->kind(), Shape::Kind::empty);
    EXPECT_EQ(Shape::moved(Shape::empty(), 4)->kind(), Shape::Kind::empty);
    EXPECT_EQ(Shape::strided(kRun8, 1, 99), kRun8);
    EXPECT_EQ(Shape::blocks(kRun8, {0}), kRun8);
    EXPECT_EQ(Shape::mixed({Shape::empty(), kRun8}, {4, 0}), kRun8);
    EXPECT_EQ(Shape::runs({3, 9, 20}, {0, 4, 0})->describe(), "blocks(1 @ 9, run 4)");
}

TEST(ShapeNormalForm, DisplacementsMeetAtTheTop) {
    const ShapePtr placed = Shape::moved(kRun8, 5);
    EXPECT_EQ(placed->describe(), "blocks(1 @ 5, run 8)");
    EXPECT_EQ(Shape::moved(placed, -5), kRun8);
    EXPECT_EQ(Shape::strided(placed, 3, 20)->describe(), "blocks(1 @ 5, strided(3 x 20, run 8))");
    EXPECT_EQ(Shape::blocks(placed, {0, 10, 30})->describe(), "blocks(3 @ 5 15 35, run 8)");
    EXPECT_EQ(Shape::mixed({placed, Shape::run(4)}, {0, 13})->describe(), "blocks(1 @ 5, run 12)");
    EXPECT_EQ(Shape::moved(Shape::runs({0, 16}, {8, 4}), 7)->describe(), "runs(2 @ 7+8 23+4)");
}

TEST(ShapeNormalForm, DataOrderIsNeverChanged) {
    EXPECT_EQ(Shape::runs({8, 0}, {8, 8})->describe(), "blocks(1 @ 8, strided(2 x -8, run 8))");
    EXPECT_EQ(Shape::mixed({kRun8, Shape::run(4)}, {4, 0})->describe(), "runs(2 @ 4+8 0+4)");
}

TEST(Shape, FourMillionRunsKeepTheirSizes) {
    constexpr std::int64_t kParts = 4 << 20;
    std::vector<Offset> offsets;
    std::vector<Bytes> lengths;
    for (std::int64_t i = 0; i < kParts; ++i) {
        offsets.push_back(i * 16);
        lengths.push_back(1 + i % 7);
    }
    const ShapePtr shape = Shape::runs(std::move(offsets), std::move(lengths));
    ASSERT_EQ(shape->count(), kParts);
    for (const std::int64_t part : {std::int64_t{0}, kParts / 3, kParts - 1}) {
        EXPECT_EQ(shape->part_size(part), 1 + part % 7);
        EXPECT_EQ(shape->part_of_size(shape->size_before(part)), part);
        EXPECT_EQ(shape->part_of_size(shape->size_before(part) + part % 7), part);
        EXPECT_EQ(shape->part_of_offset(part * 16), part);
        EXPECT_EQ(shape->part_of_offset(part * 16 + part % 7 + 1), part + 1);
    }
}

TEST(Shape, PartSearchStartsAtTheFirstPartThatReachesTheOffset) {
    const ShapePtr mixed = Shape::mixed({Shape::strided(kRun8, 2, 10), Shape::run(4)}, {10, 30});
    for (const ShapePtr& shape : {Shape::strided(kRun8, 2, 20), Shape::blocks(kRun8, {0, 20, 41}),
                                  Shape::runs({0, 20}, {8, 9}), mixed}) {
        SCOPED_TRACE(shape->describe());
        for (Offset at = -3; at < 60; ++at) {
            std::int64_t part = 0;
            while (part < shape->count()) {
                const ShapePtr inner =
                    shape->kind() == Shape::Kind::runs ? nullptr : shape->child(part);
                const Bytes reach = inner ? inner->span().end : shape->part_size(part);
                if (shape->part_offset(part) + reach > at) break;
                ++part;
            }
            EXPECT_EQ(shape->part_of_offset(at), part) << "offset " << at;
        }
    }
}

TEST(Shape, OrderIsJudgedByPieces) {
    EXPECT_TRUE(Shape::strided(kRun8, 3, 0)->monotonic());
    EXPECT_TRUE(Shape::strided(kRun8, 3, 0)->overlapping());
    EXPECT_TRUE(Shape::strided(kRun8, 3, 4)->overlapping());
    EXPECT_FALSE(Shape::strided(kRun8, 3, 16)->overlapping());
    EXPECT_FALSE(Shape::strided(kRun8, 3, -16)->monotonic());
    EXPECT_FALSE(Shape::runs({0, 2}, {100, 10})->monotonic()) << "the second ends before the first";
    const ShapePtr pair = Shape::strided(kRun8, 2, 40);
    EXPECT_FALSE(Shape::strided(pair, 2, 16)->monotonic()) << "interleaved";
    EXPECT_TRUE(Shape::strided(pair, 2, 48)->monotonic());
    EXPECT_FALSE(Shape::strided(Shape::strided(kRun8, 2, -40), 2, 96)->overlapping())
        << "never reported for shapes out of order";
}

class ShapeProperty : public testing::TestWithParam<TypemapGenerator::Style> {};

TEST_P(ShapeProperty, FactsAgreeWithTheTypemap) {
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
        TypemapGenerator generator(seed, GetParam());
        const auto [shape, bytes] = generator.datatype(4);
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + shape->describe());
        const test::TypemapFacts facts = test::facts_of(bytes);
        ASSERT_EQ(shape->size(), std::ssize(bytes));
        ASSERT_EQ(shape->span(), facts.span);
        ASSERT_GE(shape->pieces(), facts.pieces);
        ASSERT_EQ(shape->kind() == Shape::Kind::empty, bytes.empty());
        ASSERT_EQ(shape->monotonic() && !shape->overlapping(), facts.strictly_increasing);
        if (shape->monotonic()) {
            ASSERT_TRUE(facts.pieces_in_order);
            ASSERT_EQ(shape->overlapping(), facts.repeated);
        }
        if (GetParam() == TypemapGenerator::Style::ascending) {
            ASSERT_TRUE(facts.strictly_increasing) << "the generator's promise";
        }
    }
}

TEST_P(ShapeProperty, LayoutFactsAgreeWithTheTypemap) {
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
        TypemapGenerator generator(seed, GetParam());
        const auto [layout, bytes] = generator.layout(3);
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + layout.shape->describe());
        const test::TypemapFacts facts = test::facts_of(bytes);
        ASSERT_EQ(layout.size(), std::ssize(bytes));
        ASSERT_EQ(layout.contiguous(), facts.pieces <= 1);
        if (facts.strictly_increasing) {
            ASSERT_TRUE(layout.monotonic());
        }
        if (layout.monotonic()) {
            ASSERT_TRUE(facts.pieces_in_order);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Styles, ShapeProperty,
                         testing::Values(TypemapGenerator::Style::any,
                                         TypemapGenerator::Style::ascending),
                         [](const auto& style) {
                             return style.param == TypemapGenerator::Style::any ? "any"
                                                                                : "ascending";
                         });

TEST(Layout, UnboundedHasNoSizeButKnowsItsOrder) {
    const Layout view{Shape::strided(kRun8, 2, 16), 64, 100, Layout::unbounded};
    EXPECT_EQ(view.size(), INT64_MAX);
    EXPECT_TRUE(view.monotonic());
    EXPECT_FALSE(view.contiguous());
    EXPECT_TRUE((Layout{kRun8, 8, 100, Layout::unbounded}).contiguous());
    EXPECT_EQ((Layout{Shape::empty(), 8, 100, Layout::unbounded}).size(), 0);
    EXPECT_EQ((Layout{kRun8, 8, 0, INT64_MAX / 4}).size(), INT64_MAX) << "too large";
    EXPECT_FALSE((Layout{view.shape, 8, 0, Layout::unbounded}).monotonic()) << "tiles interleave";
}

}  // namespace
}  // namespace oratorio::test::shape_test
