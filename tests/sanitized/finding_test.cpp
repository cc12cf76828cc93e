// SPDX-License-Identifier: BSD-3-Clause
// A finding of a sanitizer ends the program, so that no test passes with a finding in its log.
#include <gtest/gtest.h>

#include <climits>
#include <cstddef>
#include <vector>

namespace {

TEST(Finding, OfUndefinedBehaviourEndsATest) {
    volatile int largest = INT_MAX;
    EXPECT_DEATH(largest = largest + 1, "signed integer overflow");
}

TEST(Finding, OfMemoryThatIsGoneEndsATest) {
    std::vector<std::byte> bytes(8);
    const volatile std::byte* past = bytes.data() + bytes.size();
    EXPECT_DEATH(static_cast<void>(*past), "heap-buffer-overflow");
}

}  // namespace
