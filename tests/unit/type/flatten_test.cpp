// SPDX-License-Identifier: BSD-3-Clause
#include "type/flatten.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "support/typemap_oracle.hpp"

namespace oratorio::test::flatten_test {
namespace {

using test::LaidOutMap;
using test::SpanMemory;
using test::Typemap;
using test::TypemapGenerator;
using Style = TypemapGenerator::Style;

Typemap part_of(const Typemap& bytes, Bytes from, Bytes to) {
    return {bytes.begin() + from, bytes.begin() + to};
}

TEST(Flatten, GivesTheMaximalPiecesOfAnyRange) {
    for (const Style style : {Style::any, Style::ascending}) {
        for (std::uint64_t seed = 0; seed < 1200; ++seed) {
            TypemapGenerator generator(seed, style);
            const auto [layout, bytes] = generator.layout(4);
            SCOPED_TRACE("seed " + std::to_string(seed) + ": " + layout.shape->describe());
            ASSERT_EQ(flatten(layout, 0, layout.size()), test::pieces_of(bytes));
            const Bytes from = generator.between(0, std::ssize(bytes));
            const Bytes to = generator.between(from, std::ssize(bytes));
            ASSERT_EQ(flatten(layout, from, to), test::pieces_of(part_of(bytes, from, to)));
        }
    }
}

TEST(Flatten, StopsInsideAnUnboundedView) {
    const Layout view{Shape::run(8), 32, 100, Layout::unbounded};
    EXPECT_EQ(flatten(view, 12, 26), (std::vector<Extent>{{136, 140}, {164, 172}, {196, 198}}));
    EXPECT_TRUE(flatten(view, 5, 5).empty());
}

TEST(ListCursor, SeeksByOffsetToTheFirstByteAtOrAfter) {
    std::int64_t sought = 0;
    for (std::uint64_t seed = 0; seed < 1200; ++seed) {
        TypemapGenerator generator(seed, Style::ascending);
        const auto [layout, bytes] = generator.layout(4);
        if (!layout.monotonic()) continue;
        ListCursor cursor(flatten(layout, 0, layout.size()));
        const Extent span = test::facts_of(bytes).span;
        for (int repeat = 0; repeat < 5; ++repeat, ++sought) {
            const Offset offset = generator.between(span.begin - 3, span.end + 3);
            const auto found = std::find_if(bytes.begin(), bytes.end(),
                                            [offset](Offset byte) { return byte >= offset; });
            cursor.seek_offset(offset);
            ASSERT_EQ(cursor.tell_size(), found - bytes.begin()) << "seed " << seed;
            ASSERT_EQ(cursor.at_end(), found == bytes.end());
            ASSERT_EQ(cursor.tell_offset(), found != bytes.end() ? *found : span.end);
        }
    }
    EXPECT_GT(sought, 3000);
}

TEST(ListCursor, CopiesBetweenListsByteForByteFromAnyPosition) {
    std::int64_t copied = 0;
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
        TypemapGenerator generator(seed, Style::any);
        const LaidOutMap to = generator.layout(4);
        const LaidOutMap from = generator.layout(4);
        const Bytes most = std::min(std::ssize(to.bytes), std::ssize(from.bytes));
        if (most == 0 || test::facts_of(to.bytes).repeated) continue;
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Bytes begin = generator.between(0, most - 1);
        const Bytes end = generator.between(begin, most);
        SpanMemory target(test::facts_of(to.bytes).span, 1);
        SpanMemory source(test::facts_of(from.bytes).span, 2);
        SpanMemory expected = target;
        for (Bytes i = begin; i < end; ++i)
            expected.at(to.bytes[static_cast<std::size_t>(i)]) =
                source.at(from.bytes[static_cast<std::size_t>(i)]);
        ListCursor to_cursor(flatten(to.layout, 0, to.layout.size()));
        ListCursor from_cursor(flatten(from.layout, 0, from.layout.size()));
        to_cursor.seek_size(begin);
        from_cursor.seek_size(begin);
        for (Bytes done = begin; done < end;) {
            const Bytes bytes = std::min(generator.between(1, 300), end - done);
            copy_between(to_cursor, target.base(), from_cursor, source.base(), bytes);
            done += bytes;
            ASSERT_EQ(to_cursor.tell_size(), done);
            ASSERT_EQ(from_cursor.tell_size(), done);
        }
        ASSERT_EQ(target.data, expected.data);
        ++copied;
    }
    EXPECT_GT(copied, 500);
}

TEST(ListCursor, AnEmptyListIsAtItsEnd) {
    ListCursor cursor({});
    EXPECT_TRUE(cursor.at_end());
    EXPECT_EQ(cursor.size(), 0);
    cursor.seek_offset(5);
    cursor.seek_size(0);
    EXPECT_EQ(cursor.tell_size(), 0);
    EXPECT_EQ(cursor.tell_offset(), 0);
}

}  // namespace
}  // namespace oratorio::test::flatten_test
