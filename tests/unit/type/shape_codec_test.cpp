// SPDX-License-Identifier: BSD-3-Clause
#include "type/shape_codec.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/typemap_oracle.hpp"
#include "type/cursor.hpp"

namespace oratorio {
namespace {

using test::TypemapGenerator;
using Style = TypemapGenerator::Style;
using Code = std::vector<std::byte>;

Code encoded(const Layout& layout) {
    Code code;
    encode(layout, code);
    return code;
}

std::vector<StridedRun> walk(const Layout& layout) {
    std::vector<StridedRun> runs;
    Cursor cursor(layout);
    while (!cursor.at_end()) runs.push_back(cursor.next());
    return runs;
}

void expect_same(const Layout& a, const Layout& b) {
    ASSERT_EQ(a.shape->describe(), b.shape->describe());
    ASSERT_EQ(a.shape->span(), b.shape->span());
    ASSERT_EQ(a.shape->monotonic(), b.shape->monotonic());
    ASSERT_EQ(a.shape->pieces(), b.shape->pieces());
    ASSERT_EQ(a.extent, b.extent);
    ASSERT_EQ(a.origin, b.origin);
    ASSERT_EQ(a.count, b.count);
}

TEST(ShapeCodec, DecodesWhatItEncoded) {
    for (const Style style : {Style::any, Style::ascending}) {
        for (std::uint64_t seed = 0; seed < 2000; ++seed) {
            TypemapGenerator generator(seed, style);
            const Layout layout = generator.layout(5).layout;
            SCOPED_TRACE("seed " + std::to_string(seed) + ": " + layout.shape->describe());
            const Code code = encoded(layout);
            ASSERT_EQ(std::ssize(code), encoded_bytes(layout));
            const Result<Layout> decoded = decode(code);
            ASSERT_TRUE(decoded.ok());
            expect_same(*decoded, layout);
            ASSERT_EQ(walk(*decoded), walk(layout));
            ASSERT_EQ(encoded(*decoded), code);
        }
    }
}

TEST(ShapeCodec, UnboundedViewsAndBothEndsOfTheRangeOfOffsets) {
    const Offset end = Offset{1} << 60;
    for (const Layout& layout :
         {Layout{Shape::run(8), 64, Offset{1} << 62, Layout::unbounded},
          Layout{Shape::strided(Shape::run(1), 3, -end / 2), -2 * end, 0, 7},
          Layout{Shape::runs({-end, end - 40}, {7, 40}), 2 * end, -4 * end, 1},
          Layout{Shape::empty(), 0, 0, 0}}) {
        const Result<Layout> decoded = decode(encoded(layout));
        ASSERT_TRUE(decoded.ok()) << layout.shape->describe();
        expect_same(*decoded, layout);
    }
}

TEST(ShapeCodec, ASmallTreeIsSmallHoweverManyPiecesItHas) {
    const ShapePtr cube = Shape::strided(Shape::strided(Shape::run(8), 1000, 192), 1000, 3 << 20);
    EXPECT_LT(encoded_bytes({cube, 1 << 20, 0, Layout::unbounded}), 40);
}

TEST(ShapeCodec, AppendsToExistingBytes) {
    const Layout first{Shape::run(8), 8, 0, 1};
    const Layout second{Shape::strided(Shape::run(4), 3, 16), 48, 7, 2};
    Code code;
    encode(first, code);
    const std::size_t cut = code.size();
    encode(second, code);
    expect_same(*decode(std::span(code).first(cut)), first);
    expect_same(*decode(std::span(code).subspan(cut)), second);
}

TEST(ShapeCodec, EveryTruncationIsAnError) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        TypemapGenerator generator(seed, Style::any);
        Code code = encoded(generator.layout(4).layout);
        for (std::size_t size = 0; size < code.size(); ++size) {
            // The bytes are copied to a vector of their own, so that a sanitizer detects a read
            // past the end.
            const Result<Layout> decoded = decode(Code(code.begin(), code.begin() + size));
            ASSERT_FALSE(decoded.ok()) << "seed " << seed << ", " << size << " of " << code.size();
            ASSERT_EQ(decoded.error().kind, ErrorKind::internal);
        }
        code.push_back(std::byte{0});
        ASSERT_FALSE(decode(code).ok()) << "seed " << seed << ", one byte too many";
    }
}

