// SPDX-License-Identifier: BSD-3-Clause
// Tests how often `oratorio calibrate` repeats a measurement.
#include <gtest/gtest.h>

#include <vector>

#include "session.hpp"

namespace oratorio::calibrate {
namespace {

/// Returns how often a probe ran, and the median of the passes that counted. The probe reports the
/// number of its pass as its time.
std::pair<int, Nanoseconds> runs(Nanoseconds enough) {
    int count = 0;
    Session session({.repeats = 7, .enough = enough}, 1);
    const std::vector<Probe> probes{
        {"probe", [&]() -> Result<Nanoseconds> { return Nanoseconds(++count); }}};
    const auto medians = session.medians(probes);
    return {count, medians->front()};
}

TEST(CalibrateSession, RepeatsAndLeavesOutTheFirstPass) {
    EXPECT_EQ(runs(3600e9), std::make_pair(8, Nanoseconds(5)));
}

TEST(CalibrateSession, OnePassCountsHoweverSlowTheStorageIs) {
    EXPECT_EQ(runs(0), std::make_pair(2, Nanoseconds(2)));
}

}  // namespace
}  // namespace oratorio::calibrate
