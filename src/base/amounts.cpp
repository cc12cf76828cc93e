// SPDX-License-Identifier: BSD-3-Clause
#include "base/amounts.hpp"

#include <array>

#include "base/decimal.hpp"

namespace oratorio {

namespace {

/// Formats a nonnegative number: below 100 with at most three significant digits, from 100 on as a
/// whole number.
std::string three_digits(double value) {
    return value >= 99.95 ? fixed_text(value, 0) : general_text(value, 3);
}

}  // namespace

std::string bytes_text(double bytes) {
    constexpr std::array<const char*, 6> kUnits{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
    return three_digits(bytes) + " " + kUnits[unit];
}

std::string seconds_text(double seconds) {
    if (seconds >= 1) return three_digits(seconds) + " s";
    if (seconds >= 1e-3) return three_digits(seconds * 1e3) + " ms";
    return three_digits(seconds * 1e6) + " us";
}

std::string rate_text(double bytes, double seconds) {
    if (seconds <= 0) return "";
    constexpr double kMebi = 1 << 20;
    return three_digits(bytes / kMebi / seconds) + " MiB/s";
}

std::string counted(std::uint64_t number, const std::string& noun, const char* plural) {
    return std::to_string(number) + " " + noun + (number == 1 ? "" : plural);
}

}  // namespace oratorio
