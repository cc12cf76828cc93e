// SPDX-License-Identifier: BSD-3-Clause
#include "plan/access.hpp"

#include <gtest/gtest.h>

#include "type/coverage.hpp"

namespace oratorio::test::access_test {
namespace {

TEST(Summary, HullBytesPiecesAndCoverageOfPartOfAView) {
    Access access;
    access.direction = Direction::write;
    access.file = {Shape::strided(Shape::run(8), 4, 32), 128, 1000, Layout::unbounded};
    access.from = 12;
    access.memory = {Shape::run(40), 40, 0, 1};
    const AccessSummary summary = summarise(access, true);
    // The access has data bytes 12 to 51: from the middle of piece 1 to the middle of piece 6.
    EXPECT_EQ(summary.hull, (Extent{1036, 1196}));
    EXPECT_EQ(summary.bytes, 40);
    EXPECT_EQ(summary.flags, 0U);
    EXPECT_EQ(summary.coverage, coverage(access.file, 12, 52));
}

TEST(Summary, TilesThatInterleaveOrOverlapAreFlagged) {
    Access access;
    access.memory = {Shape::run(64), 64, 0, 1};
    access.file = {Shape::strided(Shape::run(4), 2, 100), 4, 0, Layout::unbounded};
    EXPECT_EQ(summarise(access, false).flags, flag_interleaved);
    access.file = {Shape::run(16), 8, 0, Layout::unbounded};
    EXPECT_EQ(summarise(access, false).flags, flag_interleaved);
}

TEST(Summary, ListsPiecesUpToItsCapacity) {
    Access access;
    access.file = {Shape::run(1), 2, 0, Layout::unbounded};
    access.memory = {Shape::run(1), 2, 0, (std::int64_t{1} << 32) + 5};
    const AccessSummary summary = summarise(access, false);
    EXPECT_EQ(summary.bytes, (Bytes{1} << 32) + 5);
    EXPECT_EQ(summary.pieces, UINT32_MAX);
    EXPECT_EQ(summary.memory_pieces, UINT32_MAX);
    access.memory.count = 1000;
    EXPECT_EQ(summarise(access, false).pieces, 1000U);
}

TEST(Summary, ARefusedAccessMovesNothing) {
    Access access;
    access.file = {Shape::run(8), 8, 0, Layout::unbounded};
    access.memory = {Shape::run(64), 64, 0, 1};
    access.refused = Error::make(ErrorKind::count, "negative count");
    EXPECT_EQ(summarise(access, true), AccessSummary{});
}

}  // namespace
}  // namespace oratorio::test::access_test
