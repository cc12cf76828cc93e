// SPDX-License-Identifier: BSD-3-Clause
#include "base/decimal.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <limits>

namespace oratorio::test::decimal_test {
namespace {

/// Returns what printf makes of the number in the C locale.
std::string printed(const char* format, int digits, double value) {
    std::array<char, 400> text{};
    std::snprintf(text.data(), text.size(), format, digits, value);
    return text.data();
}

TEST(Decimal, IsWhatPrintfWritesInTheCLocale) {
    using Limits = std::numeric_limits<double>;
    for (const double value :
         {0.0, -0.0, 0.5, -1.0 / 3, 99.95, 123456.789, 1e6, 1e-5, 1e300, Limits::max(),
          Limits::lowest(), Limits::denorm_min(), Limits::infinity()}) {
        for (const int digits : {0, 3, 6, 9}) {
            EXPECT_EQ(general_text(value, digits), printed("%.*g", digits, value));
            EXPECT_EQ(fixed_text(value, digits), printed("%.*f", digits, value));
        }
    }
}

}  // namespace
}  // namespace oratorio::test::decimal_test
