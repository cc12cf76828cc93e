// SPDX-License-Identifier: BSD-3-Clause
// copy_between(), compared with the typemap oracle: data byte i of one layout arrives at data byte
// i of the other, for any two shape trees and any portions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/typemap_oracle.hpp"
#include "type/copy.hpp"

namespace oratorio::test::copy_between_test {
namespace {

using test::LaidOutMap;
using test::random_bytes;
using test::SpanMemory;
using test::Typemap;
using test::TypemapGenerator;
using Style = TypemapGenerator::Style;
using Buffer = std::vector<std::byte>;

Typemap typemap_of(const Layout& layout) {
    Typemap bytes;
    Cursor cursor(layout);
    while (!cursor.at_end()) {
        const StridedRun run = cursor.next(1);
        bytes.push_back(run.offset);
    }
    return bytes;
}

/// Copies the data bytes [begin, end) in portions of `portion()` bytes. Compares every byte of the
/// target, including those that must not change.
template <class Portion>
void check_copy(Target kind, const LaidOutMap& to, const LaidOutMap& from, Bytes begin, Bytes end,
                Portion portion) {
    SCOPED_TRACE(kind == Target::streamed ? "streamed" : "reused");
    SpanMemory target(test::facts_of(to.bytes).span, 1);
    SpanMemory source(test::facts_of(from.bytes).span, 2);
    SpanMemory expected = target;
    for (Bytes i = begin; i < end; ++i)
        expected.at(to.bytes[static_cast<std::size_t>(i)]) =
            source.at(from.bytes[static_cast<std::size_t>(i)]);
    Cursor to_cursor(to.layout);
    Cursor from_cursor(from.layout);
    to_cursor.seek_size(begin);
    from_cursor.seek_size(begin);
    for (Bytes done = begin; done < end;) {
        const Bytes bytes = std::min(portion(), end - done);
        copy_between(to_cursor, target.base(), from_cursor, source.base(), bytes, kind);
        done += bytes;
        ASSERT_EQ(to_cursor.tell_size(), done);
        ASSERT_EQ(from_cursor.tell_size(), done);
    }
    ASSERT_EQ(target.data, expected.data);
}

template <class Portion>
void check_copy(const LaidOutMap& to, const LaidOutMap& from, Bytes begin, Bytes end,
                Portion portion) {
    check_copy(Target::reused, to, from, begin, end, portion);
    check_copy(Target::streamed, to, from, begin, end, portion);
}

/// Returns a layout in which no byte occurs twice, so that the result does not depend on the order
/// of the stores.
LaidOutMap target_of(TypemapGenerator& generator) {
    for (;;) {
        const LaidOutMap map = generator.layout(4);
        if (!map.bytes.empty() && !test::facts_of(map.bytes).repeated) return map;
    }
}

LaidOutMap source_of(TypemapGenerator& generator) {
    for (;;) {
        const LaidOutMap map = generator.layout(4);
        if (!map.bytes.empty()) return map;
    }
}

TEST(CopyBetween, RandomShapesOnBothSidesMeetByteForByte) {
    for (const Style style : {Style::any, Style::ascending}) {
        for (std::uint64_t seed = 0; seed < 1500; ++seed) {
            TypemapGenerator generator(seed, style);
            const LaidOutMap to = target_of(generator);
            const LaidOutMap from = source_of(generator);
            SCOPED_TRACE("seed " + std::to_string(seed) + ": " + to.layout.shape->describe() +
                         " <- " + from.layout.shape->describe());
            const Bytes most = std::min(std::ssize(to.bytes), std::ssize(from.bytes));
            check_copy(to, from, 0, most, [] { return Bytes{INT64_MAX}; });
            const Bytes begin = generator.between(0, most - 1);
            const Bytes end = generator.between(begin, most);
            check_copy(to, from, begin, end, [&] {
                return generator.between(0, 3) == 0 ? generator.between(1, 7)
                                                    : generator.between(1, 400);
            });
            if (HasFatalFailure()) return;
        }
    }
}

/// Returns a layout of `count` pieces of `length` bytes: evenly spaced, or at uneven offsets if
/// `listed`.
Layout pieces(Bytes length, std::int64_t count, bool listed, Offset origin) {
    const Bytes step = length + 3;
    if (!listed) return {Shape::strided(Shape::run(length), count, step), 0, origin, 1};
    std::vector<Offset> offsets;
    for (std::int64_t i = 0; i < count; ++i) offsets.push_back(i * step + (i * i) % 3);
    return {Shape::blocks(Shape::run(length), std::move(offsets)), 0, origin, 1};
}

TEST(CopyBetween, EveryPairOfPieceLengthsSpacedAndListed) {
    std::vector<Bytes> lengths;
    for (Bytes length = 1; length <= 40; ++length) lengths.push_back(length);
    for (const Bytes length : {63, 64, 65, 127, 500, 704, 4099}) lengths.push_back(length);
    for (const Bytes to_length : lengths) {
        for (const Bytes from_length : lengths) {
            for (int listed = 0; listed < 4; ++listed) {
                SCOPED_TRACE(testing::Message()
                             << to_length << " <- " << from_length << ", listed " << listed);
                const Bytes total = 2 * std::max(to_length, from_length) + 37;
                const Layout to = pieces(to_length, total / to_length + 1, listed & 1, 5);
                const Layout from = pieces(from_length, total / from_length + 1, listed & 2, -9);
                check_copy({to, typemap_of(to)}, {from, typemap_of(from)}, 0, total,
                           [] { return Bytes{INT64_MAX}; });
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST(CopyBetween, BackwardsInMemory) {
    for (const Bytes length : {1, 4, 8, 16, 24, 40, 100}) {
        const Layout back{Shape::strided(Shape::run(length), 7, -2 * length), 0, 4000, 1};
        const Layout forth{Shape::strided(Shape::run(3 * length), 5, 4 * length), 0, 0, 1};
        const LaidOutMap map{back, typemap_of(back)};
        const LaidOutMap other{forth, typemap_of(forth)};
        check_copy(map, other, 0, 7 * length, [] { return Bytes{11}; });
        check_copy(other, map, 0, 7 * length, [] { return Bytes{INT64_MAX}; });
    }
}

TEST(CopyBetween, UnboundedLayoutOnBothSides) {
    const Layout to{Shape::run(8), 24, 0, Layout::unbounded};
    const Layout from{Shape::runs({0, 10}, {3, 5}), 16, 0, Layout::unbounded};
    SpanMemory target({0, 24 * 10}, 1);
    SpanMemory source({0, 16 * 10}, 2);
    SpanMemory expected = target;
    for (Bytes i = 0; i < 80; ++i)
        expected.at(i / 8 * 24 + i % 8) = source.at(i / 8 * 16 + (i % 8 < 3 ? i % 8 : i % 8 + 7));
    Cursor to_cursor(to);
    Cursor from_cursor(from);
    copy_between(to_cursor, target.base(), from_cursor, source.base(), 80);
    EXPECT_EQ(target.data, expected.data);
}

TEST(CopyBetween, NothingMovesNoCursor) {
    Buffer target = random_bytes(8, 1);
    const Buffer source = random_bytes(8, 2);
    Cursor to(Layout{Shape::run(8), 8, 0, 1});
    Cursor from(Layout{Shape::run(8), 8, 0, 1});
    copy_between(to, target.data(), from, source.data(), 0);
    EXPECT_EQ(target, random_bytes(8, 1));
    EXPECT_EQ(to.tell_size(), 0);
    EXPECT_EQ(from.tell_size(), 0);
}

}  // namespace
}  // namespace oratorio::test::copy_between_test
