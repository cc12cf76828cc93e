// SPDX-License-Identifier: BSD-3-Clause
#include "type/copy.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/typemap_oracle.hpp"

namespace oratorio::test::copy_test {
namespace {

using test::random_bytes;
using test::SpanMemory;
using test::TypemapGenerator;
using Buffer = std::vector<std::byte>;

/// Calls `step(bytes)` until `total` bytes are done, in random portions.
template <class Step>
void in_portions(TypemapGenerator& generator, std::size_t total, Step step) {
    for (std::size_t done = 0; done < total;) {
        const auto portion = static_cast<std::size_t>(generator.between(1, 300));
        const std::size_t bytes = std::min(portion, total - done);
        step(done, bytes);
        done += bytes;
    }
}

TEST(GatherScatter, UnpackThenPackIsTheIdentity) {
    std::int64_t unpacked = 0;
    for (std::uint64_t seed = 0; seed < 1200; ++seed) {
        TypemapGenerator generator(seed, TypemapGenerator::Style::any);
        const auto [layout, bytes] = generator.layout(4);
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + layout.shape->describe());
        const test::TypemapFacts facts = test::facts_of(bytes);
        SpanMemory memory(facts.span, 7);
        if (!facts.repeated) {
            SpanMemory expected = memory;
            const Buffer in = random_bytes(bytes.size(), 3);
            for (std::size_t i = 0; i < bytes.size(); ++i) expected.at(bytes[i]) = in[i];
            Cursor cursor(layout);
            in_portions(generator, in.size(), [&](std::size_t done, std::size_t size) {
                scatter_bytes(cursor, memory.base(), std::span(in).subspan(done, size));
            });
            ASSERT_EQ(memory.data, expected.data);
            ASSERT_TRUE(cursor.at_end());
            ++unpacked;
        }
        Buffer packed(bytes.size());
        Buffer expected(bytes.size());
        for (std::size_t i = 0; i < bytes.size(); ++i) expected[i] = memory.at(bytes[i]);
        Cursor cursor(layout);
        in_portions(generator, packed.size(), [&](std::size_t done, std::size_t size) {
            gather_bytes(cursor, memory.base(), std::span(packed).subspan(done, size));
        });
        ASSERT_EQ(packed, expected);
        ASSERT_TRUE(cursor.at_end());
    }
    EXPECT_GT(unpacked, 500);
}

TEST(GatherScatter, AbsoluteAddressesNeedNoBase) {
    Buffer memory = random_bytes(64, 5);
    const auto address = static_cast<Offset>(reinterpret_cast<std::intptr_t>(memory.data()));
    Cursor cursor(Layout{Shape::moved(Shape::strided(Shape::run(2), 3, 20), address), 0, 0, 1});
    Buffer out(6);
    gather_bytes(cursor, nullptr, out);
    EXPECT_EQ(out, (Buffer{memory[0], memory[1], memory[20], memory[21], memory[40], memory[41]}));
}

}  // namespace
}  // namespace oratorio::test::copy_test
