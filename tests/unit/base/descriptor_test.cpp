// SPDX-License-Identifier: BSD-3-Clause
// No descriptor of the library is ever that of standard input, output or error.
#include "base/descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "memory/shared_memory.hpp"
#include "net/served_counter.hpp"

namespace oratorio::test::descriptor_test {
namespace {

bool are_standard_ones_closed() {
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(number, F_GETFD) != -1) return false;
    return true;
}

/// Closes the three standard descriptors of a child process and runs `body` there. Ends the child
/// with the result of `body`, or with 99 if one of the three is open afterwards.
[[noreturn]] void without_standard_ones(const std::function<int()>& body) {
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(number);
    const int result = body();
    ::_exit(are_standard_ones_closed() ? result : 99);
}

#define EXPECT_SUCCESS_WITHOUT_STANDARD_ONES(...) \
    EXPECT_EXIT(without_standard_ones(__VA_ARGS__), testing::ExitedWithCode(0), "")

TEST(DescriptorDeathTest, AFileIsBehindTheStandardOnesAndClosedInPrograms) {
    EXPECT_SUCCESS_WITHOUT_STANDARD_ONES([] {
        const Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        const int flags = ::fcntl(file.number(), F_GETFD);
        return file.number() > STDERR_FILENO && (flags & FD_CLOEXEC) != 0 ? 0 : 1;
    });
}

TEST(DescriptorDeathTest, SocketsEventsAndSharedMemoryAreBehindTheStandardOnesToo) {
    EXPECT_SUCCESS_WITHOUT_STANDARD_ONES([] {
        const auto server = CounterServer::start();
        const auto memory = SharedMemory::create(4096);
        if (!server || !memory) return 1;
        return are_standard_ones_closed() ? 0 : 2;
    });
}

TEST(DescriptorDeathTest, WithoutAFreeNumberIsClosedAndErrnoKept) {
    EXPECT_SUCCESS_WITHOUT_STANDARD_ONES([] {
        const rlimit three{3, 3};
        ::setrlimit(RLIMIT_NOFILE, &three);
        const Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        return file.number() == -1 && (errno == EMFILE || errno == EINVAL) ? 0 : 1;
    });
}

TEST(Descriptor, KeepsTheErrorOfTheCallThatFailed) {
    errno = 0;
    const Descriptor file(::open("/nowhere/at/all", O_RDONLY));
    EXPECT_EQ(file.number(), -1);
    EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace oratorio::test::descriptor_test
