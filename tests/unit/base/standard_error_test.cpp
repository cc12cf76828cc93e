// SPDX-License-Identifier: BSD-3-Clause
// Messages reach the standard error with which the process was started, and no other file.
#include "base/standard_error.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>

#include "base/helper_thread.hpp"
#include "base/small_file.hpp"
#include "support/temporary_folder.hpp"

namespace oratorio::test::standard_error_test {
namespace {

// Environment variable with the path of the file that replaces standard error in the program below.
constexpr const char* kFile = "ORATORIO_TEST_FILE";

/// Replaces standard error by the file that kFile names, if it names one.
void replace_standard_error() {
    const char* const path = std::getenv(kFile);
    if (path == nullptr) return;
    ::close(STDERR_FILENO);
    ASSERT_EQ(::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), STDERR_FILENO);
}

// The tests start this program in a process of its own.
TEST(StandardErrorProgram, DISABLED_WritesAMessage) {
    replace_standard_error();
    write_to_standard_error("a message\n");
}

/// Starts this program once more, after `prepare` has changed descriptor 2. Returns the program's
/// wait status.
int run_program(const std::string& file, const std::function<void()>& prepare) {
    const pid_t child = ::fork();
    if (child == 0) {
        prepare();
        if (!file.empty()) ::setenv(kFile, file.c_str(), 1);
        ::execl("/proc/self/exe", "program", "--gtest_also_run_disabled_tests",
                "--gtest_filter=StandardErrorProgram.*", "--gtest_output=", nullptr);
        ::_exit(127);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
}

std::string contents(const std::string& path) {
    const auto text = read_small_file(path);
    return text ? *text : "unreadable";
}

TEST(StandardError, IsWrittenTo) {
    const test::TemporaryFolder folder;
    const std::string log = folder.file("log");
    const int status = run_program("", [&] {
        ::close(STDERR_FILENO);
        ::open(log.c_str(), O_WRONLY | O_CREAT, 0600);
    });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(contents(log), "a message\n");
}

TEST(StandardError, IsTheOriginalEvenIfTheProgramReplacedIt) {
    const test::TemporaryFolder folder;
    const std::string log = folder.file("log");
    const int status = run_program(folder.file("data"), [&] {
        ::close(STDERR_FILENO);
        ::open(log.c_str(), O_WRONLY | O_CREAT, 0600);
    });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(contents(folder.file("data")), "");
    EXPECT_EQ(contents(log), "a message\n");
}

TEST(StandardError, IsNowhereForAProgramThatWasStartedWithoutIt) {
    const test::TemporaryFolder folder;
    const int status = run_program(folder.file("data"), [] { ::close(STDERR_FILENO); });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(contents(folder.file("data")), "");
}

TEST(StandardError, WithoutAReaderIsNoSignal) {
    const int status = run_program("", [] {
        std::signal(SIGPIPE, SIG_DFL);
        std::array<int, 2> pipe{};
        if (::pipe(pipe.data()) != 0) ::_exit(126);
        ::dup2(pipe[1], STDERR_FILENO);
        ::close(pipe[0]);
        ::close(pipe[1]);
    });
    EXPECT_EQ(status, 0);
}

TEST(StandardError, AtTheLimitOfAFilesSizeIsNoSignal) {
    const TemporaryFolder folder;
    const int status = run_program("", [&] {
        std::signal(SIGXFSZ, SIG_DFL);
        const rlimit none{.rlim_cur = 0, .rlim_max = 0};
        const int file = ::open(folder.file("full").c_str(), O_WRONLY | O_CREAT, 0600);
        if (file < 0 || ::setrlimit(RLIMIT_FSIZE, &none) != 0) ::_exit(126);
        ::dup2(file, STDERR_FILENO);
    });
    EXPECT_EQ(status, 0);
}

TEST(StandardError, LeavesASignalThatTheProgramHasBlockedAndNotYetTaken) {
    sigset_t one;
    sigset_t before;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &one, &before), 0);
    ::raise(SIGPIPE);
    {
        const SignalsBlocked blocked;
        blocked.discard_signal_of(EPIPE);
    }
    const timespec at_once{};
    EXPECT_EQ(::sigtimedwait(&one, nullptr, &at_once), SIGPIPE);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace oratorio::test::standard_error_test
