// SPDX-License-Identifier: BSD-3-Clause
// The number of calls that a walk by Cursor takes, and the result of each call, for patterns of
// real programs.
#include <gtest/gtest.h>

#include "type/cursor.hpp"

namespace oratorio::test::cursor_pieces_test {
namespace {

using Runs = std::vector<StridedRun>;

Runs walk(const Layout& layout, Bytes bytes_max = INT64_MAX) {
    Runs runs;
    for (Cursor cursor(layout); !cursor.at_end();) runs.push_back(cursor.next(bytes_max));
    return runs;
}

Layout once(ShapePtr shape) {
    return {std::move(shape), 0, 0, 1};
}

const ShapePtr kRun8 = Shape::run(8);

TEST(CursorPieces, ContiguousIsOneRunHoweverItIsDescribed) {
    EXPECT_EQ(walk({kRun8, 8, 100, 1000}), (Runs{{100, 8000, 0, 1}}));
    EXPECT_EQ(walk({Shape::strided(kRun8, 10, 8), 80, 0, 10}), (Runs{{0, 800, 0, 1}}));
    EXPECT_EQ(walk({Shape::moved(kRun8, 4), 8, 0, 10}), (Runs{{4, 80, 0, 1}}));
}

TEST(CursorPieces, VectorIsOneStridedRun) {
    EXPECT_EQ(walk(once(Shape::strided(kRun8, 1000, 64))), (Runs{{0, 8, 64, 1000}}));
    EXPECT_EQ(walk(once(Shape::strided(kRun8, 3, -64))), (Runs{{0, 8, -64, 3}}));
}

TEST(CursorPieces, TilesAreALevelLikeAnyOther) {
    EXPECT_EQ(walk({kRun8, 64, 5, 1000}), (Runs{{5, 8, 64, 1000}}));
    EXPECT_EQ(walk({Shape::strided(kRun8, 4, 64), 256, 5, 1000}), (Runs{{5, 8, 64, 4000}}));
    EXPECT_EQ(walk({Shape::strided(kRun8, 4, 64), 300, 0, 2}),
              (Runs{{0, 8, 64, 4}, {300, 8, 64, 4}}));
}

TEST(CursorPieces, BlockOfAThreeDimensionalArrayIsOneStridedRunPerPlane) {
    // The block has 4 x 5 x 6 elements of 8 bytes, in an array of 10 x 20 x 30.
    const ShapePtr row = Shape::strided(kRun8, 6, 8);
    const ShapePtr plane = Shape::strided(row, 5, 30 * 8);
    const ShapePtr block = Shape::moved(Shape::strided(plane, 4, 20 * 30 * 8), 4000);
    const Runs runs = walk(once(block));
    ASSERT_EQ(runs.size(), 4U);
    EXPECT_EQ(runs[3], (StridedRun{4000 + 3 * 4800, 48, 240, 5}));
}

TEST(CursorPieces, WholeRowsOfAnArrayAreOneRunPerPlane) {
    const ShapePtr rows = Shape::strided(Shape::run(30 * 8), 5, 30 * 8);
    EXPECT_EQ(walk(once(Shape::strided(rows, 4, 20 * 30 * 8))), (Runs{{0, 1200, 4800, 4}}));
}

TEST(CursorPieces, IrregularRunsTakeOneCallEach) {
    EXPECT_EQ(walk(once(Shape::runs({0, 10, 30}, {4, 5, 6}))),
              (Runs{{0, 4, 0, 1}, {10, 5, 0, 1}, {30, 6, 0, 1}}));
}

TEST(CursorPieces, RegularStretchesOfAListAreStridedRuns) {
    EXPECT_EQ(walk(once(Shape::blocks(kRun8, {0, 10, 20, 100, 120, 140}))),
              (Runs{{0, 8, 10, 3}, {100, 8, 20, 3}}));
    EXPECT_EQ(walk(once(Shape::runs({0, 10, 20, 100}, {8, 8, 8, 3}))),
              (Runs{{0, 8, 10, 3}, {100, 3, 0, 1}}));
}

TEST(CursorPieces, TouchingPiecesOfNeighbouringTilesComeAsOne) {
    const ShapePtr shape = Shape::runs({0, 10}, {4, 10});
    EXPECT_EQ(walk({shape, 20, 0, 3}),
              (Runs{{0, 4, 0, 1}, {10, 14, 0, 1}, {30, 14, 0, 1}, {50, 10, 0, 1}}));
    EXPECT_EQ(walk(once(Shape::mixed({Shape::run(4), Shape::strided(kRun8, 3, 16)}, {0, 4}))),
              (Runs{{0, 12, 0, 1}, {20, 8, 16, 2}}));
}

TEST(CursorPieces, CutPiecesComeAsRunsOfTheirOwn) {
    EXPECT_EQ(walk({kRun8, 64, 0, 4}, 20), (Runs{{0, 8, 64, 2}, {128, 8, 64, 2}}));
    Cursor cursor(Layout{kRun8, 64, 0, 4});
    EXPECT_EQ(cursor.next(3), (StridedRun{0, 3, 0, 1}));
    EXPECT_EQ(cursor.next(100), (StridedRun{3, 5, 0, 1}));
    EXPECT_EQ(cursor.next(100, 132), (StridedRun{64, 8, 0, 1}));
    EXPECT_EQ(cursor.next(100, 132), (StridedRun{128, 4, 0, 1}));
    EXPECT_EQ(cursor.next(100, 132).count, 0);
    EXPECT_EQ(cursor.next(), (StridedRun{132, 4, 0, 1}));
    EXPECT_EQ(cursor.next(), (StridedRun{192, 8, 0, 1}));
    EXPECT_TRUE(cursor.at_end());
}

TEST(CursorPieces, LimitsFallBetweenStridedPieces) {
    Cursor cursor(Layout{kRun8, 64, 0, 100});
    EXPECT_EQ(cursor.next(INT64_MAX, 640), (StridedRun{0, 8, 64, 10}));
    EXPECT_EQ(cursor.next(INT64_MAX, 640).count, 0);
    EXPECT_EQ(cursor.next(INT64_MAX, 648), (StridedRun{640, 8, 0, 1}));
    EXPECT_EQ(cursor.next(80), (StridedRun{704, 8, 64, 10}));
}

TEST(CursorUnbounded, ContiguousViewCanBeReadAtAnyOffset) {
    for (const Offset origin : {Offset{0}, kOffsetLimit / 2 - 8, kOffsetLimit - 112}) {
        Cursor cursor(Layout{kRun8, 8, origin, Layout::unbounded});
        EXPECT_EQ(cursor.next(100), (StridedRun{origin, 100, 0, 1}));
        const Offset last = kOffsetLimit - 8;
        cursor.seek_size(last - origin);
        EXPECT_EQ(cursor.tell_offset(), last);
        EXPECT_EQ(cursor.next(), (StridedRun{last, 8, 0, 1}));
        EXPECT_TRUE(cursor.at_end());
    }
}

TEST(CursorUnbounded, TilesWithHolesAreReachedUpToTheLargestOffset) {
    for (const Bytes extent : {Bytes{9}, Bytes{16}, Bytes{1} << 31, Bytes{1} << 61}) {
        for (const Offset origin : {Offset{0}, Offset{5} << 32, Offset{1} << 61}) {
            const Layout view{kRun8, extent, origin, Layout::unbounded};
            const std::int64_t last = (kOffsetLimit - 8 - origin) / extent;
            EXPECT_EQ(offset_of_size(view, 8 * last), origin + extent * last);
            EXPECT_EQ(size_before_offset(view, origin + extent * last), 8 * last);
            Cursor cursor(view);
            cursor.seek_size(8 * last + 3);
            EXPECT_EQ(cursor.next(), (StridedRun{origin + extent * last + 3, 5, 0, 1}));
        }
    }
}

TEST(CursorUnbounded, StridedViewIsCutWithoutOverflow) {
    const Layout view{kRun8, 64, Offset{5} << 32, Layout::unbounded};
    Cursor cursor(view);
    EXPECT_EQ(cursor.next(800), (StridedRun{view.origin, 8, 64, 100}));
    const StridedRun rest = cursor.next();
    EXPECT_GT(rest.count, std::int64_t{1} << 50);
    EXPECT_GT(rest.end(), rest.offset);
    cursor.seek_offset(view.origin + 64 * (Offset{1} << 40) + 9);
    EXPECT_EQ(cursor.tell_size(), 8 * ((Offset{1} << 40) + 1));
    cursor.seek_size(8 * (Bytes{1} << 40) + 3);
    EXPECT_EQ(cursor.tell_offset(), view.origin + 64 * (Offset{1} << 40) + 3);
}

TEST(CursorUnbounded, TilesOfExtentZeroAndNegativeExtentAreFinite) {
    Cursor still(Layout{kRun8, 0, 0, Layout::unbounded});
    EXPECT_EQ(still.next(32), (StridedRun{0, 8, 0, 4}));
    Cursor back(Layout{kRun8, -64, 0, Layout::unbounded});
    EXPECT_EQ(back.next(32), (StridedRun{0, 8, -64, 4}));
    EXPECT_LT(back.next().end(), 0);
}

TEST(CursorUnbounded, EmptyTypeIsAtItsEnd) {
    const Cursor cursor(Layout{Shape::empty(), 64, 9, Layout::unbounded});
    EXPECT_TRUE(cursor.at_end());
    EXPECT_EQ(cursor.tell_offset(), 9);
}

}  // namespace
}  // namespace oratorio::test::cursor_pieces_test
