// SPDX-License-Identifier: BSD-3-Clause
#include "base/byte_copy.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace oratorio {

namespace {

constexpr std::size_t kStep = 512;  // below the 2 KiB from which the C library uses `rep movsb`
constexpr std::size_t kLong = 2048;

bool detect() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    constexpr unsigned kFastShortRepMov = 1U << 4U;
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __builtin_cpu_is("amd") != 0 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
           (d & kFastShortRepMov) != 0;
#else
    return false;
#endif
}

}  // namespace

bool is_slow_close_behind() {
    static const bool kSlow = detect();
    return kSlow;
}

void copy_by_steps(std::byte* to, const std::byte* from, std::size_t bytes) {
    for (; bytes > kStep; bytes -= kStep, to += kStep, from += kStep) std::memcpy(to, from, kStep);
    std::memcpy(to, from, bytes);
}

void copy_long(std::byte* to, const std::byte* from, std::size_t bytes) {
    const bool slow =
        bytes >= kLong && lies_close_behind(place_of(to), place_of(from)) && is_slow_close_behind();
    if (slow) return copy_by_steps(to, from, bytes);
    std::memcpy(to, from, bytes);
}

}  // namespace oratorio
