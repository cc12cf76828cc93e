// SPDX-License-Identifier: BSD-3-Clause
// Sandboxes that forbid some system calls, from the beginning or from some later time on.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cerrno>

#include "store/allocate.hpp"
#include "store/transfer.hpp"
#include "support/forbidden_calls.hpp"
#include "support/random.hpp"
#include "support/temporary_folder.hpp"

namespace oratorio::test::sandbox_test {
namespace {

using test::random_bytes;

constexpr OpenMode kReadWrite{.read = true, .write = true, .create = true};

/// Returns pieces that cover all of `bytes`.
std::vector<iovec> pieces_of(std::span<std::byte> bytes) {
    std::vector<iovec> pieces;
    for (std::size_t at = 0, length = 1; at < bytes.size();
         at += length, length = length % 97 + 3) {
        length = std::min(length, bytes.size() - at);
        pieces.push_back({bytes.data() + at, length});
    }
    return pieces;
}

/// Writes and reads scattered memory and contiguous memory, and expects the right bytes.
void moves_bytes(Store& store) {
    auto bytes = random_bytes(10'000, 1);
    const auto wrote = transfer(store, nullptr, Direction::write, 3, pieces_of(bytes));
    EXPECT_EQ(wrote.bytes, 10'000) << describe(wrote.error, "");
    std::vector<std::byte> back(20'000);
    const auto read = transfer(store, nullptr, Direction::read, 3, pieces_of(back));
    EXPECT_EQ(read.bytes, 10'000) << describe(read.error, "");
    back.resize(10'000);
    EXPECT_EQ(back, bytes);
    std::vector<std::byte> whole(10'000);
    EXPECT_EQ(transfer(store, Direction::read, 3, whole).bytes, 10'000);
    EXPECT_EQ(whole, bytes);
}

TEST(Sandbox, ScatteredMemoryIsMovedPieceByPieceWhereListsAreForbidden) {
    for (const int number : {ENOSYS, EPERM}) {
        test::in_sandbox([number] {
            if (!test::forbid({SYS_preadv, SYS_pwritev, SYS_preadv2, SYS_pwritev2}, number)) return;
            const test::TemporaryFolder folder;
            auto store = open_posix(folder.file("data"), kReadWrite);
            ASSERT_TRUE(store.ok());
            moves_bytes(**store);
        });
    }
}

TEST(Sandbox, OneThatForbidsAllTransfersIsAnError) {
    test::in_sandbox([] {
        if (!test::forbid({SYS_preadv, SYS_pwritev, SYS_pread64, SYS_pwrite64}, EPERM)) return;
        const test::TemporaryFolder folder;
        auto store = open_posix(folder.file("data"), kReadWrite);
        ASSERT_TRUE(store.ok());
        auto bytes = random_bytes(100, 1);
        const auto done = transfer(**store, nullptr, Direction::write, 0, pieces_of(bytes));
        EXPECT_EQ(done.error.kind, ErrorKind::access);
        EXPECT_EQ(done.bytes, 0);
    });
}

TEST(Sandbox, ARingThatIsForbiddenAfterTheOpenIsReplacedByCalls) {
    for (const int number : {EPERM, ENOSYS}) {
        test::in_sandbox([number] {
            const test::TemporaryFolder folder;
            auto store = open_uring(folder.file("data"), kReadWrite, 4);
            if (!store) return;  // this kernel has no io_uring
            moves_bytes(**store);
            if (!test::forbid({SYS_io_uring_enter}, number)) return;
            moves_bytes(**store);
            EXPECT_NE((*store)->limits().remark.find("io_uring"), std::string::npos);
            EXPECT_TRUE((*store)->close().ok());
        });
    }
}

TEST(Sandbox, ARequestThatFailsByARingAndByACallIsAnError) {
    const test::TemporaryFolder folder;
    auto store = open_uring(folder.file("data"), kReadWrite, 4);
    if (!store) GTEST_SKIP() << "this kernel provides no io_uring";
    auto bytes = random_bytes(100, 1);
    ASSERT_EQ(transfer(**store, Direction::write, 0, bytes).bytes, 100);
    const iovec nowhere{reinterpret_cast<void*>(8), 100};
    const auto done = transfer(**store, nullptr, Direction::read, 0, std::span(&nowhere, 1));
    EXPECT_EQ(done.error.kind, ErrorKind::buffer);
}

TEST(Sandbox, AllocatesByWritingIfFallocateIsForbidden) {
    for (const int number : {ENOSYS, EPERM, EOPNOTSUPP}) {
        test::in_sandbox([number] {
            if (!test::forbid({SYS_fallocate}, number)) return;
            const test::TemporaryFolder folder;
            auto store = open_posix(folder.file("data"), kReadWrite);
            ASSERT_TRUE(store.ok());
            const auto allocated = allocate(**store, 100'000, {});
            EXPECT_TRUE(allocated.ok()) << describe(allocated.error(), "");
            EXPECT_EQ(*(*store)->size(), 100'000);
            EXPECT_EQ((*store)->map({0, 200'000}, Direction::write, Populate::no).error().kind,
                      ErrorKind::unsupported_operation);
        });
    }
}

}  // namespace
}  // namespace oratorio::test::sandbox_test
