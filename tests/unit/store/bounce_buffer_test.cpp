// SPDX-License-Identifier: BSD-3-Clause
// A bounce buffer behaves as pread and pwrite do: the same bytes, counts and errors.
#include "store/bounce_buffer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/byte_copy.hpp"

namespace oratorio::test::bounce_buffer_test {
namespace {

constexpr std::size_t kPage = 4096;

class ThroughBounceBuffer : public ::testing::Test {
  protected:
    ThroughBounceBuffer() {
        std::string path = ::testing::TempDir() + "staged-XXXXXX";
        file_ = ::mkstemp(path.data());
        ::unlink(path.c_str());
        EXPECT_TRUE(stage_.prepare());
    }
    ~ThroughBounceBuffer() override { ::close(file_); }

    static std::vector<std::byte> pattern(std::size_t bytes) {
        std::vector<std::byte> data(bytes);
        for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 11 + i / 253);
        return data;
    }

    int file_ = -1;
    BounceBuffer stage_;
};

TEST_F(ThroughBounceBuffer, ReadsWhatItWroteAtAllLengthsAndOffsets) {
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65}, BounceBuffer::kLeast,
          BounceBuffer::kBytes + 63, BounceBuffer::kBytes + 64, 3 * BounceBuffer::kBytes + 12345}) {
        for (const Offset offset : {0, 1, 20, 2048, 4095, 4096 * 3 + 17}) {
            std::vector<std::byte> data = pattern(bytes);
            const auto all = static_cast<ssize_t>(bytes);
            ASSERT_EQ(stage_.move(Direction::write, data, offset, file_).result, all);
            std::vector<std::byte> plain(bytes);
            ASSERT_EQ(::pread(file_, plain.data(), bytes, offset), all);
            EXPECT_EQ(plain, data) << bytes << " at " << offset;
            std::vector<std::byte> staged(bytes);
            ASSERT_EQ(stage_.move(Direction::read, staged, offset, file_).result, all);
            EXPECT_EQ(staged, data) << bytes << " at " << offset;
        }
    }
}

TEST_F(ThroughBounceBuffer, AReadAcrossTheEndIsShortAndTouchesNothingBehind) {
    const std::size_t there = BounceBuffer::kBytes + 100;
    std::vector<std::byte> data = pattern(there);
    ASSERT_EQ(::pwrite(file_, data.data(), there, 0), static_cast<ssize_t>(there));
    std::vector<std::byte> read(3 * BounceBuffer::kBytes, std::byte{0xaa});
    EXPECT_EQ(stage_.move(Direction::read, read, 0, file_).result, static_cast<ssize_t>(there));
    EXPECT_EQ(read[there - 1], data[there - 1]);
    EXPECT_EQ(read[there], std::byte{0xaa});
    EXPECT_EQ(stage_.move(Direction::read, read, static_cast<Offset>(there), file_).result, 0);
}

TEST_F(ThroughBounceBuffer, InaccessibleMemoryIsAnErrorAndNoSignal) {
    const std::size_t bytes = 4 * BounceBuffer::kBytes;
    ASSERT_EQ(::ftruncate(file_, static_cast<off_t>(bytes)), 0);
    void* const memory = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    const std::span data(static_cast<std::byte*>(memory), bytes);
    for (const Direction direction : {Direction::read, Direction::write}) {
        errno = 0;
        EXPECT_EQ(stage_.move(direction, data, 0, file_).result, -1);
        EXPECT_EQ(errno, EFAULT);
    }
    ::munmap(memory, bytes);
}

TEST_F(ThroughBounceBuffer, ReportsTheErrnoOfAFailure) {
    std::vector<std::byte> data(BounceBuffer::kLeast);
    EXPECT_EQ(stage_.move(Direction::write, data, 0, -1).error_number, EBADF);
    EXPECT_EQ(stage_.move(Direction::read, data, 0, -1).error_number, EBADF);
}

TEST_F(ThroughBounceBuffer, AWriteToAFullDeviceReportsTheWrittenBytes) {
    constexpr std::size_t kRoom = BounceBuffer::kBytes + 1000;
    const auto end = [](int file, std::size_t room, BounceBuffer& stage) {
        const rlimit most{room, room};
        std::vector<std::byte> data = pattern(3 * BounceBuffer::kBytes);
        if (::signal(SIGXFSZ, SIG_IGN) == SIG_ERR || ::setrlimit(RLIMIT_FSIZE, &most) != 0)
            return 1;
        if (stage.move(Direction::write, data, 0, file).result != static_cast<std::int64_t>(room))
            return 2;
        std::vector<std::byte> there(room);
        if (::pread(file, there.data(), room, 0) != static_cast<ssize_t>(room)) return 3;
        if (!std::equal(there.begin(), there.end(), data.begin())) return 4;
        const auto rest = std::span(data).subspan(room);
        const Answer more = stage.move(Direction::write, rest, static_cast<Offset>(room), file);
        return more.error_number == EFBIG ? 0 : 5;
    };
    // The limit on the file size applies to a process, so that a child sets it.
    EXPECT_EXIT(std::exit(end(file_, kRoom, stage_)), ::testing::ExitedWithCode(0), "");
}

TEST_F(ThroughBounceBuffer, IsForLongPiecesThatGoCloseBehindWhereTheyComeFrom) {
    std::vector<std::byte> memory(3 * kPage + BounceBuffer::kLeast);
    std::byte* const page = memory.data() + (kPage - place_of(memory.data()) % kPage) % kPage;
    const auto better = [&](Direction direction, std::size_t at, std::size_t bytes, Offset offset) {
        return BounceBuffer::is_better(direction, {page + at, bytes}, offset);
    };
    const bool slow = is_slow_close_behind();
    EXPECT_EQ(better(Direction::read, 16, BounceBuffer::kLeast, 8 * kPage), slow)
        << "as malloc gives it";
    EXPECT_FALSE(better(Direction::read, 16, BounceBuffer::kLeast - 1, 8 * kPage));
    EXPECT_FALSE(better(Direction::read, 0, BounceBuffer::kLeast, 8 * kPage));
    EXPECT_FALSE(better(Direction::write, 16, BounceBuffer::kLeast, 8 * kPage));
    EXPECT_EQ(better(Direction::write, 16, BounceBuffer::kLeast, 8 * kPage + 20), slow)
        << "behind a head";
}

}  // namespace
}  // namespace oratorio::test::bounce_buffer_test
