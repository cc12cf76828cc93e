// SPDX-License-Identifier: BSD-3-Clause
// Checks that the worked example of docs/internals/adding-a-method.md does what the page says. The
// engine's suite, linked to the same table of methods, checks that it moves every byte.
#include <gtest/gtest.h>

#include "plan/methods.hpp"
#include "unit/plan/plan_support.hpp"

namespace oratorio::test {
namespace {

TEST(ExampleMethod, EachPartOfADomainComesOnceAndTheLastOneFirst) {
    FlatTerms options;
    options.method = find_method("descending");
    options.cb_buffer_size = 1 << 20;
    const Plan plan = plan_of(interleaved(4, 8, 1 << 20), options);
    ASSERT_EQ(plan.method->name, "descending");
    ASSERT_GT(plan.rounds, 2);
    Bytes owned = 0;
    for (int index = 0; index < static_cast<int>(plan.aggregators.size()); ++index) {
        for (std::int64_t round = 0; round < plan.rounds; ++round) {
            const Region region = plan.region(index, round);
            owned += region.bytes();
            if (round == 0 || plan.region(index, round - 1).empty()) continue;
            EXPECT_LT(region.begin, plan.region(index, round - 1).begin) << index << ' ' << round;
        }
    }
    EXPECT_EQ(owned, plan.hull.length());
}

}  // namespace
}  // namespace oratorio::test
