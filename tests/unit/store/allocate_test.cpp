// SPDX-License-Identifier: BSD-3-Clause
// Allocating storage for files on file systems that have no call for it.
#include "store/allocate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "store/transfer.hpp"
#include "support/memory_store.hpp"

namespace oratorio::test::allocate_test {
namespace {

constexpr Bytes kSize = 1'000'000;
constexpr Offset kMark = 600'000;

void mark(MemoryDisk& disk, Offset offset, std::byte value) {
    disk.write(offset, std::vector{value});
}

std::vector<std::byte> zeros_but(Bytes size, Offset offset, std::byte value) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    bytes[static_cast<std::size_t>(offset)] = value;
    return bytes;
}

TEST(Allocate, ByWritingKeepsDataAndFillsTheRest) {
    MemoryDisk disk;
    mark(disk, kMark, std::byte{7});
    MemoryStore store(disk, {.resize_errno = EOPNOTSUPP});
    ASSERT_TRUE(allocate(store, kSize, {}).ok());
    EXPECT_EQ(disk.contents(), zeros_but(kSize, kMark, std::byte{7}));
    EXPECT_EQ(disk.counters().bytes_written, kSize);
    EXPECT_EQ(disk.counters().syncs, 1u);
}

TEST(Allocate, WritesNothingWhereTheFileSystemAllocates) {
    MemoryDisk disk;
    MemoryStore store(disk);
    ASSERT_TRUE(allocate(store, kSize, {.may_fill = false}).ok());
    EXPECT_EQ(disk.size(), kSize);
    EXPECT_EQ(disk.counters().bytes_written, 0u);
    EXPECT_EQ(disk.counters().locks, 0u);
}

TEST(Allocate, ByWritingNeverShrinksEvenUnreadableFiles) {
    MemoryDisk disk;
    mark(disk, 4, std::byte{7});
    MemoryStore store(disk, {.mode = {.write = true}, .resize_errno = ENOSYS});
    ASSERT_TRUE(allocate(store, 3, {.readable = false}).ok());
    EXPECT_EQ(disk.contents(), zeros_but(5, 4, std::byte{7}));
    ASSERT_TRUE(allocate(store, 8, {.readable = false}).ok());
    EXPECT_EQ(disk.contents(), zeros_but(8, 4, std::byte{7}));
}

TEST(Allocate, ReadsOnlyAfterConcurrentWritersHaveFinished) {
    MemoryDisk disk;
    MemoryStore other(disk);
    ASSERT_TRUE(other.lock({kMark, kMark + 1}, true, false).ok());
    MemoryStore store(disk, {.resize_errno = EOPNOTSUPP}, [&] {
        mark(disk, kMark, std::byte{9});
        EXPECT_TRUE(other.lock({kMark, kMark + 1}, false, false).ok());
    });
    ASSERT_TRUE(allocate(store, kSize, {}).ok());
    EXPECT_EQ(disk.contents(), zeros_but(kSize, kMark, std::byte{9}));
}

TEST(Allocate, AppendsOnlyAfterConcurrentWritersHaveFinished) {
    MemoryDisk disk;
    MemoryStore other(disk);
    ASSERT_TRUE(other.lock({kMark, kMark + 1}, true, false).ok());
    MemoryStore store(disk, {.mode = {.write = true}, .resize_errno = EOPNOTSUPP}, [&] {
        mark(disk, kMark, std::byte{9});
        EXPECT_TRUE(other.lock({kMark, kMark + 1}, false, false).ok());
    });
    ASSERT_TRUE(allocate(store, kSize, {.readable = false}).ok());
    EXPECT_EQ(disk.contents(), zeros_but(kSize, kMark, std::byte{9}));
}

TEST(Allocate, ByWritingIsRefusedIfOthersWriteWithoutLocks) {
    MemoryDisk disk;
    mark(disk, 4, std::byte{7});
    MemoryStore store(disk, {.resize_errno = EOPNOTSUPP});
    EXPECT_EQ(allocate(store, kSize, {.may_fill = false}).error().kind,
              ErrorKind::unsupported_operation);
    EXPECT_EQ(disk.contents(), zeros_but(5, 4, std::byte{7}));
}

TEST(Allocate, ErrorsNameThePlace) {
    for (const bool readable : {true, false}) {
        MemoryDisk disk(kMark);
        MemoryStore store(disk, {.resize_errno = EOPNOTSUPP});
        const auto allocated = allocate(store, kSize, {.readable = readable});
        EXPECT_EQ(allocated.error().kind, ErrorKind::no_space);
        EXPECT_EQ(allocated.error().offset, kMark);
        MemoryStore other(disk);
        EXPECT_TRUE(other.lock({0, kSize}, true, true).ok()) << "no lock is left behind";
    }
}

}  // namespace
}  // namespace oratorio::test::allocate_test
