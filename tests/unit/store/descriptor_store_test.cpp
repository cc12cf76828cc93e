// SPDX-License-Identifier: BSD-3-Clause
// Behaviour that only stores over a file descriptor have: opening, permissions, real locks.
#include "store/descriptor_store.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "store/transfer.hpp"
#include "support/forbidden_calls.hpp"
#include "support/temporary_folder.hpp"

namespace oratorio::test::descriptor_store_test {
namespace {

constexpr OpenMode kReadWrite{.read = true, .write = true, .create = true};

class DescriptorStoreTest : public testing::Test {
  protected:
    [[nodiscard]] std::string path() const { return folder_.file("data"); }
    void make(std::string_view text) {
        auto store = open_posix(path(), kReadWrite);
        ASSERT_TRUE(store.ok());
        std::vector<std::byte> bytes(text.size());
        std::memcpy(bytes.data(), text.data(), text.size());
        ASSERT_EQ(transfer(**store, Direction::write, 0, bytes).bytes,
                  static_cast<Bytes>(text.size()));
    }
    test::TemporaryFolder folder_;
};

TEST_F(DescriptorStoreTest, opening_what_is_not_there_fails_unless_it_is_created) {
    EXPECT_EQ(open_posix(path(), {.read = true}).error().kind, ErrorKind::no_such_file);
    EXPECT_TRUE(open_posix(path(), {.read = true, .write = true, .create = true}).ok());
    EXPECT_TRUE(open_posix(path(), {.read = true}).ok());
}

TEST_F(DescriptorStoreTest, exclusive_creation_fails_when_the_file_is_there) {
    const OpenMode mode{.write = true, .create = true, .exclusive = true};
    EXPECT_TRUE(open_posix(path(), mode).ok());
    EXPECT_EQ(open_posix(path(), mode).error().kind, ErrorKind::file_exists);
}

TEST_F(DescriptorStoreTest, names_that_cannot_be_files_are_bad_files) {
    EXPECT_EQ(open_posix(folder_.path(), {.read = true}).error().kind, ErrorKind::bad_file);
    EXPECT_EQ(open_posix(folder_.path(), kReadWrite).error().kind, ErrorKind::bad_file);
    EXPECT_EQ(open_posix(folder_.file(std::string(300, 'x')), kReadWrite).error().kind,
              ErrorKind::bad_file);
    make("x");
    EXPECT_EQ(open_posix(path() + "/below", kReadWrite).error().kind, ErrorKind::bad_file);
}

TEST_F(DescriptorStoreTest, a_new_file_has_the_requested_permissions_less_the_umask) {
    const mode_t before = ::umask(022);
    EXPECT_TRUE(open_posix(path(), {.write = true, .create = true, .permissions = 0662}).ok());
    ::umask(before);
    struct stat status {};
    ASSERT_EQ(::stat(path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST_F(DescriptorStoreTest, a_child_program_does_not_inherit_the_file) {
    auto file = open_descriptor(path(), kReadWrite);
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(::fcntl(file->number(), F_GETFD) & FD_CLOEXEC);
}

TEST_F(DescriptorStoreTest, closing_tells_an_error) {
    auto file = open_descriptor(path(), kReadWrite);
    ASSERT_TRUE(file.ok());
    ::close(file->number());
    const auto closed = file->close();
    ASSERT_FALSE(closed.ok());
    EXPECT_EQ(closed.error().system_errno, EBADF);
}

TEST_F(DescriptorStoreTest, a_full_device_is_no_space_with_nothing_moved) {
    auto store = open_posix("/dev/full", {.write = true});
    if (!store.ok()) GTEST_SKIP() << "no /dev/full here";
    std::vector<std::byte> bytes(100);
    const auto done = transfer(**store, Direction::write, 0, bytes);
    EXPECT_EQ(done.error.kind, ErrorKind::no_space);
    EXPECT_EQ(done.bytes, 0);
}

TEST_F(DescriptorStoreTest, limits_come_from_the_system) {
    auto store = open_posix(path(), kReadWrite);
    ASSERT_TRUE(store.ok());
    struct stat status {};
    ASSERT_EQ(::stat(path().c_str(), &status), 0);
    EXPECT_EQ((*store)->limits().block_bytes, status.st_blksize);
    EXPECT_EQ((*store)->limits().iovecs_max, ::sysconf(_SC_IOV_MAX));
}

TEST_F(DescriptorStoreTest, an_exclusive_lock_excludes_others_until_its_release) {
    auto mine = open_posix(path(), kReadWrite);
    auto theirs = open_posix(path(), kReadWrite);
    ASSERT_TRUE(mine.ok() && theirs.ok());
    ASSERT_TRUE((*mine)->lock({0, 100}, true, true).ok());
    EXPECT_TRUE((*theirs)->lock({100, 200}, true, true).ok());  // another range does not conflict
    std::atomic<bool> released = false;
    std::thread other([&] {
        EXPECT_TRUE((*theirs)->lock({50, 60}, true, false).ok());
        EXPECT_TRUE(released);
    });
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    released = true;
    EXPECT_TRUE((*mine)->lock({0, 100}, false, false).ok());
    other.join();
}

TEST_F(DescriptorStoreTest, shared_locks_are_shared) {
    auto mine = open_posix(path(), kReadWrite);
    auto theirs = open_posix(path(), kReadWrite);
    ASSERT_TRUE(mine.ok() && theirs.ok());
    EXPECT_TRUE((*mine)->lock({0, 100}, true, false).ok());
    EXPECT_TRUE((*theirs)->lock({0, 100}, true, false).ok());
}

TEST_F(DescriptorStoreTest, remove_file_removes_or_reports_the_reason) {
    make("x");
    EXPECT_TRUE(remove_file(path()).ok());
    EXPECT_EQ(remove_file(path()).error().kind, ErrorKind::no_such_file);
    EXPECT_EQ(remove_file(folder_.path()).error().kind, ErrorKind::bad_file);
}

TEST_F(DescriptorStoreTest, uring_is_unsupported_without_a_ring) {
    bool forbidden = false;
    Error error;
    std::thread([&] {
        forbidden = test::forbid({SYS_io_uring_setup}, EPERM);
        const auto opened = open_uring(path(), kReadWrite, 4);
        if (!opened.ok()) error = opened.error();
    }).join();
    if (!forbidden) GTEST_SKIP() << "this kernel has no system call filters";
    EXPECT_EQ(error.kind, ErrorKind::unsupported_operation);
    EXPECT_EQ(error.system_errno, EPERM);
}

TEST_F(DescriptorStoreTest, posix_can_create_the_file_after_uring_is_refused) {
    OpenMode mode = kReadWrite;
    mode.exclusive = true;
    const std::string fresh = path() + ".fresh";
    bool forbidden = false, made = false;
    std::thread([&] {
        forbidden = test::forbid({SYS_io_uring_setup}, EPERM);
        (void)open_uring(fresh, mode, 4);
        made = open_posix(fresh, mode).ok();
    }).join();
    if (!forbidden) GTEST_SKIP() << "this kernel has no system call filters";
    EXPECT_TRUE(made);
}

TEST_F(DescriptorStoreTest, uring_refuses_what_posix_refuses) {
    const auto made = open_uring(path() + "-other", {.write = true, .create = true}, 4);
    if (!made.ok()) GTEST_SKIP() << "this kernel provides no io_uring";
    EXPECT_EQ(open_uring(path(), {.read = true}, 4).error().kind, ErrorKind::no_such_file);
    EXPECT_EQ(open_uring(folder_.path(), {.read = true}, 4).error().kind, ErrorKind::bad_file);
}

}  // namespace
}  // namespace oratorio::test::descriptor_store_test
