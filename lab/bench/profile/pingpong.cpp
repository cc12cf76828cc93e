// SPDX-License-Identifier: BSD-3-Clause
// Measures how long a cache line takes from one core to another and back, and whether two cores
// compute as fast as one does alone. The round trip limits how often ranks can pass data
// to each other. On a virtual machine it varies, because the host may move the cores.
//
//     c++ -O2 -std=c++20 lab/bench/profile/pingpong.cpp -o pingpong && ./pingpong
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <new>

namespace {

constexpr int kTurns = 100'000;

void pin_to(int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    if (sched_setaffinity(0, sizeof cores, &cores) != 0) std::perror("sched_setaffinity");
}

void compute() {
    volatile double sink = 1;
    for (int i = 0; i < 20'000'000; ++i) sink = sink * 0.999 + 1;
}

template <class Action>
double seconds_of(Action action) {
    const auto start = std::chrono::steady_clock::now();
    action();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Runs `there` on the second core and `here` on the first core at the same time. Returns the
/// seconds until both have ended.
template <class There, class Here>
double beside(There there, Here here) {
    const pid_t other = fork();
    if (other == 0) {
        pin_to(1);
        there();
        _exit(0);
    }
    return seconds_of([&] {
        here();
        waitpid(other, nullptr, 0);
    });
}

}  // namespace

int main() {
    void* const memory =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    auto& ball = *new (memory) std::atomic<int>{0};
    pin_to(0);
    const double alone = seconds_of(compute);
    const double both = beside(compute, compute);
    const auto play = [&ball](int first) {
        for (int turn = first; turn < 2 * kTurns; turn += 2) {
            while (ball.load(std::memory_order_acquire) != turn) {
            }
            ball.store(turn + 1, std::memory_order_release);
        }
    };
    const double played = beside([&] { play(1); }, [&] { play(0); });
    std::printf("there and back %.0f ns, computing %.2f times as long on both cores\n",
                1e9 * played / kTurns, both / alone);
    return 0;
}
