// SPDX-License-Identifier: BSD-3-Clause
// The memory that a walk takes depends on the depth of a datatype, not on the number of its pieces.
// This program counts its own allocations.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "type/cursor.hpp"

namespace {
std::size_t allocations = 0;
std::size_t allocated_bytes = 0;
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
    ++allocations;
    allocated_bytes += size;
    if (void* memory = std::malloc(size)) return memory;
    std::abort();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace oratorio {
namespace {

constexpr std::int64_t kMillion = 1 << 20;

struct Walk {
    std::int64_t calls = 0;
    Bytes bytes = 0;
    std::size_t allocations = 0;
};

Walk walk(const Layout& layout) {
    Walk walk;
    const std::size_t before = allocations;
    Cursor cursor(layout);
    cursor.seek_size(layout.size() / 2);
    cursor.seek_size(0);
    for (; !cursor.at_end(); ++walk.calls) walk.bytes += cursor.next().bytes();
    walk.allocations = allocations - before;
    return walk;
}

TEST(CursorMemory, EightMillionPiecesCostAFewAllocations) {
    const ShapePtr pair = Shape::runs({0, 8}, {4, 8});
    const Walk one_level = walk({pair, 24, 0, 4 * kMillion});
    EXPECT_EQ(one_level.calls, 8 * kMillion);
    EXPECT_EQ(one_level.bytes, 48 * kMillion);
    EXPECT_LE(one_level.allocations, 3U);

    const ShapePtr vector = Shape::strided(Shape::run(8), 8 * kMillion, 64);
    const Walk strided = walk({vector, 0, 0, 1});
    EXPECT_EQ(strided.calls, 1);
    EXPECT_LE(strided.allocations, 3U);
}

TEST(CursorMemory, AllocationsDoNotGrowWithPieces) {
    const ShapePtr pair = Shape::runs({0, 8}, {4, 8});
    const auto nested = [&](std::int64_t count) {
        const ShapePtr rows = Shape::strided(Shape::strided(pair, 3, 100), count, 1000);
        return walk({rows, 2000 * count, 0, 2}).allocations;
    };
    EXPECT_EQ(nested(2), nested(100000));
}

TEST(ShapeMemory, AListOfRunsIsKeptAndNotCopied) {
    std::vector<Offset> offsets;
    std::vector<Bytes> lengths;
    for (std::int64_t i = 0; i < 4 * kMillion; ++i) {
        offsets.push_back(16 * i);
        lengths.push_back(4 + i % 5);
    }
    const std::size_t before = allocated_bytes;
    const ShapePtr shape = Shape::runs(std::move(offsets), std::move(lengths));
    // The shape keeps the list of offsets. The only new list holds, for each run, the sum of the
    // lengths before it, and then the total.
    EXPECT_LE(allocated_bytes - before, (4U * kMillion + 1) * sizeof(Bytes) + 1000);
    EXPECT_EQ(shape->count(), 4 * kMillion);
}

}  // namespace
}  // namespace oratorio
