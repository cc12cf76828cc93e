// SPDX-License-Identifier: BSD-3-Clause
// Timing: the clock and the statistics for all measurements here.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace oratorio::calibrate {

using Nanoseconds = double;

class Stopwatch {
  public:
    [[nodiscard]] Nanoseconds elapsed() const {
        return std::chrono::duration<double, std::nano>(Clock::now() - start_).count();
    }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_ = Clock::now();
};

/// The smallest cost: costs must be above zero, also those that can't be distinguished from zero.
inline constexpr Nanoseconds kLeastCost = 0.01;

/// Returns the median, the upper one of the two in the middle. REQUIRES: `values` isn't empty.
[[nodiscard]] inline Nanoseconds median(std::vector<Nanoseconds> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// The costs of a piece and of a byte, from moving pieces of two lengths, the same number of bytes
/// both times.
struct Line {
    Nanoseconds piece = 0;
    Nanoseconds byte = 0;
};

/// `few` is the time for `few_pieces` long pieces, `many` the time for the short ones.
[[nodiscard]] inline Line fit(double bytes, Nanoseconds few, double few_pieces, Nanoseconds many,
                              double many_pieces) {
    const Nanoseconds piece = std::max(0.0, (many - few) / (many_pieces - few_pieces));
    return {piece, (few - few_pieces * piece) / bytes};
}

}  // namespace oratorio::calibrate
