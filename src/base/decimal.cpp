// SPDX-License-Identifier: BSD-3-Clause
#include "base/decimal.hpp"

#include <array>
#include <charconv>
#include <limits>

namespace oratorio {

namespace {

std::string text_of(double value, std::chars_format format, int digits) {
    constexpr int kDecimalsMost = 20;
    std::array<char, std::numeric_limits<double>::max_exponent10 + kDecimalsMost> text;
    const auto end = std::to_chars(text.begin(), text.end(), value, format, digits).ptr;
    return {text.begin(), end};
}

}  // namespace

std::string general_text(double value, int digits) {
    return text_of(value, std::chars_format::general, digits);
}

std::string fixed_text(double value, int decimals) {
    return text_of(value, std::chars_format::fixed, decimals);
}

}  // namespace oratorio
