// SPDX-License-Identifier: BSD-3-Clause
// Copies between layouts in device memory and the host. The tests check every byte, and the number
// of driver copies.
#include "device/device_memory.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "device/devices.hpp"
#include "support/random.hpp"
#include "support/stand_in_device.hpp"
#include "type/copy.hpp"

namespace oratorio::test {
namespace {

using Buffer = std::vector<std::byte>;
constexpr const char* kCuda = ORATORIO_CUDA_STAND_IN;
constexpr const char* kHip = ORATORIO_HIP_STAND_IN;

/// Device memory filled with varying bytes.
class Copies : public testing::TestWithParam<const char*> {
  protected:
    static constexpr std::size_t kBytes = 4 << 20;

    Copies() : device_(GetParam()), memory_(device_.allocate(kBytes)) {
        devices_.look();
        driver_ = devices_.owned_by_device(memory_, {Shape::run(1), 1, 0, 1})->driver;
        queue_ = std::move(*driver_->open(memory_));
        block_ = driver_->blocks().take(*queue_);
        for (std::size_t i = 0; i < kBytes; ++i) data()[i] = std::byte(i * 7 + i / 256);
        device_.counts() = {};
    }
    [[nodiscard]] std::byte* data() const { return device_.data(memory_); }

    /// Gathers the layout and compares the bytes with those that the host copies. Checks the number
    /// of driver copies.
    void expect_gathered(const Layout& layout, long copies, long row_copies) {
        const auto bytes = static_cast<std::size_t>(layout.size());
        Buffer expected(bytes);
        Buffer got(bytes);
        Cursor there(layout);
        gather_bytes(there, data(), expected);
        device_.counts() = {};
        Cursor cursor(layout);
        EXPECT_EQ(gather_from_device(*queue_, cursor, memory_, got, block_.window()).kind,
                  ErrorKind::none);
        EXPECT_EQ(queue_->wait().kind, ErrorKind::none);
        EXPECT_TRUE(cursor.at_end());
        EXPECT_EQ(std::memcmp(got.data(), expected.data(), bytes), 0);
        EXPECT_EQ(device_.counts().copies, copies);
        EXPECT_EQ(device_.counts().row_copies, row_copies);
    }
    /// Scatters to the layout, and checks all bytes, including those between the pieces, and the
    /// number of driver copies.
    void expect_scattered(const Layout& layout, long copies, long row_copies) {
        Buffer expected(data(), data() + kBytes);
        Buffer in(static_cast<std::size_t>(layout.size()), std::byte{0xEE});
        Cursor there(layout);
        scatter_bytes(there, expected.data(), in);
        device_.counts() = {};
        Cursor cursor(layout);
        EXPECT_EQ(scatter_to_device(*queue_, cursor, memory_, in).kind, ErrorKind::none);
        EXPECT_EQ(queue_->wait().kind, ErrorKind::none);
        EXPECT_EQ(std::memcmp(data(), expected.data(), kBytes), 0);
        EXPECT_EQ(device_.counts().copies, copies);
        EXPECT_EQ(device_.counts().row_copies, row_copies);
        EXPECT_EQ(device_.counts().bytes, layout.size());
    }

