// SPDX-License-Identifier: BSD-3-Clause
// Numbers as people read them: bytes, times and rates, with three digits.
#pragma once

#include <cstdint>
#include <string>

#include "base/extent.hpp"

namespace oratorio {

/// Returns "64 bytes", "1.5 KiB", "512 MiB".
[[nodiscard]] std::string bytes_text(double bytes);
/// Returns "12.5 us", "310 ms", "2.71 s".
[[nodiscard]] std::string seconds_text(double seconds);
/// Returns "1651 MiB/s"; "" if the time is not positive.
[[nodiscard]] std::string rate_text(double bytes, double seconds);
/// Returns "1 round", "3 rounds": the number and the noun, with `plural` unless the number is 1.
[[nodiscard]] std::string counted(std::uint64_t number, const std::string& noun,
                                  const char* plural = "s");

}  // namespace oratorio
