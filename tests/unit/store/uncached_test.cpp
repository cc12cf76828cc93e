// SPDX-License-Identifier: BSD-3-Clause
// The uncached store: with direct I/O, and with pages where direct I/O is refused.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "store/descriptor_store.hpp"
#include "store/transfer.hpp"
#include "support/forbidden_calls.hpp"
#include "support/random.hpp"
#include "support/temporary_folder.hpp"

namespace oratorio::test::uncached_test {
namespace {

using test::random_bytes;

constexpr OpenMode kReadWrite{.read = true, .write = true, .create = true};

// Makes opening a file for direct I/O fail, for the calling thread only.
bool forbid_direct() {
    return test::forbid({SYS_openat}, EINVAL,
                        test::ArgumentTest{.argument = 2, .compare = BPF_JSET, .value = O_DIRECT});
}

class UncachedTest : public testing::Test {
  protected:
    [[nodiscard]] std::string path() const { return folder_.file("data"); }
    test::TemporaryFolder folder_;
};

void keeps_ragged_bytes(Store& store, const std::string& path) {
    auto bytes = random_bytes(10'001, 1);
    ASSERT_EQ(transfer(store, Direction::write, 3, bytes).bytes, 10'001);
    std::vector<std::byte> back(20'000);
    ASSERT_EQ(transfer(store, Direction::read, 3, back).bytes, 10'001);
    back.resize(10'001);
    EXPECT_EQ(back, bytes);
    auto other = open_posix(path, {.read = true});
    ASSERT_TRUE(other.ok());
    ASSERT_EQ(transfer(**other, Direction::read, 3, back).bytes, 10'001);
    EXPECT_EQ(back, bytes);
}

// A file that is only read can't be flushed on some file systems, such as /proc.
TEST_F(UncachedTest, a_file_that_cannot_be_flushed_can_be_read) {
    const std::string name = "/proc/self/status";
    const auto file = open_descriptor(name, {.read = true});
    ASSERT_TRUE(file.ok() && ::fsync(file->number()) != 0 && errno == EINVAL);
    auto store = open_uncached(name, {.read = true});
    ASSERT_TRUE(store.ok());
    EXPECT_TRUE((*store)->size().ok());
    std::vector<std::byte> start(5);
    ASSERT_EQ(transfer(**store, Direction::read, 0, start).bytes, 5);
    EXPECT_EQ(start.front(), std::byte{'N'});
}

TEST_F(UncachedTest, uses_pages_and_warns_if_direct_io_is_refused) {
    bool forbidden = false;
    std::thread([&] {
        forbidden = forbid_direct();
        if (!forbidden) return;
        auto store = open_uncached(path(), kReadWrite);
        ASSERT_TRUE(store.ok());
        EXPECT_NE((*store)->limits().remark.find("their own caches"), std::string::npos);
        keeps_ragged_bytes(**store, path());
    }).join();
    if (!forbidden) GTEST_SKIP() << "this kernel has no system call filters";
}

TEST_F(UncachedTest, with_pages_a_lock_behind_the_data_tells_the_client_to_send_bytes) {
    bool forbidden = false;
    std::thread([&] {
        forbidden = forbid_direct();
        if (!forbidden) return;
        auto store = open_uncached(path(), kReadWrite);
        auto other = open_uncached(path(), kReadWrite);
        ASSERT_TRUE(store.ok() && other.ok());  // both succeed, because the lock is shared
        auto file = open_descriptor(path(), kReadWrite);
        struct flock region {};
        region.l_type = F_WRLCK;
        region.l_start = Offset{1} << 62;
        ASSERT_EQ(::fcntl(file->number(), F_OFD_GETLK, &region), 0);
        EXPECT_EQ(region.l_type, F_RDLCK);
        EXPECT_EQ(region.l_len, 1);
    }).join();
    if (!forbidden) GTEST_SKIP() << "this kernel has no system call filters";
}

/// Returns the lock of another handle that keeps `file` from locking `range`; its l_type is F_UNLCK
/// if there is none.
struct flock lock_in_the_way(int file, int type, Extent range) {
    struct flock region {};
    region.l_type = static_cast<short>(type);
    region.l_start = range.begin;
    region.l_len = range.length();
    EXPECT_EQ(::fcntl(file, F_OFD_GETLK, &region), 0);
    return region;
}

// The system allows only exclusive locks on a write-only descriptor. Handles with such a lock on
// the same byte would wait for each other to close the file.
TEST_F(UncachedTest, with_pages_write_only_handles_hold_locks_that_keep_nobody_waiting) {
    bool forbidden = false;
    std::thread([&] {
        forbidden = forbid_direct();
        if (!forbidden) return;
        auto reader = open_uncached(path(), kReadWrite);
        const auto file = open_descriptor(path(), kReadWrite);
        const auto shared = lock_in_the_way(file->number(), F_WRLCK, {kOffsetLimit, INT64_MAX});
        const Extent shared_byte{shared.l_start, shared.l_start + shared.l_len};
        ASSERT_EQ(shared_byte.length(), 1);
        ASSERT_TRUE((*reader)->close().ok());
        auto store = open_uncached(path(), {.write = true});
        ASSERT_TRUE(store.ok());
        ASSERT_EQ(lock_in_the_way(file->number(), F_WRLCK, shared_byte).l_type, F_UNLCK);
        const auto own = lock_in_the_way(file->number(), F_WRLCK, {kOffsetLimit, INT64_MAX});
        EXPECT_EQ(own.l_type, F_WRLCK) << "a client sends bytes only while there is a lock";
        EXPECT_EQ(own.l_len, 1);
        auto other = open_uncached(path(), {.write = true});
        auto again = (*store)->duplicate();
        EXPECT_TRUE(other.ok() && again.ok());
    }).join();
    if (!forbidden) GTEST_SKIP() << "this kernel has no system call filters";
}

// A lock of a write-only handle would keep all other handles from locking any byte.
TEST_F(UncachedTest, a_write_only_handle_locks_nothing_where_locks_hold_whole_files) {
    bool forbidden = false;
    std::thread([&] {
        forbidden = forbid_direct();
        if (!forbidden) return;
        const auto file = open_descriptor(path(), kReadWrite);
        for (const bool whole : {false, true}) {
            auto store = open_uncached(
                path(), {.write = true, .known = FileKind{.whole_file_locks = whole}});
            ASSERT_TRUE(store.ok());
            const auto found = lock_in_the_way(file->number(), F_WRLCK, {kOffsetLimit, INT64_MAX});
            EXPECT_EQ(found.l_type, whole ? F_UNLCK : F_WRLCK);
        }
    }).join();
    if (!forbidden) GTEST_SKIP() << "this kernel has no system call filters";
}

TEST_F(UncachedTest, a_file_that_is_not_there_is_not_made_by_the_second_try) {
    EXPECT_EQ(open_uncached(path(), {.read = true, .write = true}).error().kind,
              ErrorKind::no_such_file);
    const OpenMode exclusive{.write = true, .create = true, .exclusive = true};
    EXPECT_TRUE(open_uncached(path(), exclusive).ok());
    EXPECT_EQ(open_uncached(path(), exclusive).error().kind, ErrorKind::file_exists);
}

TEST_F(UncachedTest, pieces_of_memory_are_one_request) {
    auto store = open_uncached(path(), kReadWrite);
    ASSERT_TRUE(store.ok());
    auto bytes = random_bytes(3'000, 1);
    std::vector<iovec> pieces;
    for (std::size_t i = 0; i < 300; ++i) pieces.push_back({bytes.data() + i * 10, 10});
    ASSERT_EQ((*store)->submit({Direction::write, 1, pieces, 5}), Submitted::done);
    IoCompletion done;
    ASSERT_EQ((*store)->reap(std::span(&done, 1), true), 1U);
    EXPECT_EQ(done.bytes, 3'000);
    std::vector<std::byte> back(3'000);
    for (std::size_t i = 0; i < 300; ++i) pieces[i].iov_base = back.data() + i * 10;
    ASSERT_EQ((*store)->submit({Direction::read, 1, pieces, 6}), Submitted::done);
    ASSERT_EQ((*store)->reap(std::span(&done, 1), true), 1U);
    EXPECT_EQ(done.bytes, 3'000);
    EXPECT_EQ(back, bytes);
}

TEST_F(UncachedTest, can_not_be_mapped) {
    auto store = open_uncached(path(), kReadWrite);
    ASSERT_TRUE(store.ok());
    EXPECT_FALSE((*store)->limits().mappable);
    EXPECT_EQ((*store)->map({0, 10}, Direction::write, Populate::no).error().kind,
              ErrorKind::unsupported_operation);
}

}  // namespace
}  // namespace oratorio::test::uncached_test
