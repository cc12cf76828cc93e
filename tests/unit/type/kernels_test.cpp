// SPDX-License-Identifier: BSD-3-Clause
#include "type/kernels.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/random.hpp"

namespace oratorio {
namespace {

using test::random_bytes;
using Buffer = std::vector<std::byte>;

/// Returns the offsets of `count` pieces, `step` apart; with `listed`, they are uneven.
std::vector<Offset> offsets_of(std::int64_t count, Bytes step, bool listed) {
    std::vector<Offset> offsets;
    for (std::int64_t i = 0; i < count; ++i)
        offsets.push_back(i * step + (listed ? (step < 0 ? -1 : 1) * (i * i % 2) : 0));
    return offsets;
}

TEST(CopyEqual, EveryLengthAndDirectionSpacedAndListedMovesExactlyItsBytes) {
    constexpr std::int64_t kCount = 6;  // more than one round of the unrolled loop
    constexpr std::int64_t kRows = 2;
    for (Bytes length = 1; length <= 70; ++length) {
        for (const Bytes to_step : {length + 1, length + 3, -length - 1}) {
            for (const Bytes from_step : {length, length + 5, -length - 2, Bytes{0}}) {
                for (const int listed : {0, 1, 2, 3}) {
                    SCOPED_TRACE(testing::Message() << length << " bytes, steps " << to_step << " "
                                                    << from_step << ", listed " << listed);
                    const auto to = offsets_of(kCount, to_step, listed & 1);
                    const auto from = offsets_of(kCount, from_step, listed & 2);
                    const Buffer source = random_bytes(2400, 1);
                    Buffer target = random_bytes(2400, 2);
                    Buffer expected = target;
                    for (std::int64_t row = 0; row < kRows; ++row)
                        for (std::size_t piece = 0; piece < kCount; ++piece)
                            for (Bytes byte = 0; byte < length; ++byte)
                                expected[static_cast<std::size_t>(500 + row * 900 + to[piece] +
                                                                  byte)] =
                                    source[static_cast<std::size_t>(1300 - row * 700 + from[piece] +
                                                                    byte)];
                    copy_equal(
                        {target.data() + 500, (listed & 1) ? to.data() : nullptr, to_step, 900},
                        {source.data() + 1300, (listed & 2) ? from.data() : nullptr, from_step,
                         -700},
                        length, kCount, kRows);
                    ASSERT_EQ(target, expected);
                }
            }
        }
    }
}

TEST(CopyPiece, EveryLengthMovesExactlyItsBytes) {
    for (std::size_t length = 0; length <= 200; ++length) {
        // The buffers are exactly as long as the piece, so that a sanitizer detects an access
        // outside.
        const Buffer source = random_bytes(length, 1);
        Buffer target(length);
        copy_piece(target.data(), source.data(), static_cast<Bytes>(length));
        ASSERT_EQ(target, source);
    }
}

/// Returns the ways to move short pieces that this processor supports: without masked moves, and
/// with them.
std::vector<bool> ways() {
    return has_masked_moves() ? std::vector<bool>{false, true} : std::vector<bool>{false};
}

TEST(CopyUneven, NoByteBetweenThePiecesIsTouched) {
    const std::vector<Bytes> prefix{7, 8, 10, 14, 31, 72, 200};  // a section of a longer list of
                                                                 // sums
    const std::vector<Offset> to{0, 2, 5, 10, 28, 70};
    const Buffer source = random_bytes(2 * 193, 1);
    const Buffer before = random_bytes(2 * 210, 2);
    Buffer expected = before;
    for (std::size_t row = 0; row < 2; ++row)
        for (std::size_t piece = 0; piece < 6; ++piece)
            for (Bytes byte = 0; byte < prefix[piece + 1] - prefix[piece]; ++byte)
                expected[row * 210 + static_cast<std::size_t>(to[piece] + byte)] =
                    source[row * 193 + static_cast<std::size_t>(prefix[piece] - 7 + byte)];
    for (const bool masked : ways()) {
        Buffer target = before;
        copy_uneven({target.data(), to.data(), 0, 210},
                    {displaced(source.data(), -7), prefix.data(), 0, 193}, prefix.data(), 6, 2,
                    masked);
        EXPECT_EQ(target, expected) << "masked " << masked;
    }
}

/// Listed pieces of 1 to 70 bytes with gaps, and the offset of each of their bytes.
struct RandomPieces {
    explicit RandomPieces(test::Random& random) {
        Bytes size = 0;
        Offset end = 0;
        for (std::int64_t count = random.between(2, 12); count > 0; --count) {
            const Bytes length = random.chance(80) ? random.between(1, 9) : random.between(1, 70);
            offsets.push_back(end + random.between(1, 5));
            prefix.push_back(size);
            size += length;
            end = offsets.back() + length;
            for (Offset at = offsets.back(); at < end; ++at) bytes.push_back(at);
        }
        prefix.push_back(size);
    }
    [[nodiscard]] PieceRun run() const {
        return {0, offsets.data(), prefix.data(), 0, 0, std::ssize(offsets)};
    }
    std::vector<Offset> offsets;
    std::vector<Bytes> prefix;
    std::vector<Offset> bytes;
};

TEST(CopyMerged, CopiesUpToTheLastPieceOfEitherSide) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        test::Random random(seed);
        const RandomPieces to(random);
        const RandomPieces from(random);
        const Buffer source = random_bytes(static_cast<std::size_t>(from.bytes.back() + 1), 1);
        const Buffer before = random_bytes(static_cast<std::size_t>(to.bytes.back() + 1), 2);
        for (const bool masked : ways()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", masked " << masked);
            Buffer target = before;
            PiecePosition at_to;
            PiecePosition at_from;
            const Bytes bytes = copy_merged({target.data(), to.run(), at_to},
                                            {source.data(), from.run(), at_from}, masked);
            Buffer expected = before;
            for (std::size_t i = 0; i < static_cast<std::size_t>(bytes); ++i)
                expected[static_cast<std::size_t>(to.bytes[i])] =
                    source[static_cast<std::size_t>(from.bytes[i])];
            ASSERT_EQ(target, expected);
            ASSERT_EQ(to.run().bytes_of(0, at_to.piece) + at_to.within, bytes);
            ASSERT_EQ(from.run().bytes_of(0, at_from.piece) + at_from.within, bytes);
            ASSERT_TRUE(at_to.piece == to.run().count - 1 || at_from.piece == from.run().count - 1);
        }
    }
}

}  // namespace
}  // namespace oratorio
