// SPDX-License-Identifier: BSD-3-Clause
// Timing: the clock and the statistics for all measurements of `oratorio calibrate`.
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

/// The smallest cost that is reported. Costs must be above zero, even if they can't be
/// distinguished from it.
inline constexpr Nanoseconds kLeastCost = 0.01;

/// Returns the median; of an even number of values, the larger of the two in the middle. REQUIRES:
/// `values` isn't empty.
[[nodiscard]] inline Nanoseconds median(std::vector<Nanoseconds> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// The costs of a piece and of a byte. They follow from the times to move the same number of bytes
/// in pieces of two lengths.
struct Line {
    Nanoseconds piece = 0;
    Nanoseconds byte = 0;
};

/// Fits the line. `few` is the time for `few_pieces` long pieces, and `many` the time for
/// `many_pieces` short ones.
[[nodiscard]] inline Line fit(double bytes, Nanoseconds few, double few_pieces, Nanoseconds many,
                              double many_pieces) {
    const Nanoseconds piece = std::max(0.0, (many - few) / (many_pieces - few_pieces));
    return {piece, (few - few_pieces * piece) / bytes};
}

}  // namespace oratorio::calibrate
