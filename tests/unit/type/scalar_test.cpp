// SPDX-License-Identifier: BSD-3-Clause
// Conversions of every kind of scalar to external32 and back, compared with bytes computed by hand
// from MPI-4.1, 14.5.2.
#include "type/scalar.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace oratorio::test::scalar_test {
namespace {

using Bytes8 = std::vector<unsigned char>;

template <class T>
Bytes8 bytes_of(const T& value) {
    Bytes8 bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

struct Converted {
    bool fits;
    Bytes8 bytes;
};

Converted write(ScalarKind kind, const Bytes8& memory) {
    const auto count = static_cast<std::int64_t>(memory.size()) / memory_size(kind);
    Bytes8 file(static_cast<std::size_t>(count * external32_size(kind)), 0xee);
    const bool fits = to_external32(kind, reinterpret_cast<const std::byte*>(memory.data()),
                                    reinterpret_cast<std::byte*>(file.data()), count);
    return {fits, file};
}

Converted read(ScalarKind kind, const Bytes8& file) {
    const auto count = static_cast<std::int64_t>(file.size()) / external32_size(kind);
    Bytes8 memory(static_cast<std::size_t>(count * memory_size(kind)), 0xee);
    const bool fits = from_external32(kind, reinterpret_cast<const std::byte*>(file.data()),
                                      reinterpret_cast<std::byte*>(memory.data()), count);
    return {fits, memory};
}

/// Checks that the value is written as these bytes, and that these bytes are read as the value.
template <class T>
void expect_both_ways(ScalarKind kind, const T& value, const Bytes8& file) {
    const Converted written = write(kind, bytes_of(value));
    EXPECT_TRUE(written.fits);
    EXPECT_EQ(written.bytes, file);
    const Converted back = read(kind, file);
    EXPECT_TRUE(back.fits);
    EXPECT_EQ(back.bytes, bytes_of(value));
}

TEST(Scalar, integers_are_big_endian_twos_complement) {
    expect_both_ways(ScalarKind::byte, std::int8_t{-2}, {0xfe});
    expect_both_ways(ScalarKind::word2, std::int16_t{-2}, {0xff, 0xfe});
    expect_both_ways(ScalarKind::word2, std::uint16_t{0x1234}, {0x12, 0x34});
    expect_both_ways(ScalarKind::word4, std::int32_t{0x01020304}, {1, 2, 3, 4});
    expect_both_ways(ScalarKind::word8, std::int64_t{0x0102030405060708}, {1, 2, 3, 4, 5, 6, 7, 8});
    __extension__ using Wide = unsigned __int128;
    const Wide wide = Wide{0x0102030405060708} << 64 | 0x090a0b0c0d0e0f10;
    expect_both_ways(ScalarKind::word16, wide,
                     {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
}

TEST(Scalar, reals_are_ieee_and_big_endian) {
    expect_both_ways(ScalarKind::word4, 1.0F, {0x3f, 0x80, 0, 0});
    expect_both_ways(ScalarKind::word8, -2.5, {0xc0, 0x04, 0, 0, 0, 0, 0, 0});
}

TEST(Scalar, a_long_has_four_bytes_in_the_file) {
    expect_both_ways(ScalarKind::signed_long, std::int64_t{-2}, {0xff, 0xff, 0xff, 0xfe});
    expect_both_ways(ScalarKind::signed_long, std::int64_t{INT32_MIN}, {0x80, 0, 0, 0});
    expect_both_ways(ScalarKind::signed_long, std::int64_t{INT32_MAX}, {0x7f, 0xff, 0xff, 0xff});
    expect_both_ways(ScalarKind::unsigned_long, std::uint64_t{0xfffffffe},
                     {0xff, 0xff, 0xff, 0xfe});
}

TEST(Scalar, a_long_that_does_not_fit_is_an_error) {
    for (const std::int64_t value :
         {std::int64_t{INT32_MAX} + 1, std::int64_t{INT32_MIN} - 1, INT64_MAX, INT64_MIN})
        EXPECT_FALSE(write(ScalarKind::signed_long, bytes_of(value)).fits) << value;
    EXPECT_FALSE(write(ScalarKind::unsigned_long, bytes_of(std::uint64_t{1} << 32)).fits);
    EXPECT_FALSE(write(ScalarKind::unsigned_long, bytes_of(UINT64_MAX)).fits);
    EXPECT_EQ(misfit(ScalarKind::signed_long).kind, ErrorKind::conversion);
}

TEST(Scalar, a_wide_character_is_one_utf16_unit) {
    expect_both_ways(ScalarKind::wide_character, std::uint32_t{0x20ac}, {0x20, 0xac});
    expect_both_ways(ScalarKind::wide_character, std::uint32_t{0xffff}, {0xff, 0xff});
    EXPECT_FALSE(write(ScalarKind::wide_character, bytes_of(std::uint32_t{0x1f600})).fits);
}

TEST(Scalar, types_without_external32_are_never_converted) {
    std::byte byte{};
    EXPECT_EQ(external32_size(ScalarKind::none), 0);
    EXPECT_FALSE(to_external32(ScalarKind::none, &byte, &byte, 0));
}

/// The conversion swaps groups of eight bytes at once. The numbers of words leave every remainder
/// after the groups, and neither side is aligned.
TEST(Scalar, any_number_of_words_is_swapped_at_any_address) {
    std::mt19937 random(5);
    for (const ScalarKind kind : {ScalarKind::byte, ScalarKind::word2, ScalarKind::word4,
                                  ScalarKind::word8, ScalarKind::word16}) {
        const auto size = static_cast<std::size_t>(memory_size(kind));
        for (std::size_t count = 0; count < 20; ++count) {
            Bytes8 memory(1 + count * size), file(3 + count * size, 0xee);
            for (auto& byte : memory) byte = static_cast<unsigned char>(random());
            ASSERT_TRUE(to_external32(kind, reinterpret_cast<const std::byte*>(memory.data()) + 1,
                                      reinterpret_cast<std::byte*>(file.data()) + 2,
                                      static_cast<std::int64_t>(count)));
            EXPECT_EQ(file.back(), 0xee);
            for (std::size_t i = 0; i < count * size; ++i) {
                const std::size_t mirrored = i / size * size + (size - 1 - i % size);
                ASSERT_EQ(file[2 + i], memory[1 + mirrored]) << size << " x " << count;
            }
        }
    }
}

#if defined(__x86_64__)

using Limits = std::numeric_limits<long double>;

/// Returns the memory of a long double: 10 bytes of value, and 6 of padding, which the conversion
/// sets to zero when it reads.
Bytes8 extended(long double value) {
    Bytes8 bytes(16, 0);
    std::memcpy(bytes.data(), &value, 10);
    return bytes;
}

/// Checks both directions. `head` holds the first bytes in the file, which are followed by zeros.
void expect_extended(long double value, Bytes8 head) {
    head.resize(16);
    const Converted written = write(ScalarKind::extended_real, extended(value));
    EXPECT_TRUE(written.fits);
    EXPECT_EQ(written.bytes, head) << static_cast<double>(value);
    const Converted back = read(ScalarKind::extended_real, head);
    EXPECT_TRUE(back.fits);
    EXPECT_EQ(back.bytes, extended(value)) << static_cast<double>(value);
}

TEST(Scalar, a_long_double_is_binary128) {
    expect_extended(1.0L, {0x3f, 0xff});
    expect_extended(-2.0L, {0xc0, 0x00});
    expect_extended(1.5L, {0x3f, 0xff, 0x80});
    // With 64 bits of significand, 0.1 is 0x3ffb, 0xcccccccccccccccd.
    expect_extended(0.1L, {0x3f, 0xfb, 0x99, 0x99, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a});
    expect_extended(0.0L, {0x00});
    expect_extended(-0.0L, {0x80});
    expect_extended(Limits::infinity(), {0x7f, 0xff});
    expect_extended(-Limits::infinity(), {0xff, 0xff});
    expect_extended(Limits::quiet_NaN(), {0x7f, 0xff, 0x80});
    expect_extended(Limits::min(), {0x00, 0x01});
    // The smallest denormal has only the last of 63 fraction bits set, which is 49 bits before the
    // end of 112.
    expect_extended(Limits::denorm_min(), {0, 0, 0, 0, 0, 0, 0, 0, 0, 2});
    expect_extended(Limits::max(), {0x7f, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe});
}

TEST(Scalar, forms_of_long_double_that_no_processor_makes_become_numbers_or_nans) {
    Bytes8 memory(16, 0);
    memory[7] = 0x80;  // exponent 0 with the integer bit set means the smallest normal number
    EXPECT_EQ(write(ScalarKind::extended_real, memory).bytes,
              (Bytes8{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    memory[7] = 0x40;  // exponent 1 without the integer bit isn't a valid number
    memory[8] = 1;
    EXPECT_EQ(write(ScalarKind::extended_real, memory).bytes,
              (Bytes8{0x7f, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

long double read_extended(Bytes8 file) {
    file.resize(16);
    const Converted converted = read(ScalarKind::extended_real, file);
    EXPECT_TRUE(converted.fits);
    long double value = 0;
    std::memcpy(&value, converted.bytes.data(), sizeof value);
    return value;
}

TEST(Scalar, reading_a_long_double_rounds_to_nearest_even) {
    const long double next = 1.0L + Limits::epsilon();
    // Bytes 2 to 9 hold 63 fraction bits that the long double keeps. The last bit of byte 9 is the
    // first of the 49 bits that are dropped.
    EXPECT_EQ(read_extended({0x3f, 0xff, 0, 0, 0, 0, 0, 0, 0, 1}), 1.0L);  // a tie, which rounds to
                                                                           // even
    EXPECT_EQ(read_extended({0x3f, 0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1}), next);
    EXPECT_EQ(read_extended({0x3f, 0xff, 0, 0, 0, 0, 0, 0, 0, 3}), next + Limits::epsilon());
    const Bytes8 nearly_two = {0x3f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                               0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    EXPECT_EQ(read_extended(nearly_two), 2.0L);
    Bytes8 nearly_normal = nearly_two;
    nearly_normal[0] = nearly_normal[1] = 0;
    EXPECT_EQ(read_extended(nearly_normal), Limits::min());
}

TEST(Scalar, a_long_double_that_rounds_past_the_largest_is_an_error_and_a_nan_stays_one) {
    Bytes8 file(16, 0xff);
    file[0] = 0x7f;
    file[1] = 0xfe;
    EXPECT_FALSE(read(ScalarKind::extended_real, file).fits);
    Bytes8 payload(16, 0);
    payload[0] = 0x7f;
    payload[1] = 0xff;
    payload[15] = 1;  // the payload is only in bits that are dropped
    const long double nan = read_extended(payload);
    EXPECT_NE(nan, nan);
}

/// Compares random values with the compiler's own conversions.
TEST(Scalar, random_long_doubles_are_what_the_compiler_makes_of_them) {
    std::mt19937_64 random(11);
    for (int i = 0; i < 20000; ++i) {
        __extension__ __float128 wide;
        std::uint64_t words[2] = {random(), random()};
        // The first 48 fraction bits of every fourth value are zero. Half of these are denormal.
        if (i % 4 == 0) words[1] &= 0xffff000000000000;
        if (i % 4 == 0 && i % 8 == 0) words[1] &= 0x8000ffffffffffff;
        std::memcpy(&wide, words, sizeof wide);
        if (wide != wide) continue;
        const auto value = static_cast<long double>(wide);
        Bytes8 file = bytes_of(wide);
        std::reverse(file.begin(), file.end());
        const Converted converted = read(ScalarKind::extended_real, file);
        EXPECT_EQ(converted.bytes, extended(value));
        __extension__ const __float128 back = value;
        Bytes8 again = bytes_of(back);
        std::reverse(again.begin(), again.end());
        EXPECT_EQ(write(ScalarKind::extended_real, extended(value)).bytes, again);
    }
}

#endif

}  // namespace
}  // namespace oratorio::test::scalar_test
