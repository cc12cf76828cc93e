// SPDX-License-Identifier: BSD-3-Clause
// Datatypes that are nested deeply, most of them in a thread with a small stack: their trees stay
// shallow and still describe the datatype. Datatypes that reach beyond the largest offset that the
// library supports are recognised.
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>

#include "support/random.hpp"
#include "type/copy.hpp"
#include "type/coverage.hpp"
#include "type/shape_codec.hpp"
#include "type/signature.hpp"

namespace oratorio::test::deep_types_test {
namespace {

constexpr int kLevels = 100'000;
constexpr int kShallow = 100;

/// Runs `body` in a thread with 256 KiB of stack.
void with_small_stack(const std::function<void()>& body) {
    constexpr std::size_t kStack = 256 << 10;
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
    pthread_t thread;
    const auto run = [](void* argument) -> void* {
        (*static_cast<const std::function<void()>*>(argument))();
        return nullptr;
    };
    ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&body)),
              0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
    pthread_attr_destroy(&attributes);
}

/// Does with a shape what accesses do: describes, encodes, decodes, walks and copies it.
void use(const ShapePtr& shape) {
    const Layout layout{shape, shape->span().end + 8, 0, 2};
    ASSERT_LE(shape->depth(), kShallow);
    EXPECT_FALSE(shape->describe().empty());
    std::vector<std::byte> code;
    encode(layout, code);
    const auto decoded = decode(code);
    ASSERT_TRUE(decoded);
    const Bytes half = layout.size() / 2;
    Cursor cursor(layout);
    cursor.seek_size(half);
    Cursor other(*decoded);
    other.seek_size(half);
    EXPECT_EQ(cursor.tell_offset(), other.tell_offset());
    EXPECT_EQ(coverage(layout, 0, half), coverage(*decoded, 0, half));
    std::vector<std::byte> memory(static_cast<std::size_t>(2 * layout.extent));
    std::vector<std::byte> packed(static_cast<std::size_t>(layout.size()), std::byte{7});
    Cursor all(layout);
    scatter_bytes(all, memory.data(), packed);
    EXPECT_EQ(std::ranges::count(memory, std::byte{7}), layout.size());
}

TEST(DeepTypes, AStructOfAStructAndAFieldMoreStaysShallow) {
    with_small_stack([] {
        std::vector<ShapePtr> kept;  // keeps the shapes alive, as datatypes keep those of their
                                     // parts
        ShapePtr shape = Shape::run(4);
        Bytes end = 4;
        for (int level = 0; level < kLevels; ++level) {
            kept.push_back(shape);
            const Bytes field = level % 3 + 1;
            shape = level % 2 == 0
                        ? Shape::mixed({shape, Shape::run(field)}, {0, end + 1})
                        : Shape::mixed({Shape::strided(Shape::run(1), field + 1, 2), shape},
                                       {end + 1, 0});
            end = shape->span().end;
        }
        use(shape);
    });
}

TEST(DeepTypes, StructsAndVectorsInTurnStayShallow) {
    with_small_stack([] {
        ShapePtr shape = Shape::run(4);
        for (int level = 0; level < kLevels && shape->size() < 1 << 20; ++level) {
            shape = Shape::mixed({shape, Shape::run(1)}, {0, shape->span().end + 1});
            if (level % 500 == 499) shape = Shape::strided(shape, 2, shape->span().end + 9);
        }
        use(shape);
    });
}

TEST(DeepTypes, BranchesThatAreEquallyDeepStayShallow) {
    test::Random random(3);
    std::vector<ShapePtr> shapes{Shape::run(1), Shape::runs({0, 4}, {1, 2})};
    for (int made = 0; made < 3000; ++made) {
        const ShapePtr a = shapes[random.below(shapes.size())];
        const ShapePtr b =
            shapes[std::min<std::size_t>(shapes.size() - 1, random.below(2) + shapes.size() - 2)];
        ShapePtr shape = Shape::mixed({b, a, Shape::run(1)},
                                      {0, b->span().end + 1, b->span().end + a->span().end + 3});
        ASSERT_LE(shape->depth(), kShallow);
        if (shape->size() < 1 << 16) shapes.push_back(std::move(shape));
    }
}

/// Builds random nests by adding one part at a time, and compares their pieces with a list of the
/// pieces.
TEST(DeepTypes, TakingInPartsKeepsTheOrderOfTheData) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        test::Random random(seed);
        std::vector<Extent> pieces{{0, 2}};
        ShapePtr shape = Shape::run(2);
        for (int level = 0; level < 40; ++level) {
            const Bytes length = random.between(1, 3);
            const Offset inner = random.between(0, 9);
            const Offset own = random.between(-50, 50);
            const bool first = random.chance(50);
            for (Extent& piece : pieces) piece = {piece.begin + inner, piece.end + inner};
            const Extent piece{own, own + length};
            pieces.insert(first ? pieces.begin() : pieces.end(), piece);
            shape = first ? Shape::mixed({Shape::run(length), shape}, {own, inner})
                          : Shape::mixed({shape, Shape::run(length)}, {inner, own});
        }
        Bytes size = 0;
        for (const Extent& piece : pieces) size += piece.length();
        ASSERT_EQ(shape->size(), size);
        Cursor cursor(Layout{shape, 1000, 0, 1});
        for (const Extent& piece : pieces) {
            for (Offset at = piece.begin; at < piece.end; ++at)
                ASSERT_EQ(cursor.next(1).offset, at) << "seed " << seed;
        }
        ASSERT_TRUE(cursor.at_end());
    }
}

Element element(Bytes bytes) {
    return {bytes == 4 ? ScalarKind::word4 : ScalarKind::word8, 1, bytes, bytes,
            static_cast<std::uintptr_t>(bytes)};
}

