// SPDX-License-Identifier: BSD-3-Clause
#include "stats/stats.hpp"

namespace oratorio {

namespace {

/// "12.345", of 12345678 nanoseconds.
std::string milliseconds(std::uint64_t nanoseconds) {
    const std::string thousandths = std::to_string(nanoseconds / 1000 % 1000);
    return std::to_string(nanoseconds / 1'000'000) + "." +
           std::string(3 - thousandths.size(), '0') + thousandths;
}

}  // namespace

std::array<std::uint64_t, Stats::rows> Stats::values() const {
    return {
#define COUNTER(name, unit, description) name,
#include "stats/counters.def"
#undef COUNTER
    };
}

Stats Stats::of(const std::array<std::uint64_t, rows>& values) {
    Stats stats;
#define COUNTER(name, unit, description) stats.name = values[row_##name];
#include "stats/counters.def"
#undef COUNTER
    return stats;
}

std::string Stats::report() const {
    std::string text;
#define COUNTER(name, unit, description) \
    if (name != 0) text += std::string(#name) + " " + std::to_string(name) + " " + (unit) + "\n";
#define TIME(name, description) \
    if (name != 0) text += std::string(#name) + " " + milliseconds(name) + " ms\n";
#include "stats/counters.def"
#undef COUNTER
    return text;
}

}  // namespace oratorio
