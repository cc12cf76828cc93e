// SPDX-License-Identifier: BSD-3-Clause
#include "type/coverage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/typemap_oracle.hpp"

namespace oratorio::test::coverage_test {
namespace {

using test::TypemapGenerator;

std::uint64_t byte_by_byte(std::span<const Offset> bytes) {
    std::uint64_t sum = 0;
    for (const Offset byte : bytes) sum += mix(byte + 1) - mix(byte);
    return sum;
}

TEST(Coverage, LayoutsAndTheirBytesHaveTheSameCoverage) {
    for (std::uint64_t seed = 0; seed < 1200; ++seed) {
        TypemapGenerator generator(seed, TypemapGenerator::Style::any);
        const auto [layout, bytes] = generator.layout(4);
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + layout.shape->describe());
        const Bytes from = generator.between(0, std::ssize(bytes));
        const Bytes to = generator.between(from, std::ssize(bytes));
        const std::span<const Offset> all(bytes);
        ASSERT_EQ(coverage(layout, 0, layout.size()), byte_by_byte(all));
        ASSERT_EQ(coverage(layout, from, to),
                  byte_by_byte(all.subspan(static_cast<std::size_t>(from),
                                           static_cast<std::size_t>(to - from))));
    }
}

TEST(Coverage, EqualsTheWholeExactlyWhenPiecesTileIt) {
    std::int64_t tiling = 0;
    std::int64_t other = 0;
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
        TypemapGenerator generator(seed, TypemapGenerator::Style::any);
        const auto [layout, bytes] = generator.layout(3);
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + layout.shape->describe());
        const test::TypemapFacts facts = test::facts_of(bytes);
        const bool tiles = !facts.repeated && facts.span.length() == std::ssize(bytes);
        ++(tiles ? tiling : other);
        ASSERT_EQ(coverage(layout, 0, layout.size()) == coverage(facts.span), tiles);
    }
    EXPECT_GT(tiling, 200);
    EXPECT_GT(other, 200);
}

TEST(Coverage, InterleavedRanksTogetherTileTheRange) {
    constexpr int kRanks = 7;
    constexpr Bytes kBlock = 12;
    constexpr std::int64_t kRounds = 50;
    const Offset begin = (Offset{1} << 34) + 3;
    const Extent whole{begin, begin + kRanks * kBlock * kRounds};
    std::uint64_t sum = 0;
    for (int rank = 0; rank < kRanks; ++rank)
        sum += coverage({begin + rank * kBlock, kBlock, kRanks * kBlock, kRounds});
    EXPECT_EQ(sum, coverage(whole));
    const StridedRun last{begin + (kRanks - 1) * kBlock, kBlock, kRanks * kBlock, kRounds};
    const StridedRun shorter{last.offset, kBlock - 1, last.stride, kRounds};
    EXPECT_NE(sum - coverage(last) + coverage(shorter), coverage(whole)) << "holes";
    EXPECT_NE(sum + coverage(last), coverage(whole)) << "written twice";
}

TEST(Coverage, AHoleOfTheSizeOfAnOverlapIsSeen) {
    // Each pair omits one byte and repeats another, which sums of lengths cannot detect.
    for (Offset hole = 0; hole < 4096; ++hole) {
        const std::uint64_t sum = coverage(Extent{0, hole}) + coverage(Extent{hole + 1, 4097}) +
                                  coverage(Extent{4096 - hole, 4097 - hole});
        ASSERT_EQ(sum == coverage(Extent{0, 4097}), 4096 - hole == hole) << "hole at " << hole;
    }
}

TEST(Coverage, TouchingPiecesCountAsOneExtent) {
    EXPECT_EQ(coverage(StridedRun{40, 8, 8, 100}), coverage(Extent{40, 840}));
    EXPECT_EQ(coverage(StridedRun{}), 0U);
    EXPECT_EQ(coverage(Extent{9, 9}), 0U);
}

TEST(Mix, NearbyOffsetsHaveUnrelatedValues) {
    std::set<std::uint64_t> differences;
    for (Offset at = 0; at < 20000; ++at) differences.insert(mix(at + 8) - mix(at));
    EXPECT_EQ(differences.size(), 20000U);
    for (int bit = 0; bit < 64; ++bit) {
        int flips = 0;
        for (Offset at = 0; at < 2000; ++at)
            flips += static_cast<int>(((mix(at * 8) ^ mix(at * 8 + 8)) >> bit) & 1U);
        EXPECT_NEAR(flips, 1000, 250) << "bit " << bit;
    }
}

}  // namespace
}  // namespace oratorio::test::coverage_test
