// SPDX-License-Identifier: BSD-3-Clause
// Numbers as people read them: bytes, times, rates, and numbers with a noun.
#pragma once

#include <cstdint>
#include <string>

#include "base/extent.hpp"

namespace oratorio {

/// Formats a number of bytes: "64 bytes", "1.5 KiB", "512 MiB".
[[nodiscard]] std::string bytes_text(double bytes);
/// Formats a time: "12.5 us", "310 ms", "2.71 s".
[[nodiscard]] std::string seconds_text(double seconds);
/// Formats a rate: "1651 MiB/s". Returns "" if `seconds` is not positive.
[[nodiscard]] std::string rate_text(double bytes, double seconds);
/// Formats a number and its noun, to which `plural` is appended unless the number is 1: "3 rounds".
[[nodiscard]] std::string counted(std::uint64_t number, const std::string& noun,
                                  const char* plural = "s");

}  // namespace oratorio
