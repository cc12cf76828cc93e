// SPDX-License-Identifier: BSD-3-Clause
// Tests of byte copies: each way to copy moves the same bytes, and targets that lie close behind
// their source are recognised.
#include "base/byte_copy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace oratorio::test::byte_copy_test {
namespace {

TEST(ByteCopy, CloseBehindIsUpTo31BytesWithinAPage) {
    EXPECT_FALSE(lies_close_behind(8192, 0));
    EXPECT_TRUE(lies_close_behind(8193, 0));
    EXPECT_TRUE(lies_close_behind(16 + 31, 4096 * 7 + 16));
    EXPECT_FALSE(lies_close_behind(16 + 32, 4096 * 7 + 16));
    EXPECT_TRUE(lies_close_behind(4096 + 3, 4095)) << "over the end of a page";
    EXPECT_FALSE(lies_close_behind(4095, 4096)) << "before it";
}

TEST(ByteCopy, AllWaysCopyEveryByteAndNoOther) {
    std::vector<std::byte> from(20000);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
    for (const auto copy : {copy_by_steps, copy_long}) {
        for (const std::size_t bytes : {0, 1, 511, 512, 513, 2047, 2048, 4096, 9999}) {
            for (const std::size_t shift : {0, 1, 16, 31, 32, 4095}) {
                std::vector<std::byte> to(20000, std::byte{0xaa});
                std::byte* const page = to.data() + (4096 - place_of(to.data()) % 4096);
                std::byte* const place =
                    page + (place_of(from.data()) + shift) % 4096;  // the target's place in its
                                                                    // page is `shift` bytes after
                                                                    // the source's
                copy(place, from.data(), bytes);
                EXPECT_EQ(std::memcmp(place, from.data(), bytes), 0) << bytes << ", " << shift;
                EXPECT_EQ(place[bytes], std::byte{0xaa});
                EXPECT_TRUE(place == to.data() || place[-1] == std::byte{0xaa});
            }
        }
    }
}

}  // namespace
}  // namespace oratorio::test::byte_copy_test