TEST(DeepTypes, SignaturesStayShallow) {
    with_small_stack([] {
        std::vector<SignaturePtr> kept;
        SignaturePtr signature = Signature::of(element(4));
        Bytes bytes = 4;
        for (int level = 0; level < kLevels; ++level) {
            kept.push_back(signature);
            const Bytes each = level % 2 == 0 ? 8 : 4;
            signature = Signature::sequence({{{}, signature, 1}, {element(each), nullptr, 1}});
            bytes += each;
        }
        ASSERT_LE(signature->depth(), kShallow);
        EXPECT_EQ(signature->total(), (Amount{kLevels + 1, bytes, bytes}));
        EXPECT_EQ(signature->first(&Amount::elements, 3), (Amount{3, 16, 16}));
        const auto sized =
            with_file_sizes(signature, [](const Element&) { return Result<Bytes>(2); });
        ASSERT_TRUE(sized);
        EXPECT_EQ((*sized)->total().file, 2 * (kLevels + 1));
        SignatureCursor cursor(signature);
        for (int at = 0; at <= kLevels; ++at) {
            const auto run = cursor.next(8, 8);
            ASSERT_EQ(run.count, 1);
            ASSERT_EQ(run.element->memory, at > 0 && at % 2 == 1 ? 8 : 4);
        }
        EXPECT_EQ(cursor.next(8, 8).count, 0);
    });
}

TEST(DeepTypes, ALayoutFromAnotherRankThatIsNestedTooDeeplyIsRefused) {
    with_small_stack([] {
        for (const int levels : {99, 100, 1000, 1'000'000}) {
            std::vector<std::byte> code;
            encode(Layout{Shape::run(1), 1, 0, 1}, code);
            code.resize(code.size() - 2);  // removes the run
            for (int level = 0; level + 1 < levels; ++level)
                // These bytes are the code of two copies, 16 bytes apart, of the shape that
                // follows.
                for (const int byte : {2, 4, 32}) code.push_back(static_cast<std::byte>(byte));
            code.push_back(std::byte{1});
            code.push_back(std::byte{2});
            EXPECT_FALSE(decode(code)) << levels;  // 99 levels fail because there is more data than
                                                   // 64 bits can count
        }
    });
}

TEST(DeepTypes, LayoutsThatReachTooFarDoNotFit) {
    const ShapePtr run = Shape::run(8);
    const Offset far = kOffsetLimit - 8;
    EXPECT_TRUE(Shape::moved(run, far)->fits());
    EXPECT_TRUE(Shape::strided(run, 3, far / 2)->fits());
    EXPECT_TRUE(Shape::blocks(run, {0, far, 5, -far})->fits());
    EXPECT_TRUE(Shape::runs({0, far}, {4, 8})->fits());
    EXPECT_TRUE(Shape::mixed({run, Shape::strided(run, 2, 16)}, {far, -far})->fits());
    const ShapePtr unfit[] = {
        Shape::run(kOffsetLimit + 1),
        Shape::moved(run, far + 1),
        Shape::moved(run, INT64_MAX),
        Shape::moved(run, INT64_MIN),
        Shape::strided(run, 3, far),
        Shape::strided(run, INT64_MAX, INT64_MAX),
        Shape::strided(run, INT64_MAX, INT64_MIN),
        Shape::strided(run, INT64_MAX, 0),
        Shape::strided(Shape::strided(run, 1 << 30, 16), 1 << 30, Offset{1} << 34),
        Shape::blocks(run, {0, far + 1, 5}),
        Shape::blocks(run, {0, INT64_MIN, 5}),
        Shape::blocks(Shape::moved(run, far), {0, far, 5}),
        Shape::runs({0, far}, {4, 9}),
        Shape::runs({0, -kOffsetLimit}, {4, 9}),
        Shape::mixed({run, Shape::strided(run, 2, 16)}, {0, far}),
        Shape::mixed({run, Shape::run(kOffsetLimit)}, {0, 0}),
    };
    for (const ShapePtr& shape : unfit) {
        EXPECT_FALSE(shape->fits());
        EXPECT_FALSE(Shape::moved(shape, 4)->fits());
        EXPECT_FALSE(Shape::strided(shape, 4, 4)->fits());
        EXPECT_FALSE(Shape::blocks(shape, {0, 5, 1})->fits());
        EXPECT_FALSE(Shape::mixed({run, shape}, {0, 8})->fits());
    }
}

TEST(DeepTypes, LayoutsKnowWhetherTheirTilesFit) {
    const ShapePtr run = Shape::run(8);
    EXPECT_TRUE((Layout{run, 8, 0, kOffsetLimit / 8}).fits());
    EXPECT_FALSE((Layout{run, 8, 0, kOffsetLimit / 8 + 1}).fits());
    EXPECT_FALSE((Layout{run, 8, 8, kOffsetLimit / 8}).fits());
    EXPECT_TRUE((Layout{run, kOffsetLimit - 8, 0, 2}).fits());
    EXPECT_FALSE((Layout{run, kOffsetLimit, 0, 2}).fits());
    EXPECT_FALSE((Layout{run, INT64_MIN, 0, 2}).fits());
    EXPECT_FALSE((Layout{run, INT64_MAX, 0, 3}).fits());
    EXPECT_FALSE((Layout{run, 0, INT64_MAX, 1}).fits());
    EXPECT_TRUE((Layout{run, INT64_MIN, 0, 1}).fits());
    EXPECT_TRUE((Layout{Shape::empty(), INT64_MIN, INT64_MAX, 4}).fits());
}

}  // namespace
}  // namespace oratorio::test::deep_types_test
