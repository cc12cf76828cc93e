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

void sleep_until_rung(Bell& bell, std::uint32_t heard, std::chrono::microseconds longest) {
    bell.heard.store(heard);
    bell.sleep.store(Bell::asleep);
    if (bell.rings.load() == heard) {
        constexpr std::int64_t kMicro = 1'000'000;
        const timespec time{static_cast<time_t>(longest.count() / kMicro),
                            static_cast<long>(longest.count() % kMicro * 1000)};
        futex(bell.rings, FUTEX_WAIT, heard, &time);
    }
    bell.sleep.store(Bell::awake);
}

// Both sides write their own word before they read the other's (sequentially consistent). So either
// the ringer sees the sleeper, or the sleeper sees the ring.
void ring(Bell& bell) {
    bell.rings.fetch_add(1);
    if (bell.sleep.load() != Bell::awake) futex(bell.rings, FUTEX_WAKE, 1, nullptr);
}

void ring_softly(Bell& bell) {
    bell.rings.fetch_add(1);
}

bool call(Bell& bell) {
    std::uint32_t sleep = bell.sleep.load();
    if (sleep != Bell::asleep || bell.rings.load() == bell.heard.load())
        return sleep == Bell::called;
    if (!bell.sleep.compare_exchange_strong(sleep, Bell::called)) return sleep == Bell::called;
    futex(bell.rings, FUTEX_WAKE, 1, nullptr);
    return true;
}

bool rings_before_sleep(const Bell& bell, std::uint32_t heard) {
    const Before sleep = bell.before.load(std::memory_order_relaxed);
    constexpr int kSpins = 1000;
    for (int tried = 0; sleep == Before::spins && tried < kSpins; ++tried) {
        if (bell.rings.load(std::memory_order_acquire) != heard) return true;
        pause_core();
    }
    // About as long as it may take to wake an idle core. If it were shorter, ranks that communicate
    // again and again would sleep each time. If it were longer, the system would not give this
    // core, which only yields, the work of another core.
    constexpr auto kYielding = 50us;
    const auto until = std::chrono::steady_clock::now() + kYielding;
    while (sleep == Before::yields && std::chrono::steady_clock::now() < until) {
        if (bell.rings.load(std::memory_order_acquire) != heard) return true;
        sched_yield();
    }
    return false;
}

void wait_until_rung(Bell& bell, std::uint32_t heard, std::chrono::microseconds longest) {
    if (!rings_before_sleep(bell, heard)) sleep_until_rung(bell, heard, longest);
}

}  // namespace oratorio
