// SPDX-License-Identifier: BSD-3-Clause
// Cursor::next_pieces(), compared with the typemap oracle, and the number of pieces that one call
// returns.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/typemap_oracle.hpp"
#include "type/cursor.hpp"

namespace oratorio::test::next_pieces_test {
namespace {

using test::LaidOutMap;
using test::Typemap;
using test::TypemapGenerator;
using Style = TypemapGenerator::Style;

Typemap expand(const PieceRows& pieces) {
    Typemap bytes;
    for (std::int64_t row = 0; row < pieces.rows; ++row)
        for (std::int64_t piece = 0; piece < pieces.row.count; ++piece)
            for (Bytes byte = 0; byte < pieces.row.length_of(piece); ++byte)
                bytes.push_back(row * pieces.stride + pieces.row.offset_of(piece) + byte);
    return bytes;
}

TEST(NextPieces, WalksTheTypemapFromAnyPositionUnderAnyLimit) {
    for (const Style style : {Style::any, Style::ascending}) {
        for (std::uint64_t seed = 0; seed < 1500; ++seed) {
            TypemapGenerator generator(seed, style);
            const auto [layout, bytes] = generator.layout(4);
            SCOPED_TRACE("seed " + std::to_string(seed) + ": " + layout.shape->describe());
            Cursor cursor(layout);
            cursor.seek_size(generator.between(0, std::ssize(bytes)));
            PieceRows pieces;
            while (!cursor.at_end()) {
                const Bytes before = cursor.tell_size();
                const Bytes most = generator.between(0, 2) == 0   ? generator.between(1, 20)
                                   : generator.between(0, 2) == 0 ? INT64_MAX
                                                                  : generator.between(1, 3000);
                Typemap taken;
                if (generator.between(0, 3) == 0) {  // mixes next() and next_pieces()
                    const StridedRun run = cursor.next(most);
                    pieces = {
                        {run.offset, nullptr, nullptr, run.length, run.stride, run.count}, 1, 0};
                } else {
                    cursor.next_pieces(pieces, most);
                }
                taken = expand(pieces);
                ASSERT_FALSE(taken.empty());
                ASSERT_LE(std::ssize(taken), most);
                ASSERT_LE(before + std::ssize(taken), std::ssize(bytes));
                ASSERT_TRUE(std::equal(taken.begin(), taken.end(), bytes.begin() + before));
                ASSERT_EQ(cursor.tell_size(), before + std::ssize(taken));
            }
            cursor.next_pieces(pieces);
            ASSERT_EQ(pieces.rows, 0);
        }
    }
}

TEST(NextPieces, AListIsOneRun) {
    Cursor cursor(Layout{Shape::runs({0, 10, 30, 50}, {4, 5, 6, 2}), 0, 100, 1});
    PieceRows pieces;
    cursor.next_pieces(pieces);
    EXPECT_EQ(pieces.rows, 1);
    EXPECT_EQ(pieces.row.count, 4);
    EXPECT_TRUE(cursor.at_end());
    cursor.seek_size(0);
    cursor.next_pieces(pieces, 14);
    EXPECT_EQ(pieces.row.count, 2) << "4 + 5 bytes fit, 6 more don't";
    cursor.next_pieces(pieces, 5);
    EXPECT_EQ(expand(pieces), (Typemap{130, 131, 132, 133, 134}));
}

TEST(NextPieces, RowsOfASubarrayComeTogether) {
    const ShapePtr row = Shape::strided(Shape::run(8), 8, 192);
    const Layout cube{Shape::strided(Shape::strided(row, 6, 3072), 5, 1 << 20), 0, 0, 1};
    Cursor cursor(cube);
    PieceRows pieces;
    for (int plane = 0; plane < 5; ++plane) {
        cursor.next_pieces(pieces);
        EXPECT_EQ(pieces.rows, 6);
        EXPECT_EQ(pieces.row.count, 8);
    }
    EXPECT_TRUE(cursor.at_end());
    cursor.seek_size(64 + 8);  // the cursor is at the second piece of the second row
    cursor.next_pieces(pieces);
    EXPECT_EQ(pieces.rows, 1);
    EXPECT_EQ(pieces.row.count, 7);
    cursor.next_pieces(pieces, 3 * 64 + 63);
    EXPECT_EQ(pieces.rows, 3);
}

TEST(PiecesWithin, IsTheMostThatFitsFromAnyPiece) {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        TypemapGenerator generator(seed, Style::any);
        std::vector<Offset> offsets;
        std::vector<Bytes> lengths;
        for (std::int64_t i = generator.between(2, 60); i > 0; --i) {
            offsets.push_back(i * 100 + i * i);
            lengths.push_back(i == 1 ? 50 : generator.between(1, 40));
        }
        const ShapePtr shape = Shape::runs(offsets, lengths);
        Cursor cursor(Layout{shape, 0, 0, 1});
        PieceRows pieces;
        cursor.next_pieces(pieces);
        const PieceRun& run = pieces.row;
        const std::int64_t first = generator.between(0, run.count - 1);
        const Bytes most = generator.between(0, 1200);
        std::int64_t expected = 0;
        while (first + expected < run.count && run.bytes_of(first, expected + 1) <= most)
            ++expected;
        ASSERT_EQ(pieces_within(run, first, most), expected) << "seed " << seed;
    }
}

}  // namespace
}  // namespace oratorio::test::next_pieces_test
