// SPDX-License-Identifier: BSD-3-Clause
#include "file/view.hpp"

#include <gtest/gtest.h>

namespace oratorio::test::view_test {
namespace {

struct Rule {
    const char* claim;
    Offset displacement;
    Bytes etype;
    ShapePtr filetype;
    Bytes extent;
    bool writable;
    ErrorKind expected;
};

Result<View> make(Offset displacement, Bytes etype, ShapePtr filetype, Bytes extent,
                  bool writable = true) {
    return View::make(displacement, etype, std::move(filetype), extent, writable, "native");
}

TEST(ViewRules, AreThoseOfTheStandard) {
    const ShapePtr column = Shape::strided(Shape::run(4), 3, 16);
    const ShapePtr backwards = Shape::blocks(Shape::run(4), {8, 0});
    const ShapePtr before = Shape::moved(Shape::run(4), -4);
    const ShapePtr overlapping = Shape::runs({0, 4}, {8, 8});
    const ShapePtr within = Shape::runs({0, 4}, {12, 4});
    const Rule rules[] = {
        {"plain bytes", 0, 1, Shape::run(1), 1, true, ErrorKind::none},
        {"a displacement", 100, 4, Shape::run(4), 4, true, ErrorKind::none},
        {"a negative displacement", -1, 4, Shape::run(4), 4, true, ErrorKind::argument},
        {"a filetype of whole etypes", 0, 4, Shape::run(12), 12, true, ErrorKind::none},
        {"a filetype of part of an etype", 0, 8, Shape::run(12), 12, true, ErrorKind::argument},
        {"a filetype with holes", 0, 4, column, 48, true, ErrorKind::none},
        {"tiles that interleave", 0, 4, column, 4, true, ErrorKind::none},
        {"decreasing displacements", 0, 4, backwards, 16, true, ErrorKind::io},
        {"decreasing displacements, read only", 0, 4, backwards, 16, false, ErrorKind::io},
        {"a negative displacement in the filetype", 0, 4, before, 8, true, ErrorKind::io},
        {"an overlap, writable", 0, 4, overlapping, 16, true, ErrorKind::io},
        {"an overlap, read only", 0, 4, overlapping, 16, false, ErrorKind::none},
        {"a block within the one before it, writable", 0, 4, within, 16, true, ErrorKind::io},
        {"a block within the one before it, read only", 0, 4, within, 16, false, ErrorKind::none},
        {"extent zero with data", 0, 4, Shape::run(4), 0, true, ErrorKind::argument},
        {"a negative extent", 0, 4, Shape::run(4), -4, true, ErrorKind::argument},
        {"an empty filetype", 0, 4, Shape::empty(), 0, true, ErrorKind::none},
        {"an empty filetype with a negative extent", 0, 4, Shape::empty(), -8, true,
         ErrorKind::none},
        {"an empty etype and filetype", 0, 0, Shape::empty(), 0, true, ErrorKind::none},
        {"an empty etype, a filetype with data", 0, 0, Shape::run(4), 4, true, ErrorKind::argument},
        {"a negative etype", 0, -4, Shape::run(4), 4, true, ErrorKind::argument},
    };
    for (const Rule& rule : rules) {
        const auto view =
            make(rule.displacement, rule.etype, rule.filetype, rule.extent, rule.writable);
        EXPECT_EQ(view ? ErrorKind::none : view.error().kind, rule.expected) << rule.claim;
    }
}

TEST(View, TheDefaultCountsBytesFromTheBeginning) {
    const View view = View::bytes();
    EXPECT_EQ(view.byte_offset(0), 0);
    EXPECT_EQ(view.byte_offset(12345), 12345);
    EXPECT_EQ(view.etypes_before(777), 777);
    EXPECT_EQ(view.representation, "native");
}

TEST(View, TilesBeginAtTheDisplacement) {
    // Two etypes of 4 bytes are at bytes 4 and 12 of each 20 bytes.
    const View view = *make(100, 4, Shape::runs({4, 12}, {4, 4}), 20);
    const Offset expected[] = {104, 112, 124, 132, 144};
    for (Offset etype = 0; etype < 5; ++etype)
        EXPECT_EQ(view.byte_offset(etype), expected[etype]) << etype;
}

TEST(View, TheEndOfFileIsTheFirstEtypeThatBeginsAtOrAfterIt) {
    const View view = *make(100, 4, Shape::runs({4, 12}, {4, 4}), 20);
    const struct {
        Offset end_of_file;
        Offset etypes;
    } cases[] = {{0, 0},   {100, 0}, {104, 0}, {105, 1}, {108, 1}, {112, 1},
                 {113, 2}, {120, 2}, {124, 2}, {125, 3}, {144, 4}};
    for (const auto& one : cases)
        EXPECT_EQ(view.etypes_before(one.end_of_file), one.etypes) << one.end_of_file;
}

TEST(View, AnEtypeThatTheFileEndsInCounts) {
    // One etype of 8 bytes lies in two pieces.
    const View view = *make(0, 8, Shape::runs({0, 16}, {4, 4}), 32);
    EXPECT_EQ(view.etypes_before(2), 1);
    EXPECT_EQ(view.etypes_before(10), 1);
    EXPECT_EQ(view.etypes_before(20), 1);
    EXPECT_EQ(view.etypes_before(33), 2);
}

TEST(View, AnEmptyFiletypeReachesNothing) {
    const View view = *make(40, 4, Shape::empty(), 0);
    EXPECT_EQ(view.byte_offset(3), 40);
    EXPECT_EQ(view.etypes_before(1000), 0);
    EXPECT_EQ(view.data_position(5, 8), 20);
}

TEST(View, PositionsPastTheLargestOffsetDoNotExist) {
    const View bytes = View::bytes();
    EXPECT_EQ(bytes.data_position(kOffsetLimit - 10, 10), kOffsetLimit - 10);
    EXPECT_FALSE(bytes.data_position(kOffsetLimit - 10, 11));
    EXPECT_FALSE(bytes.data_position(kOffsetLimit, 1));
    EXPECT_FALSE(bytes.data_position(INT64_MAX, 1));
    EXPECT_FALSE(bytes.data_position(-1, 1));

    const View doubles = *make(0, 8, Shape::run(8), 8);
    EXPECT_FALSE(doubles.data_position(INT64_MAX / 4, 8));

    // The sizes of the data fit, but tiles of 8 bytes are 1 GiB apart, and the displacement is
    // added.
    const View sparse = *make(Offset{1} << 61, 8, Shape::run(8), 1 << 30);
    EXPECT_EQ(sparse.data_position((Offset{1} << 31) - 1, 8), ((Offset{1} << 31) - 1) * 8);
    EXPECT_FALSE(sparse.data_position(Offset{1} << 31, 8));
    EXPECT_FALSE(sparse.data_position((Offset{1} << 31) - 1, 16));

    // The data overlaps in the file, so that data positions grow faster than file offsets.
    const View twice = *make(0, 8, Shape::strided(Shape::run(8), 2, 0), 8, false);
    EXPECT_TRUE(twice.data_position(kOffsetLimit / 8 - 1, 8));
    EXPECT_FALSE(twice.data_position(kOffsetLimit / 8, 8));

    EXPECT_FALSE((*make(INT64_MAX, 1, Shape::run(1), 1)).data_position(0, 1));
}

}  // namespace
}  // namespace oratorio::test::view_test
