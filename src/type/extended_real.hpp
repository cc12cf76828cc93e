// SPDX-License-Identifier: BSD-3-Clause
// The x87 extended format and IEEE binary128: the same exponent, fractions of 63 and 112 bits. Pure
// integer arithmetic, so that it works and is tested on every processor.
#pragma once

#include <cstdint>

namespace oratorio {

/// Sign, 15 bits of exponent (bias 16383); a 64-bit significand whose top bit is the integer bit.
struct ExtendedReal {
    std::uint16_t sign_and_exponent = 0;
    std::uint64_t significand = 0;
    bool operator==(const ExtendedReal&) const = default;
};

/// IEEE 754-2008 binary128 as two words.
struct Binary128 {
    std::uint64_t high = 0;  ///< sign, 15 bits of exponent, 48 bits of fraction
    std::uint64_t low = 0;   ///< 64 bits of fraction
    bool operator==(const Binary128&) const = default;
};

/// Exact. What no processor computes with (the integer bit missing from a normal number, an
/// infinity or a NaN) becomes a quiet NaN.
[[nodiscard]] Binary128 widened(ExtendedReal real);
/// Rounded to nearest, ties to even. A finite number that rounds past the largest one becomes an
/// infinity; a NaN stays one.
[[nodiscard]] ExtendedReal narrowed(Binary128 real);
/// Neither infinity nor NaN.
[[nodiscard]] bool is_finite(ExtendedReal real);
[[nodiscard]] bool is_finite(Binary128 real);

}  // namespace oratorio
