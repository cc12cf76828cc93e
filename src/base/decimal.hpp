// SPDX-License-Identifier: BSD-3-Clause
// Floating-point numbers as text, with a point whatever the program's locale is: other jobs and
// tools read them. All of src formats them here; dev/tidy.py checks that.
#pragma once

#include <string>

namespace oratorio {

/// Formats a number with at most `digits` significant digits, with an exponent if it is very large
/// or small (%g of the C locale).
[[nodiscard]] std::string general_text(double value, int digits);
/// Formats a number with `decimals` digits after the point (%f of the C locale).
[[nodiscard]] std::string fixed_text(double value, int decimals);

}  // namespace oratorio