    StandInDevice device_;
    std::byte* memory_;
    Devices devices_;
    DeviceDriver* driver_ = nullptr;
    std::unique_ptr<DeviceQueue> queue_;
    StagingBlocks::Lease block_;
};

INSTANTIATE_TEST_SUITE_P(, Copies, testing::Values(kCuda, kHip), [](const auto& given) {
    return std::string(given.param == kCuda ? "cuda" : "hip");
});

TEST_P(Copies, OnePieceIsOneCopy) {
    const Layout layout{Shape::run(100'000), 100'000, 4096, 1};
    expect_gathered(layout, 1, 0);
    expect_scattered(layout, 1, 0);
}

TEST_P(Copies, LargeRowsAreOneStridedCopy) {
    const Layout layout{Shape::strided(Shape::run(1024), 500, 4096), 0, 0, 1};
    expect_gathered(layout, 1, 1);
    expect_scattered(layout, 1, 1);
}

TEST_P(Copies, SmallPiecesFarApartAreOneStridedCopy) {
    const Layout layout{Shape::strided(Shape::run(8), 1000, 128), 0, 0, 1};
    expect_gathered(layout, 1, 1);
    expect_scattered(layout, 1, 1);
}

TEST_P(Copies, SmallPiecesCloseTogetherAreCopiedWithTheirGaps) {
    // A driver copy is at most as long as a window.
    const Layout layout{Shape::strided(Shape::run(8), 200'000, 16), 0, 0, 1};
    expect_gathered(layout, 4, 0);
    expect_scattered(layout, 1, 1);
}

TEST_P(Copies, ListedPiecesCloseTogetherAreFewCopies) {
    std::vector<Offset> offsets;
    std::vector<Bytes> lengths;
    Offset at = 0;
    for (int i = 0; i < 1000; ++i) {
        offsets.push_back(at);
        lengths.push_back(8 + i % 3);
        at += 16 + i % 5;
    }
    const Layout layout{Shape::runs(offsets, List<Bytes>(lengths)), at, 0, 1};
    expect_gathered(layout, 1, 0);
}

TEST_P(Copies, BackwardsAreDonePieceByPiece) {
    const Layout layout{Shape::strided(Shape::run(600), 20, -1000), 0, 50'000, 1};
    expect_gathered(layout, 20, 0);
    expect_scattered(layout, 20, 0);
}

TEST_P(Copies, WithoutAWindowTouchThePiecesOnly) {
    const Layout layout{Shape::strided(Shape::run(8), 100, 16), 0, 0, 1};
    Buffer got(800);
    Cursor cursor(layout);
    EXPECT_EQ(gather_from_device(*queue_, cursor, memory_, got, {}).kind, ErrorKind::none);
    EXPECT_EQ(queue_->wait().kind, ErrorKind::none);
    EXPECT_EQ(device_.counts().row_copies, 1);
    EXPECT_EQ(device_.counts().bytes, 800);
}

TEST_P(Copies, PiecesOfTwoAllocationsAreCopiedWithoutTheGap) {
    // Only the two allocations' small pieces are copied, not the memory between the allocations.
    constexpr Offset kPage = 65536;  // the largest page size of any processor that we support
    for (const Offset gap : {Offset{0}, kPage}) {
        SCOPED_TRACE("gap " + std::to_string(gap));
        const Offset second = kPage + gap;
        std::byte* const memory = device_.allocate_two(kPage, static_cast<std::size_t>(gap));
        for (Offset i = 0; i < kPage; ++i) {
            device_.data(memory)[i] = std::byte(i);
            device_.data(memory + second)[i] = std::byte(i + 1);
        }
        std::vector<Offset> offsets;
        std::vector<Bytes> lengths;
        for (const Offset begin : {kPage - 2048, second})
            for (Offset at = begin; at < begin + 2048; at += 16) {
                offsets.push_back(at);
                lengths.push_back(8 + at / 16 % 2);
            }
        const Layout layout{Shape::runs(offsets, List<Bytes>(lengths)), 0, 0, 1};
        Buffer got(static_cast<std::size_t>(layout.size()));
        Cursor cursor(layout);
        EXPECT_EQ(gather_from_device(*queue_, cursor, memory, got, block_.window()).kind,
                  ErrorKind::none);
        EXPECT_EQ(queue_->wait().kind, ErrorKind::none);
        Cursor walk(layout);
        std::size_t byte = 0;
        for (StridedRun run = walk.next(); run.count > 0; run = walk.next())
            for (std::int64_t i = 0; i < run.count; ++i)
                for (Bytes k = 0; k < run.length; ++k, ++byte) {
                    const Offset at = run.offset + i * run.stride + k;
                    ASSERT_EQ(got[byte], at < second ? std::byte(at) : std::byte(at - second + 1))
                        << at;
                }
    }
}

/// Returns a layout within the memory, without overlaps.
Layout random_layout(Random& random) {
    std::vector<Offset> offsets;
    std::vector<Bytes> lengths;
    Offset at = 0;
    const std::int64_t pieces = random.between(1, 60);
    const std::int64_t gap_most = random.between(1, 3) == 1 ? 10'000 : 30;
    const std::int64_t length_most = random.between(1, 3) == 1 ? 3000 : 20;
    for (int i = 0; i < pieces; ++i) {
        offsets.push_back(at);
        lengths.push_back(random.between(1, length_most));
        at += lengths.back() + random.between(0, gap_most);
    }
    ShapePtr shape = Shape::runs(offsets, List<Bytes>(lengths));
    if (random.between(0, 1) == 1) {
        const std::int64_t copies = random.between(1, 4);
        shape = Shape::strided(shape, copies, at + random.between(0, 100));
        at = shape->span().end;
    }
    return {shape, at + random.between(0, 50), random.between(0, 100), random.between(1, 3)};
}

TEST_P(Copies, AnyLayoutIsCopiedCorrectly) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Random random(seed);
        const Layout layout = random_layout(random);
        ASSERT_LT(layout.origin + layout.count * layout.extent, static_cast<Offset>(kBytes));
        const auto bytes = static_cast<std::size_t>(layout.size());
        Buffer expected(bytes);
        Buffer got(bytes);
        Cursor there(layout);
        gather_bytes(there, data(), expected);
        // The data is copied in two calls, as the pieces of an access are.
        Cursor cursor(layout);
        const auto first = static_cast<std::size_t>(random.between(0, std::ssize(got)));
        const std::span all(got);
        for (const auto part : {all.first(first), all.subspan(first)})
            ASSERT_EQ(gather_from_device(*queue_, cursor, memory_, part, block_.window()).kind,
                      ErrorKind::none);
        ASSERT_EQ(queue_->wait().kind, ErrorKind::none);
        ASSERT_EQ(std::memcmp(got.data(), expected.data(), bytes), 0);
        Buffer whole(data(), data() + kBytes);
        for (auto& byte : got) byte = ~byte;
        Cursor host(layout);
        scatter_bytes(host, whole.data(), got);
        Cursor back(layout);
        for (const auto part : {all.first(first), all.subspan(first)})
            ASSERT_EQ(scatter_to_device(*queue_, back, memory_, part).kind, ErrorKind::none);
        ASSERT_EQ(queue_->wait().kind, ErrorKind::none);
        ASSERT_EQ(std::memcmp(data(), whole.data(), kBytes), 0);
    }
}

TEST_P(Copies, OfMoreDataThanALayoutHasFail) {
    const Layout layout{Shape::run(1000), 1000, 0, 1};
    Buffer more(1001);
    Cursor from(layout);
    EXPECT_EQ(gather_from_device(*queue_, from, memory_, more, block_.window()).kind,
              ErrorKind::internal);
    Cursor to(layout);
    EXPECT_EQ(scatter_to_device(*queue_, to, memory_, more).kind, ErrorKind::internal);
    EXPECT_EQ(queue_->wait().kind, ErrorKind::none);
}

TEST_P(Copies, KeepTheMemoryTheyGoThrough) {
    const std::byte* const first = block_.piece(0).data();
    block_ = {};
    const StagingBlocks::Lease again = driver_->blocks().take(*queue_);
    EXPECT_EQ(again.piece(0).data(), first);
    EXPECT_EQ(device_.counts().pins, 0);
    const StagingBlocks::Lease another = driver_->blocks().take(*queue_);
    EXPECT_NE(another.piece(0).data(), first);
    EXPECT_EQ(device_.counts().pins, 1);
}

}  // namespace
}  // namespace oratorio::test
