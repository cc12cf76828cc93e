// SPDX-License-Identifier: BSD-3-Clause
#include "base/small_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "base/descriptor.hpp"
#include "support/temporary_folder.hpp"

namespace oratorio::test::small_file_test {
namespace {

int errno_of(const Result<void>& result) {
    return result ? 0 : result.error().system_errno;
}

TEST(SmallFile, reads_a_regular_file_and_treats_a_missing_one_as_empty) {
    const TemporaryFolder folder;
    const std::string text(70'000, 'x');
    folder.make("long", text + std::string(1, '\0') + "end");
    EXPECT_EQ(*read_small_file(folder.file("long")), text + std::string(1, '\0') + "end");
    EXPECT_EQ(*read_small_file(folder.file("none")), "");
    EXPECT_EQ(*read_small_file(folder.file("long") + "/none"), "");
    EXPECT_NE(*read_small_file("/proc/self/status"), "") << "its reported length is 0";
}

TEST(SmallFile, folders_pipes_and_devices_are_errors_at_once) {
    const TemporaryFolder folder;
    ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);
    ASSERT_EQ(::mkdir(folder.file("folder").c_str(), 0700), 0);
    for (const std::string& path :
         {folder.file("fifo"), folder.file("folder"), std::string("/dev/zero")}) {
        const auto text = read_small_file(path);
        ASSERT_FALSE(text.ok()) << path;
        EXPECT_EQ(text.error().kind, ErrorKind::bad_file) << path;
    }
}

TEST(SmallFile, more_than_a_mebibyte_is_an_error) {
    const TemporaryFolder folder;
    const std::string most(kSmallFile, 'x');
    folder.make("most", most);
    folder.make("more", most + "x");
    EXPECT_EQ(*read_small_file(folder.file("most")), most);
    EXPECT_EQ(read_small_file(folder.file("more")).error().kind, ErrorKind::bad_file);
}

TEST(SmallFile, text_is_added_at_the_end_of_a_file_that_is_made_if_need_be) {
    const TemporaryFolder folder;
    EXPECT_TRUE(append_to_file(folder.file("told"), "one\n").ok());
    EXPECT_TRUE(append_to_file(folder.file("told"), "two\n").ok());
    EXPECT_EQ(folder.read("told"), "one\ntwo\n");
    EXPECT_EQ(errno_of(append_to_file(folder.path(), "one\n")), EISDIR);
    EXPECT_EQ(errno_of(append_to_file(folder.file("none/told"), "one\n")), ENOENT);
    EXPECT_EQ(errno_of(append_to_file("/dev/full", "one\n")), ENOSPC);
}

/// SIGXFSZ would end the test.
TEST(SmallFile, a_file_at_the_limit_of_its_size_is_an_error_without_a_signal) {
    const TemporaryFolder folder;
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit most{.rlim_cur = 4, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &most), 0);
    const int first = errno_of(append_to_file(folder.file("told"), "one\n"));
    const int second = errno_of(append_to_file(folder.file("told"), "two\n"));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(first, 0);
    EXPECT_EQ(second, EFBIG);
}

TEST(SmallFile, a_pipe_takes_text_as_far_as_it_is_read) {
    const TemporaryFolder folder;
    const std::string path = folder.file("fifo");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(errno_of(append_to_file(path, "lost\n")), ENXIO) << "no process reads";
    const Descriptor reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    const Descriptor writer(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    EXPECT_TRUE(append_to_file(path, "told\n").ok());
    char told[8] = {};
    EXPECT_EQ(::read(reader.number(), told, sizeof told), 5);
    EXPECT_STREQ(told, "told\n");
    const std::string much(1 << 20, 'x');
    EXPECT_EQ(errno_of(append_to_file(path, much)), EAGAIN) << "the pipe is full";
}

TEST(SmallFile, a_vanished_reader_does_not_end_the_process) {
    const TemporaryFolder folder;
    const std::string path = folder.file("fifo");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    Descriptor reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    std::thread goes([&] {
        char some[1024];
        while (::read(reader.number(), some, sizeof some) <= 0) std::this_thread::yield();
        (void)reader.close();
    });
    const std::string much(1 << 20, 'x');
    EXPECT_EQ(errno_of(append_to_file(path, much)), EPIPE);
    goes.join();
    sigset_t pending;
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

}  // namespace
}  // namespace oratorio::test::small_file_test
