// SPDX-License-Identifier: BSD-3-Clause
// Cursor, compared with the typemap oracle: every walk visits the same bytes in the same order.
#include "type/cursor.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/typemap_oracle.hpp"

namespace oratorio::test::cursor_test {
namespace {

using test::Typemap;
using test::TypemapGenerator;
using Style = TypemapGenerator::Style;

constexpr std::uint64_t kSeeds = 1200;

Typemap expand(const StridedRun& run) {
    Typemap bytes;
    for (std::int64_t piece = 0; piece < run.count; ++piece)
        for (Bytes byte = 0; byte < run.length; ++byte)
            bytes.push_back(run.offset + piece * run.stride + byte);
    return bytes;
}

Offset offset_at(const test::LaidOutMap& map, Bytes at) {
    if (map.bytes.empty()) return map.layout.origin;
    if (at == std::ssize(map.bytes)) return map.bytes.back() + 1;
    return map.bytes[static_cast<std::size_t>(at)];
}

/// Runs `check(generator, map)` for random layouts of both styles. Stops at the first fatal failure
/// in `check`.
template <class Check>
void for_layouts(Check check) {
    for (const Style style : {Style::any, Style::ascending}) {
        for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
            TypemapGenerator generator(seed, style);
            const test::LaidOutMap map = generator.layout(4);
            SCOPED_TRACE((style == Style::any ? "any, seed " : "ascending, seed ") +
                         std::to_string(seed) + ": " + std::to_string(map.layout.count) + " x " +
                         std::to_string(map.layout.extent) + " " + map.layout.shape->describe());
            check(generator, map);
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

/// Continues the walk from `cursor`, with limits that change at random, and compares it with the
/// typemap.
void walk_at_random(TypemapGenerator& generator, const test::LaidOutMap& map, Cursor cursor) {
    const bool limited = map.layout.monotonic();
    Offset limit = cursor.tell_offset();
    while (!cursor.at_end()) {
        const Bytes before = cursor.tell_size();
        const Bytes most =
            generator.between(0, 2) == 0 ? generator.between(1, 20) : generator.between(1, 3000);
        limit = limited ? std::max(limit, limit + generator.between(-3, 60)) : INT64_MAX;
        const StridedRun run = cursor.next(most, limit);
        if (run.count == 0) {
            ASSERT_GE(offset_at(map, before), limit);
            ASSERT_EQ(cursor.tell_size(), before);
            continue;
        }
        ASSERT_LE(run.bytes(), most);
        ASSERT_LE(run.end(), limit);
        ASSERT_TRUE(run.count > 1 || run.stride == 0);
        const Typemap bytes = expand(run);
        ASSERT_LE(before + run.bytes(), std::ssize(map.bytes));
        ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), map.bytes.begin() + before));
        ASSERT_EQ(cursor.tell_size(), before + run.bytes());
        ASSERT_EQ(cursor.tell_offset(), offset_at(map, cursor.tell_size()));
    }
    ASSERT_EQ(cursor.tell_size(), std::ssize(map.bytes));
    ASSERT_EQ(cursor.next().count, 0);
}

TEST(CursorProperty, WholeWalkIsTheTypemap) {
    for_layouts([](TypemapGenerator&, const test::LaidOutMap& map) {
        Cursor cursor(map.layout);
        Typemap walked;
        std::int64_t calls = 0;
        while (!cursor.at_end()) {
            const Typemap bytes = expand(cursor.next());
            walked.insert(walked.end(), bytes.begin(), bytes.end());
            ++calls;
        }
        ASSERT_EQ(walked, map.bytes);
        ASSERT_LE(calls, map.layout.count * map.layout.shape->pieces());
    });
}

TEST(CursorProperty, AnySplitVisitsTheSameBytesInTheSameOrder) {
    for_layouts([](TypemapGenerator& generator, const test::LaidOutMap& map) {
        walk_at_random(generator, map, Cursor(map.layout));
    });
}

TEST(CursorProperty, SeekBySizeIsThatManySingleSteps) {
    for_layouts([](TypemapGenerator& generator, const test::LaidOutMap& map) {
        Cursor cursor(map.layout);
        for (int repeat = 0; repeat < 4; ++repeat) {
            const Bytes at = generator.between(0, std::ssize(map.bytes));
            cursor.seek_size(at);
            ASSERT_EQ(cursor.tell_size(), at);
            ASSERT_EQ(cursor.tell_offset(), offset_at(map, at));
            ASSERT_EQ(cursor.at_end(), at == std::ssize(map.bytes));
            ASSERT_EQ(offset_of_size(map.layout, at), offset_at(map, at));
            walk_at_random(generator, map, cursor);
        }
    });
}

TEST(CursorProperty, SeekByOffsetFindsTheFirstByteAtOrAfter) {
    std::int64_t sought = 0;
    for_layouts([&](TypemapGenerator& generator, const test::LaidOutMap& map) {
        if (!map.layout.monotonic()) return;
        const Extent span = test::facts_of(map.bytes).span;
        Cursor cursor(map.layout);
        for (int repeat = 0; repeat < 6; ++repeat, ++sought) {
            const Offset offset = generator.between(span.begin - 3, span.end + 3);
            const auto found = std::find_if(map.bytes.begin(), map.bytes.end(),
                                            [offset](Offset byte) { return byte >= offset; });
            const Bytes at = found - map.bytes.begin();
            cursor.seek_offset(offset);
            ASSERT_EQ(cursor.tell_size(), at) << "offset " << offset;
            ASSERT_EQ(cursor.tell_offset(), offset_at(map, at));
            ASSERT_EQ(size_before_offset(map.layout, offset), at);
            walk_at_random(generator, map, cursor);
        }
    });
    EXPECT_GT(sought, 6000);
}

TEST(Cursor, CopyIsABookmark) {
    const Layout layout{Shape::runs({0, 10, 30}, {4, 5, 6}), 64, 7, 3};
    Cursor cursor(layout);
    cursor.seek_size(17);
    const Cursor bookmark = cursor;
    const StridedRun next = cursor.next();
    cursor.seek_size(0);
    EXPECT_EQ(bookmark.tell_size(), 17);
    EXPECT_EQ(Cursor(bookmark).next(), next);
}

TEST(Cursor, OverlappingViewIsSoughtInDataOrder) {
    const Layout twice{Shape::run(8), 4, 0, 3};  // [0,8) [4,12) [8,16)
    EXPECT_EQ(size_before_offset(twice, 3), 3);
    EXPECT_EQ(size_before_offset(twice, 7), 7);
    EXPECT_EQ(size_before_offset(twice, 8), 12);
    EXPECT_EQ(size_before_offset(twice, 12), 20);
}

TEST(Cursor, SeeksPastTheEndStopThere) {
    Cursor cursor(Layout{Shape::run(8), 16, 100, 3});
    cursor.seek_size(24);
    EXPECT_TRUE(cursor.at_end());
    cursor.seek_offset(0);
    EXPECT_EQ(cursor.tell_offset(), 100);
    cursor.seek_offset(INT64_MAX);
    EXPECT_TRUE(cursor.at_end());
    EXPECT_EQ(cursor.tell_size(), 24);
    EXPECT_EQ(cursor.tell_offset(), 140);
}

}  // namespace
}  // namespace oratorio::test::cursor_test
