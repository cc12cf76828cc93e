// SPDX-License-Identifier: BSD-3-Clause
#include "type/extended_real.hpp"

namespace oratorio {
namespace {

constexpr std::uint64_t kSign = 0x8000;
constexpr std::uint64_t kExponent = 0x7fff;
constexpr std::uint64_t kIntegerBit = std::uint64_t{1} << 63;
constexpr int kHighFraction = 48;          ///< fraction bits of Binary128::high
constexpr int kDropped = 112 - 63;         ///< fraction bits that only binary128 has
constexpr int kKeptOfLow = 64 - kDropped;  ///< bits of Binary128::low that are kept
constexpr std::uint64_t kHighMask = (std::uint64_t{1} << kHighFraction) - 1;

}  // namespace

bool is_finite(ExtendedReal real) {
    return (real.sign_and_exponent & kExponent) != kExponent;
}

bool is_finite(Binary128 real) {
    return (real.high >> kHighFraction & kExponent) != kExponent;
}

Binary128 widened(ExtendedReal real) {
    const std::uint64_t sign = real.sign_and_exponent & kSign;
    std::uint64_t exponent = real.sign_and_exponent & kExponent;
    std::uint64_t fraction = real.significand & ~kIntegerBit;
    const bool integer_bit = (real.significand & kIntegerBit) != 0;
    if (exponent == 0 && integer_bit) exponent = 1;  // a pseudo-denormal: its exponent counts as 1
    if (exponent != 0 && !integer_bit) {
        exponent = kExponent;
        fraction = kIntegerBit >> 1;
    }
    return {(sign | exponent) << kHighFraction | fraction >> (63 - kHighFraction),
            fraction << kDropped};
}

ExtendedReal narrowed(Binary128 real) {
    const std::uint64_t head = real.high >> kHighFraction;
    const std::uint64_t sign = head & kSign;
    std::uint64_t exponent = head & kExponent;
    std::uint64_t significand = (real.high & kHighMask) << kKeptOfLow | real.low >> kDropped;
    const std::uint64_t rest = real.low & ((std::uint64_t{1} << kDropped) - 1);
    if (exponent == kExponent) {
        if (significand == 0 && rest != 0) significand = kIntegerBit >> 1;
        return {static_cast<std::uint16_t>(head), significand | kIntegerBit};
    }
    const std::uint64_t half = std::uint64_t{1} << (kDropped - 1);
    if (rest > half || (rest == half && (significand & 1) != 0)) ++significand;
    if (exponent == 0) {
        exponent = significand >> 63;  // 1 if rounding made it the smallest normal number
    } else if ((significand & kIntegerBit) != 0) {
        ++exponent;  // the rounding carried, so the fraction is zero
    } else {
        significand |= kIntegerBit;
    }
    return {static_cast<std::uint16_t>(sign | exponent), significand};
}

}  // namespace oratorio
