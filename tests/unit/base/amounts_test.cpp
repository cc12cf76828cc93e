// SPDX-License-Identifier: BSD-3-Clause
#include "base/amounts.hpp"

#include <gtest/gtest.h>

namespace oratorio::test::amounts_test {
namespace {

TEST(Amounts, BytesHaveThreeDigits) {
    EXPECT_EQ(bytes_text(0), "0 bytes");
    EXPECT_EQ(bytes_text(1023), "1023 bytes");
    EXPECT_EQ(bytes_text(1536), "1.5 KiB");
    EXPECT_EQ(bytes_text(512.0 * (1 << 20)), "512 MiB");
    EXPECT_EQ(bytes_text(1e18), "888 PiB");
}

TEST(Amounts, TimesHaveTheirUnit) {
    EXPECT_EQ(seconds_text(271), "271 s");
    EXPECT_EQ(seconds_text(2.714), "2.71 s");
    EXPECT_EQ(seconds_text(0.31), "310 ms");
    EXPECT_EQ(seconds_text(12.5e-6), "12.5 us");
}

TEST(Amounts, ARateNeedsATime) {
    EXPECT_EQ(rate_text(512.0 * (1 << 20), 0.31), "1652 MiB/s");
    EXPECT_EQ(rate_text(1 << 20, 10), "0.1 MiB/s");
    EXPECT_EQ(rate_text(1 << 20, 0), "");
}

TEST(Amounts, ACountHasItsNoun) {
    EXPECT_EQ(counted(1, "round"), "1 round");
    EXPECT_EQ(counted(0, "access", "es"), "0 accesses");
}

}  // namespace
}  // namespace oratorio::test::amounts_test
