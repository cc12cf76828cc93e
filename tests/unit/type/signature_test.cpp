// SPDX-License-Identifier: BSD-3-Clause
#include "type/signature.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace oratorio::test::signature_test {
namespace {

const Element kInt{ScalarKind::word4, 1, 4, 4, 1};
const Element kDouble{ScalarKind::word8, 1, 8, 8, 2};
const Element kLong{ScalarKind::signed_long, 1, 8, 4, 3};
const Element kPlainUnknown{ScalarKind::none, 1, 12, 0, 4};

/// A signature, and the list of elements that it represents.
struct Case {
    SignaturePtr signature;
    std::vector<Element> elements;
};

Case random_case(std::mt19937& random, int depth) {
    const Element choices[] = {kInt, kDouble, kLong};
    if (depth == 0) {
        const Element& element = choices[random() % 3];
        return {Signature::of(element), {element}};
    }
    std::vector<Signature::Part> parts;
    std::vector<Element> elements;
    for (std::size_t n = random() % 4; n > 0; --n) {
        const Case part = random_case(random, static_cast<int>(random() % depth));
        const std::int64_t count = random() % 4;
        parts.push_back({{}, part.signature, count});
        for (std::int64_t i = 0; i < count; ++i)
            elements.insert(elements.end(), part.elements.begin(), part.elements.end());
    }
    return {Signature::sequence(parts), elements};
}

TEST(Signature, walking_gives_the_elements_in_order_under_any_limits) {
    for (unsigned seed = 0; seed < 2000; ++seed) {
        std::mt19937 random(seed);
        const Case made = random_case(random, 1 + static_cast<int>(seed % 4));
        SignatureCursor cursor(made.signature);
        std::vector<Element> walked;
        while (true) {
            const Bytes limit = random() % 2 ? INT64_MAX : 8 + random() % 40;
            const auto run = cursor.next(limit, INT64_MAX);
            if (run.count == 0) break;
            ASSERT_LE(run.count * run.element->memory, limit);
            walked.insert(walked.end(), static_cast<std::size_t>(run.count), *run.element);
        }
        ASSERT_TRUE(walked == made.elements) << "seed " << seed;
    }
}

TEST(Signature, the_first_part_of_any_length_holds_its_whole_elements) {
    for (unsigned seed = 0; seed < 500; ++seed) {
        std::mt19937 random(seed);
        const Case made = random_case(random, 1 + static_cast<int>(seed % 4));
        Amount so_far;
        std::size_t next = 0;
        for (Bytes limit = 0; limit <= made.signature->total().file + 2; ++limit) {
            while (next < made.elements.size() && so_far.file + made.elements[next].file <= limit) {
                const Element& element = made.elements[next++];
                so_far += {1, element.memory, element.file};
            }
            ASSERT_EQ(made.signature->first(&Amount::file, limit), so_far) << "seed " << seed;
        }
        ASSERT_EQ(so_far, made.signature->total());
        const auto count = static_cast<std::int64_t>(made.elements.size() / 2);
        EXPECT_EQ(made.signature->first(&Amount::elements, count).elements, count);
    }
}

TEST(Signature, counts_do_not_make_it_grow) {
    const auto pair = Signature::sequence({{kInt, nullptr, 1}, {kDouble, nullptr, 1}});
    const auto many = Signature::repeated(pair, 1'000'000);
    EXPECT_EQ(many->parts().size(), 1U);
    EXPECT_EQ(many->total(), (Amount{2'000'000, 12'000'000, 12'000'000}));
    const auto ints = Signature::repeated(Signature::repeated(Signature::of(kInt), 100), 100);
    ASSERT_EQ(ints->parts().size(), 1U);
    EXPECT_EQ(ints->parts()[0].nested, nullptr);
    EXPECT_EQ(ints->parts()[0].count, 10'000);
    const auto joined = Signature::sequence({{{}, ints, 1}, {kInt, nullptr, 5}});
    EXPECT_EQ(joined->parts().size(), 1U);
}

TEST(Signature, an_element_without_a_form_spoils_the_whole) {
    const auto good = Signature::of(kInt);
    const auto bad = Signature::sequence({{{}, good, 2}, {kPlainUnknown, nullptr, 1}});
    EXPECT_TRUE(good->has_file_form());
    EXPECT_FALSE(Signature::repeated(bad, 3)->has_file_form());
}

TEST(Signature, other_file_sizes_change_nothing_else) {
    std::mt19937 random(3);
    const Case made = random_case(random, 3);
    const auto thick =
        with_file_sizes(made.signature, [](const Element&) { return Result<Bytes>(10); });
    ASSERT_TRUE(thick.ok());
    EXPECT_EQ((*thick)->total().file, 10 * made.signature->total().elements);
    EXPECT_EQ((*thick)->total().memory, made.signature->total().memory);
    const auto failed = with_file_sizes(Signature::of(kInt), [](const Element&) {
        return Result<Bytes>(Error::make(ErrorKind::conversion, "no"));
    });
    EXPECT_EQ(failed.error().kind, ErrorKind::conversion);
}

TEST(Signature, amounts_that_do_not_fit_are_the_largest) {
    const auto huge = Signature::repeated(Signature::of(kDouble), INT64_MAX / 4);
    EXPECT_EQ(huge->total().memory, INT64_MAX);
}

}  // namespace
}  // namespace oratorio::test::signature_test
