// SPDX-License-Identifier: BSD-3-Clause
// Conversion between the x87 extended format and IEEE binary128. Both formats have the same
// exponent; their fractions have 63 and 112 bits. The conversion uses integer arithmetic only, so
// it works and is tested on every processor.
#pragma once

#include <cstdint>

namespace oratorio {

/// The x87 format: sign and 15 bits of exponent (bias 16383), then a 64-bit significand with the
/// integer bit on top.
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

/// Converts to binary128, exactly. Encodings that no processor computes with (a normal number,
/// infinity or NaN without its integer bit) become a quiet NaN.
[[nodiscard]] Binary128 widened(ExtendedReal real);
/// Converts to the x87 format; rounds to nearest, ties to even. A finite number that rounds beyond
/// the largest one becomes an infinity; a NaN stays a NaN.
[[nodiscard]] ExtendedReal narrowed(Binary128 real);
/// Return true if `real` is neither an infinity nor a NaN.
[[nodiscard]] bool is_finite(ExtendedReal real);
[[nodiscard]] bool is_finite(Binary128 real);

}  // namespace oratorio
