// SPDX-License-Identifier: BSD-3-Clause
#include "type/external32.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace oratorio {
namespace {

const Element kShort{ScalarKind::word2, 1, 2, 2, 1};
const Element kInt{ScalarKind::word4, 1, 4, 4, 2};
const Element kLong{ScalarKind::signed_long, 1, 8, 4, 3};
const Element kComplex{ScalarKind::word4, 2, 8, 8, 4};
const Element kUnknown{ScalarKind::none, 1, 12, 0, 5};

/// A struct with holes, for the datatype {short, int, long, float complex}.
struct Record {
    std::int16_t small;
    std::int32_t middle;
    std::int64_t large;
    float complex[2];
    std::int32_t untouched;
};

Layout layout_of_records(std::int64_t count) {
    const auto shape = Shape::runs({offsetof(Record, small), offsetof(Record, middle),
                                    offsetof(Record, large), offsetof(Record, complex)},
                                   {2, 4, 8, 8});
    return {shape, sizeof(Record), 0, count};
}

SignaturePtr signature_of_record() {
    return Signature::sequence(
        {{kShort, nullptr, 1}, {kInt, nullptr, 1}, {kLong, nullptr, 1}, {kComplex, nullptr, 1}});
}

std::vector<Record> records(std::size_t count) {
    std::vector<Record> list(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto n = static_cast<std::int32_t>(i);
        list[i] = {
            static_cast<std::int16_t>(n), 7 * n, -n, {1.0F * static_cast<float>(n), -1.0F}, -1};
    }
    return list;
}

std::vector<std::byte> written(Conversion& conversion, const void* user) {
    std::vector<std::byte> file(static_cast<std::size_t>(conversion.file_bytes()));
    EXPECT_EQ(conversion.to_file(static_cast<const std::byte*>(user), file).kind, ErrorKind::none);
    return file;
}

std::shared_ptr<Conversion> made(const Layout& memory, const SignaturePtr& item) {
    auto conversion = external32_conversion(memory, item);
    EXPECT_TRUE(conversion.ok());
    return *conversion;
}

TEST(External32, a_struct_is_packed_without_padding) {
    const auto conversion = made(layout_of_records(1), signature_of_record());
    ASSERT_EQ(conversion->file_bytes(), 18);
    const Record record{0x0102, 0x03040506, -2, {1.0F, -2.0F}, 0};
    const auto file = written(*conversion, &record);
    const unsigned char expected[] = {1,    2,    3,    4, 5, 6,    0xff, 0xff, 0xff,
                                      0xfe, 0x3f, 0x80, 0, 0, 0xc0, 0,    0,    0};
    EXPECT_EQ(std::memcmp(file.data(), expected, sizeof expected), 0);
}

/// The largest amount is more than one stage of the conversion, and the elements don't divide a
/// stage.
TEST(External32, reads_back_what_it_wrote_for_any_length) {
    for (const std::size_t count : {0U, 1U, 100U, 20'000U}) {
        const auto conversion =
            made(layout_of_records(static_cast<std::int64_t>(count)), signature_of_record());
        const std::vector<Record> out = records(count);
        const auto file = written(*conversion, out.data());
        ASSERT_EQ(file.size(), 18 * count);
        std::vector<Record> in(count);
        for (Record& record : in) record.untouched = 5;
        ASSERT_EQ(conversion->to_memory(file, 0, reinterpret_cast<std::byte*>(in.data())).kind,
                  ErrorKind::none);
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(in[i].small, out[i].small);
            ASSERT_EQ(in[i].middle, out[i].middle);
            ASSERT_EQ(in[i].large, out[i].large);
            ASSERT_EQ(std::memcmp(in[i].complex, out[i].complex, 8), 0);
            ASSERT_EQ(in[i].untouched, 5);
        }
    }
}

TEST(External32, a_part_of_the_file_fills_its_whole_elements_and_no_more) {
    const auto conversion = made(layout_of_records(2), signature_of_record());
    const auto out = records(2);
    const auto file = written(*conversion, out.data());
    const Bytes ends[] = {2, 6, 10, 18, 20, 24, 28, 36};         // ends of the elements in the file
    const Bytes memory_ends[] = {2, 6, 14, 22, 24, 28, 36, 44};  // ends of the elements in memory
    for (Bytes part = 0; part <= 36; ++part) {
        std::vector<Record> in(2);
        std::memset(in.data(), 0xaa, sizeof(Record) * 2);
        const auto whole = std::upper_bound(std::begin(ends), std::end(ends), part) - ends;
        EXPECT_EQ(conversion->memory_part({0, part}).length(),
                  whole == 0 ? 0 : memory_ends[whole - 1]);
        const std::span head(file.data(), static_cast<std::size_t>(part));
        ASSERT_EQ(conversion->to_memory(head, 0, reinterpret_cast<std::byte*>(in.data())).kind,
                  ErrorKind::none);
        EXPECT_EQ(in[0].small, part >= 2 ? out[0].small : std::int16_t(0xaaaa)) << part;
        EXPECT_EQ(in[1].large, part >= 28 ? out[1].large : std::int64_t(0xaaaaaaaaaaaaaaaa))
            << part;
    }
}

TEST(External32, any_part_of_the_file_fills_the_elements_that_lie_wholly_in_it) {
    const auto conversion = made(layout_of_records(3), signature_of_record());
    const auto out = records(3);
    const auto file = written(*conversion, out.data());
    const Bytes sizes[] = {2, 4, 4, 8};  // sizes of the elements in the file
    for (Bytes begin = 0; begin <= 54; ++begin) {
        for (Bytes end = begin; end <= 54; ++end) {
            std::vector<Record> in(3);
            std::memset(in.data(), 0xaa, sizeof(Record) * 3);
            std::vector<Record> wanted = in;
            Bytes at = 0, bytes = 0;
            for (std::size_t i = 0; i < 12; ++i) {
                const Bytes next = at + sizes[i % 4];
                const std::size_t lies[] = {offsetof(Record, small), offsetof(Record, middle),
                                            offsetof(Record, large), offsetof(Record, complex)};
                const std::size_t length[] = {2, 4, 8, 8};
                const std::size_t place = i / 4 * sizeof(Record) + lies[i % 4];
                if (begin <= at && next <= end) {
                    std::memcpy(reinterpret_cast<char*>(wanted.data()) + place,
                                reinterpret_cast<const char*>(out.data()) + place, length[i % 4]);
                    bytes += static_cast<Bytes>(length[i % 4]);
                }
                at = next;
            }
            const std::span part(file.data() + begin, static_cast<std::size_t>(end - begin));
            ASSERT_EQ(
                conversion->to_memory(part, begin, reinterpret_cast<std::byte*>(in.data())).kind,
                ErrorKind::none);
            ASSERT_EQ(std::memcmp(in.data(), wanted.data(), 3 * sizeof(Record)), 0);
            ASSERT_EQ(conversion->memory_part({begin, end}).length(), bytes);
        }
    }
}

/// The data has one kind of element and takes several stages, and its memory is not contiguous.
TEST(External32, uniform_data_may_be_strided) {
    constexpr std::size_t kCount = 100'000;
    std::vector<std::int32_t> values(2 * kCount);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i);
    const auto conversion =
        made({Shape::strided(Shape::run(4), kCount, 8), 8 * kCount, 0, 1},
             Signature::repeated(Signature::of(kInt), static_cast<std::int64_t>(kCount)));
    const auto file = written(*conversion, values.data());
    for (std::size_t i = 0; i < kCount; ++i) {
        std::uint32_t word = 0;
        std::memcpy(&word, file.data() + 4 * i, 4);
        ASSERT_EQ(__builtin_bswap32(word), 2 * i);
    }
}

TEST(External32, a_value_that_does_not_fit_is_an_error) {
    const std::int64_t values[] = {1, std::int64_t{1} << 40};
    const auto conversion = made({Shape::run(8), 8, 0, 2}, Signature::of(kLong));
    std::vector<std::byte> file(8);
    EXPECT_EQ(conversion->to_file(reinterpret_cast<const std::byte*>(values), file).kind,
              ErrorKind::conversion);
}

TEST(External32, a_type_without_a_form_or_too_much_data_makes_no_conversion) {
    EXPECT_EQ(
        external32_conversion({Shape::run(12), 12, 0, 1}, Signature::of(kUnknown)).error().kind,
        ErrorKind::conversion);
    EXPECT_EQ(
        external32_conversion({Shape::run(4), 4, 0, INT64_MAX}, Signature::of(kInt)).error().kind,
        ErrorKind::count);
    EXPECT_EQ(external32_size(kUnknown).error().kind, ErrorKind::conversion);
    EXPECT_EQ(*external32_size(kComplex), 8);
}

}  // namespace
}  // namespace oratorio
