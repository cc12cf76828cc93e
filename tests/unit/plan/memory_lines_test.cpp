// SPDX-License-Identifier: BSD-3-Clause
// The estimated number of cache lines that contain a rank's small pieces of memory.
#include <gtest/gtest.h>

#include <vector>

#include "plan/access.hpp"

namespace oratorio::test::memory_lines_test {
namespace {

constexpr std::int64_t kPieces = 1 << 12;

/// Returns the summary of an access to this memory. In the file, a gap of `gap` bytes follows the
/// first data byte.
AccessSummary summary_of(Layout memory, Bytes gap = 0) {
    Access access;
    access.direction = Direction::write;
    const Bytes bytes = memory.size();
    access.file = {Shape::runs({0, 1 + gap}, {1, bytes - 1}), bytes + gap, 0, 1};
    access.memory = std::move(memory);
    return summarise(access, true);
}

Layout once(ShapePtr shape) {
    const Bytes extent = shape->span().length();
    return {std::move(shape), extent, 0, 1};
}

std::int64_t lines_of_strided(Bytes piece, Bytes stride) {
    return memory_lines(summary_of(once(Shape::strided(Shape::run(piece), kPieces, stride))));
}

TEST(MemoryLines, CountPiecesThatAreAloneInTheirLine) {
    EXPECT_EQ(lines_of_strided(8, 64), kPieces);
    EXPECT_EQ(lines_of_strided(8, 192), kPieces);
}

TEST(MemoryLines, AreSharedByPiecesThatLieClose) {
    EXPECT_EQ(lines_of_strided(8, 16), kPieces / 4);
    EXPECT_EQ(lines_of_strided(4, 8), kPieces / 8);
    const Layout tiles{Shape::run(8), 16, 0, kPieces};
    EXPECT_EQ(memory_lines(summary_of(tiles)), kPieces / 4);
}

TEST(MemoryLines, AreSharedByListedPiecesInTheOrderOfMemoryOnly) {
    std::vector<Offset> forward;
    std::vector<Offset> scattered;
    for (std::int64_t i = 0; i < kPieces; ++i) {
        forward.push_back(16 * i + 8 * (i % 2));
        scattered.push_back(16 * (i * 1021 % kPieces));
    }
    const auto lines = [](std::vector<Offset> offsets) {
        return memory_lines(
            summary_of(once(Shape::blocks(Shape::run(8), List<Offset>(std::move(offsets))))));
    };
    EXPECT_EQ(lines(std::move(forward)), kPieces / 4);
    EXPECT_EQ(lines(std::move(scattered)), kPieces);
}

/// The variables of a cell lie side by side in memory. The pieces of one variable fill more than a
/// cache, so that lines are shared only if all variables are copied together.
TEST(MemoryLines, AreSharedByPartsWhereTheyAreMetTogether) {
    constexpr int kParts = 8;
    constexpr std::int64_t kCells = 1 << 14;
    const ShapePtr variable = Shape::strided(Shape::run(8), kCells, 8 * kParts);
    const Layout memory = once(Shape::strided(variable, kParts, 8));
    const AccessSummary together = summary_of(memory);
    ASSERT_EQ(together.parts(), kParts);
    EXPECT_EQ(memory_lines(together), kCells);
    const AccessSummary apart = summary_of(memory, 100);
    ASSERT_EQ(apart.parts(), 1) << "they don't lie equally far apart in the file";
    EXPECT_EQ(memory_lines(apart), kParts * kCells);
}

TEST(MemoryLines, LeaveOtherFlagsAlone) {
    Access access;
    access.file = {Shape::run(1024), 1024, 0, 1};
    access.memory = {Shape::run(8), 16, 0, 128};
    const AccessSummary summary = summarise(access, false);
    constexpr std::uint32_t kOthers = flag_interleaved | flag_no_store | flag_large_layout;
    EXPECT_EQ(summary.flags & kOthers, 0U);
    EXPECT_EQ(memory_lines(summary), 128 / 4);
}

}  // namespace
}  // namespace oratorio::test::memory_lines_test
