// SPDX-License-Identifier: BSD-3-Clause
// Bus errors are handled only inside guarded memory, and only while the memory is guarded.
#include "store/bus_error.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>
#include <vector>

namespace oratorio::test::bus_error_test {
namespace {

// Mapped pages past the end of a file; touching one is a bus error.
class BadPages {
  public:
    BadPages() {
        const int file = ::memfd_create("empty", MFD_CLOEXEC);
        memory_ = static_cast<std::byte*>(
            ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
        ::close(file);
    }
    ~BadPages() { ::munmap(memory_, kBytes); }
    BadPages(const BadPages&) = delete;
    BadPages& operator=(const BadPages&) = delete;
    [[nodiscard]] std::span<std::byte> bytes() const { return {memory_, kBytes}; }

  private:
    static constexpr std::size_t kBytes = 1 << 16;
    std::byte* memory_;
};

void touch(std::byte* at) {
    *static_cast<volatile std::byte*>(at) = std::byte{1};
}

template <class Body>
std::byte* caught(std::span<std::byte> memory, Body body) {
    return catch_bus_error(memory,
                           {[](void* argument) { (*static_cast<Body*>(argument))(); }, &body});
}

void leave_with_42(int) {
    ::_exit(42);
}

// A fixture that restores the default handler, because a sanitizer installs a handler of its own.
class BusError : public testing::Test {
  protected:
    BusError() { std::signal(SIGBUS, SIG_DFL); }
};
using BusErrorDeathTest = BusError;

void expect_default_handler() {
    struct sigaction now {};
    ASSERT_EQ(::sigaction(SIGBUS, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST_F(BusError, a_fault_inside_ends_the_call_and_tells_the_address) {
    const BadPages bad;
    std::byte* const at = bad.bytes().data() + 5'000;
    volatile bool before = false;
    volatile bool after = false;
    EXPECT_EQ(caught(bad.bytes(),
                     [&] {
                         before = true;
                         touch(at);
                         after = true;
                     }),
              at);
    EXPECT_TRUE(before);
    EXPECT_FALSE(after);
    expect_default_handler();
}

TEST_F(BusError, faults_are_caught_repeatedly_and_never_reported_without_one) {
    const BadPages bad;
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(caught(bad.bytes(), [&] { touch(bad.bytes().data() + i); }),
                  bad.bytes().data() + i);
        EXPECT_EQ(caught(bad.bytes(), [] {}), nullptr);
    }
}

TEST_F(BusError, calls_nest) {
    const BadPages outer;
    const BadPages inner;
    std::byte* in_inner = nullptr;
    std::byte* const in_outer = caught(outer.bytes(), [&] {
        in_inner = caught(inner.bytes(), [&] { touch(inner.bytes().data()); });
        touch(outer.bytes().data() + 7);
    });
    EXPECT_EQ(in_inner, inner.bytes().data());
    EXPECT_EQ(in_outer, outer.bytes().data() + 7);
}

TEST_F(BusError, threads_catch_their_own_at_once) {
    std::vector<std::thread> threads;
    std::array<int, 8> right{};
    for (std::size_t number = 0; number < right.size(); ++number) {
        threads.emplace_back([&right, number] {
            const BadPages bad;
            for (int i = 0; i < 500; ++i) {
                std::byte* const at = bad.bytes().data() + i;
                if (caught(bad.bytes(), [&] { touch(at); }) == at) ++right[number];
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const int count : right) EXPECT_EQ(count, 500);
    expect_default_handler();
}

TEST_F(BusErrorDeathTest, a_fault_is_caught_in_a_thread_that_blocks_all_signals) {
    const BadPages bad;
    EXPECT_EXIT(
        {
            sigset_t all;
            sigfillset(&all);
            ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
            std::byte* const at = bad.bytes().data() + 8;
            const bool right = caught(bad.bytes(), [&] { touch(at); }) == at;
            sigset_t now;
            ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
            ::_exit(right && sigismember(&now, SIGBUS) == 1 ? 7 : 8);
        },
        testing::ExitedWithCode(7), "");
}

TEST_F(BusErrorDeathTest, a_fault_elsewhere_goes_to_the_handler_of_the_program) {
    const BadPages ours;
    const BadPages theirs;
    EXPECT_EXIT(
        {
            std::signal(SIGBUS, leave_with_42);
            (void)caught(ours.bytes(), [&] { touch(theirs.bytes().data()); });
        },
        testing::ExitedWithCode(42), "");
}

TEST_F(BusErrorDeathTest, a_fault_in_another_thread_goes_to_the_handler_of_the_program) {
    const BadPages ours;
    EXPECT_EXIT(
        {
            std::signal(SIGBUS, leave_with_42);
            (void)caught(ours.bytes(),
                         [&] { std::thread([&] { touch(ours.bytes().data()); }).join(); });
        },
        testing::ExitedWithCode(42), "");
}

TEST_F(BusErrorDeathTest, a_fault_elsewhere_kills_a_program_without_a_handler) {
    const BadPages ours;
    const BadPages theirs;
    EXPECT_EXIT((void)caught(ours.bytes(), [&] { touch(theirs.bytes().data()); }),
                testing::KilledBySignal(SIGBUS), "");
    EXPECT_EXIT(
        {
            std::signal(SIGBUS, SIG_IGN);
            (void)caught(ours.bytes(), [&] { touch(theirs.bytes().data()); });
        },
        testing::KilledBySignal(SIGBUS), "");
}

TEST_F(BusErrorDeathTest, a_signal_of_another_process_is_not_treated_as_a_fault) {
    const BadPages ours;
    EXPECT_EXIT((void)caught(ours.bytes(), [] { ::raise(SIGBUS); }),
                testing::KilledBySignal(SIGBUS), "");
    EXPECT_EXIT(
        {
            std::signal(SIGBUS, SIG_IGN);
            std::byte* const at = caught(ours.bytes(), [] { ::raise(SIGBUS); });
            ::_exit(at == nullptr ? 7 : 8);
        },
        testing::ExitedWithCode(7), "");
}

TEST_F(BusErrorDeathTest, a_handler_installed_later_stays) {
    const BadPages ours;
    EXPECT_EXIT(
        {
            (void)caught(ours.bytes(), [] { std::signal(SIGBUS, leave_with_42); });
            touch(ours.bytes().data());
        },
        testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace oratorio::test::bus_error_test
