// SPDX-License-Identifier: BSD-3-Clause
// Streamed copies (with non-temporal stores) move the same bytes as ordinary ones, and touch no
// byte next to their pieces.
#include "type/streamed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "support/random.hpp"
#include "type/copy.hpp"

namespace oratorio::test::streamed_test {
namespace {

using test::random_bytes;
using Buffer = std::vector<std::byte>;

constexpr std::size_t kLine = 64;

/// Returns the first byte of `buffer` that is on a cache line boundary.
std::byte* aligned(Buffer& buffer) {
    const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
    return buffer.data() + (kLine - address % kLine) % kLine;
}

TEST(StreamPiece, EveryLengthAtEveryAlignmentMovesExactlyItsBytes) {
    std::vector<std::size_t> lengths(601);
    std::iota(lengths.begin(), lengths.end(), 0U);
    for (const std::size_t length : {1000, 1023, 1024, 1025, 4161, 12345})
        lengths.push_back(length);
    constexpr auto kGuard = std::byte{0xA5};
    Buffer source_memory = random_bytes(12345 + 3 * kLine, 1);
    Buffer target_memory(12345 + 5 * kLine, kGuard);
    const Buffer guard(2 * kLine, kGuard);
    for (const std::size_t length : lengths) {
        for (std::size_t to = 0; to < kLine; ++to) {
            for (std::size_t from = 0; from < kLine; ++from) {
                const std::byte* const source = aligned(source_memory) + from;
                std::byte* const target = aligned(target_memory) + kLine + to;
                stream_piece(target, source, static_cast<Bytes>(length));
                ASSERT_TRUE(std::equal(target, target + length, source) &&
                            std::equal(target - kLine, target, guard.data()) &&
                            std::equal(target + length, target + length + 2 * kLine, guard.data()))
                    << length << " bytes, alignments " << to << " <- " << from;
                std::fill(target, target + length, kGuard);
            }
        }
    }
}

/// Returns a layout of long pieces with at least `bytes` data bytes: one run, evenly spaced pieces,
/// rows of such pieces, or listed pieces of one length or of any lengths.
Layout long_pieces(test::Random& random, Bytes bytes) {
    const Offset origin = random.between(0, 70);
    const Bytes length = random.chance(50) ? random.between(4, 40) * 64 : random.between(150, 3000);
    const Bytes step = length + (random.chance(50) ? random.between(0, 4) * 64 : 0) +
                       (random.chance(50) ? random.between(1, 90) : 0);
    const std::int64_t count = bytes / length + 1;
    switch (random.between(0, 4)) {
        case 0:
            return {Shape::run(bytes), 0, origin, 1};
        case 1:
            return {Shape::strided(Shape::run(length), count, step), 0, origin, 1};
        case 2: {
            const Bytes row = 3 * step + random.between(0, 200);
            return {Shape::strided(Shape::strided(Shape::run(length), 3, step), count / 3 + 1, row),
                    0, origin, 1};
        }
        default:
            break;
    }
    const bool even = random.chance(50);
    std::vector<Offset> offsets;
    std::vector<Bytes> lengths;
    Offset end = origin;
    for (Bytes done = 0; done < bytes; done += lengths.back()) {
        offsets.push_back(end + random.between(0, 100));
        lengths.push_back(even ? length : random.between(1, 2 * length));
        end = offsets.back() + lengths.back();
    }
    if (even) return {Shape::blocks(Shape::run(length), std::move(offsets)), 0, 0, 1};
    return {Shape::runs(std::move(offsets), std::move(lengths)), 0, 0, 1};
}

TEST(CopyBetweenStreamed, LongPiecesOfAnyLayoutEqualReused) {
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        test::Random random(seed);
        const Bytes bytes = random.between(1, 60000);
        const Layout to = long_pieces(random, bytes);
        const Layout from = long_pieces(random, bytes);
        const Buffer source =
            random_bytes(static_cast<std::size_t>(from.shape->span().end + 200), 1);
        const Buffer before = random_bytes(static_cast<std::size_t>(to.shape->span().end + 200), 2);
        const auto copied = [&](Target kind) {
            Buffer target = before;
            Cursor to_cursor(to);
            Cursor from_cursor(from);
            test::Random portions(seed);
            for (Bytes done = 0; done < bytes;) {
                const Bytes portion = std::min(portions.between(1, 30000), bytes - done);
                copy_between(to_cursor, target.data(), from_cursor, source.data(), portion, kind);
                done += portion;
            }
            return target;
        };
        const Buffer expected = copied(Target::reused);
        ASSERT_NE(expected, before);
        ASSERT_EQ(copied(Target::streamed), expected);
    }
}

/// Returns places `stride` apart in one row. The first is `offset` bytes after a line boundary.
Places<std::byte> spaced(Buffer& memory, std::size_t offset, Bytes stride) {
    return {aligned(memory) + offset, nullptr, stride, 0};
}

TEST(WorthStreaming, WholeLinesPaySoonerThanPackedPiecesAndThoseSoonerThanSpacedOnes) {
#if !defined(__x86_64__)
    GTEST_SKIP() << "no streaming stores";
#endif
    Buffer memory(4 * kLine);
    const auto worth = [&](std::size_t offset, Bytes stride, Bytes length) {
        return worth_streaming(spaced(memory, offset, stride), {nullptr, length}, 2);
    };
    EXPECT_FALSE(worth(0, 128, 64));
    EXPECT_TRUE(worth(0, 320, 256));
    EXPECT_FALSE(worth(16, 320, 256));  // here and below, the base, the stride or the length leads
                                        // to partial lines
    EXPECT_FALSE(worth(0, 328, 256));
    EXPECT_FALSE(worth(0, 320, 248));
    EXPECT_FALSE(worth(16, 248, 248));
    EXPECT_TRUE(worth(16, 360, 360));
    EXPECT_FALSE(worth(16, 368, 360));
    EXPECT_TRUE(worth(16, 600, 400));
}

TEST(WorthStreaming, ListedPiecesCountByTheirMean) {
#if !defined(__x86_64__)
    GTEST_SKIP() << "no streaming stores";
#endif
    Buffer memory(4 * kLine);
    const std::vector<Bytes> prefix{100, 110, 820};  // a section of a longer list of sums; the two
                                                     // pieces have 10 and 710 bytes
    const std::vector<Offset> offsets{0, 1000};
    EXPECT_FALSE(worth_streaming({memory.data(), offsets.data(), 0, 0}, {prefix.data(), 0}, 2));
    EXPECT_TRUE(worth_streaming({memory.data(), prefix.data(), 0, 0}, {prefix.data(), 0}, 2));
    const std::vector<Bytes> longer{0, 10, 1200};
    EXPECT_TRUE(worth_streaming({memory.data(), offsets.data(), 0, 0}, {longer.data(), 0}, 2));
}

}  // namespace
}  // namespace oratorio::test::streamed_test