/// Bytes of the code are changed at random. Decoding must return an error, or a layout that can be
/// walked and encoded again.
TEST(ShapeCodec, DamagedBytesNeverDoHarm) {
    std::int64_t accepted = 0;
    std::int64_t refused = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        TypemapGenerator generator(seed, Style::any);
        Code code = encoded(generator.layout(4).layout);
        for (std::int64_t damage = generator.between(1, 3); damage > 0; --damage)
            code[static_cast<std::size_t>(generator.between(0, std::ssize(code) - 1))] =
                static_cast<std::byte>(generator.between(0, 255));
        const Result<Layout> decoded = decode(code);
        if (!decoded) {
            ASSERT_EQ(decoded.error().kind, ErrorKind::internal);
            ++refused;
            continue;
        }
        ++accepted;
        Cursor cursor(*decoded);
        for (int step = 0; step < 100 && !cursor.at_end(); ++step) cursor.next();
        const Bytes size = decoded->size();
        cursor.seek_size(size / 2);
        cursor.next();
        if (decoded->monotonic()) cursor.seek_offset(cursor.tell_offset());
        const Result<Layout> again = decode(encoded(*decoded));
        ASSERT_TRUE(again.ok());
        expect_same(*again, *decoded);
    }
    EXPECT_GT(accepted, 300);
    EXPECT_GT(refused, 300);
}

TEST(ShapeCodec, NumbersThatWouldOverflowAreRefused) {
    const Offset far = (Offset{1} << 60) + 1;
    for (const Layout& layout : {
             Layout{Shape::run(far), 0, 0, 1},
             Layout{Shape::moved(Shape::run(8), far), 0, 0, 1},
             Layout{Shape::strided(Shape::run(1), 3, far / 2 + 1), 0, 0, 1},
             Layout{Shape::strided(Shape::run(1 << 20), Offset{1} << 41, 0), 0, 0, 1},
             Layout{Shape::run(8), 2 * far, 0, 1},
             Layout{Shape::run(8), 8, -4 * far, 1},
             Layout{Shape::run(8), 8, 0, -1},
         }) {
        const Result<Layout> decoded = decode(encoded(layout));
        EXPECT_FALSE(decoded.ok()) << layout.shape->describe();
    }
}

/// Returns the code of a layout without its shape, to which a test appends a shape.
Code before_shape() {
    Code code = encoded({Shape::empty(), 0, 0, 1});
    code.pop_back();
    return code;
}

/// The check that a piece ends within 64 bits must not overflow itself; a sanitizer detects that.
TEST(ShapeCodec, APieceThatEndsBeyond64BitsIsRefused) {
    Code code = before_shape();
    code.push_back(static_cast<std::byte>(Shape::Kind::runs));
    for (const int byte : {4, 0xee, 0x11, 4, 0xfe}) code.push_back(static_cast<std::byte>(byte));
    code.insert(code.end(), 8, std::byte{0xff});  // a run of 2^63 - 1 bytes at offset 1143
    for (const int byte : {1, 4}) code.push_back(static_cast<std::byte>(byte));
    EXPECT_FALSE(decode(code).ok());
}

TEST(ShapeCodec, DeepNestingIsRefusedBeforeTheStackEnds) {
    constexpr int kLevels = 1 << 20;
    Code code = before_shape();
    for (int level = 0; level < kLevels; ++level) {
        code.push_back(static_cast<std::byte>(Shape::Kind::strided));
        code.push_back(std::byte{4});   // count 2
        code.push_back(std::byte{22});  // stride 11
    }
    code.push_back(static_cast<std::byte>(Shape::Kind::run));
    code.push_back(std::byte{2});
    EXPECT_FALSE(decode(code).ok());
}

TEST(ShapeCodec, AListLongerThanTheMessageTakesNoMemory) {
    for (const Shape::Kind kind : {Shape::Kind::blocks, Shape::Kind::runs, Shape::Kind::mixed}) {
        Code code = before_shape();
        code.push_back(static_cast<std::byte>(kind));
        for (int i = 0; i < 8; ++i) code.push_back(std::byte{0xfe});  // a count of 2^55 or more
        code.push_back(std::byte{1});
        EXPECT_FALSE(decode(code).ok());
    }
}

TEST(ShapeCodec, UnknownKindsAndOverlongNumbersAreRefused) {
    Code code = before_shape();
    code.push_back(std::byte{6});
    EXPECT_FALSE(decode(code).ok());
    code = before_shape();
    code.push_back(static_cast<std::byte>(Shape::Kind::run));
    for (int i = 0; i < 10; ++i) code.push_back(std::byte{0x82});
    code.push_back(std::byte{0});
    EXPECT_FALSE(decode(code).ok());
}

}  // namespace
}  // namespace oratorio
