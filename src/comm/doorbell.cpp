// SPDX-License-Identifier: BSD-3-Clause
#include "comm/doorbell.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace oratorio {

using namespace std::chrono_literals;

namespace {

// FUTEX_PRIVATE_FLAG isn't set, because the ringer may be another process.
void futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* longest) {
    static_assert(sizeof word == sizeof value);
    syscall(SYS_futex, &word, operation, value, longest, nullptr, 0);
}

void pause_core() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

void sleep_until_rung(Doorbell& doorbell, std::uint32_t heard, std::chrono::microseconds longest) {
    doorbell.heard.store(heard);
    doorbell.sleep.store(Doorbell::asleep);
    if (doorbell.rings.load() == heard) {
        constexpr std::int64_t kMicro = 1'000'000;
        const timespec time{static_cast<time_t>(longest.count() / kMicro),
                            static_cast<long>(longest.count() % kMicro * 1000)};
        futex(doorbell.rings, FUTEX_WAIT, heard, &time);
    }
    doorbell.sleep.store(Doorbell::awake);
}

// The ringer writes `rings` before it reads `sleep`, and the sleeper writes `sleep` before it reads
// `rings` (sequentially consistent). So either the ringer sees the sleeper, or the sleeper sees the
// ring.
void ring(Doorbell& doorbell) {
    doorbell.rings.fetch_add(1);
    if (doorbell.sleep.load() != Doorbell::awake) futex(doorbell.rings, FUTEX_WAKE, 1, nullptr);
}

void ring_softly(Doorbell& doorbell) {
    doorbell.rings.fetch_add(1);
}

bool call(Doorbell& doorbell) {
    std::uint32_t sleep = doorbell.sleep.load();
    if (sleep != Doorbell::asleep || doorbell.rings.load() == doorbell.heard.load())
        return sleep == Doorbell::called;
    if (!doorbell.sleep.compare_exchange_strong(sleep, Doorbell::called))
        return sleep == Doorbell::called;
    futex(doorbell.rings, FUTEX_WAKE, 1, nullptr);
    return true;
}

bool rings_before_sleep(const Doorbell& doorbell, std::uint32_t heard) {
    const WaitPolicy sleep = doorbell.policy.load(std::memory_order_relaxed);
    constexpr int kSpins = 1000;
    for (int tried = 0; sleep == WaitPolicy::spins && tried < kSpins; ++tried) {
        if (doorbell.rings.load(std::memory_order_acquire) != heard) return true;
        pause_core();
    }
    // A rank yields for about as long as it may take to wake an idle core. If that time were
    // shorter, ranks that communicate repeatedly would sleep each time. If it were longer, the
    // system would keep seeing this core as busy, although it only yields, and would not move work
    // from another core to it.
    constexpr auto kYielding = 50us;
    const auto until = std::chrono::steady_clock::now() + kYielding;
    while (sleep == WaitPolicy::yields && std::chrono::steady_clock::now() < until) {
        if (doorbell.rings.load(std::memory_order_acquire) != heard) return true;
        sched_yield();
    }
    return false;
}

void wait_until_rung(Doorbell& doorbell, std::uint32_t heard, std::chrono::microseconds longest) {
    if (!rings_before_sleep(doorbell, heard)) sleep_until_rung(doorbell, heard, longest);
}

}  // namespace oratorio
