// SPDX-License-Identifier: BSD-3-Clause
// What the parts of a method say of its cost.
#include "plan/estimate.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/flat_terms.hpp"

namespace oratorio::test {
namespace {

Situation situation_of(const FlatTerms& options, Direction direction) {
    Situation s;
    s.direction = direction;
    s.collective = true;
    s.ranks = s.ranks_with_data = 4;
    s.cores = 2;
    s.bytes = 64 << 20;
    s.bytes_max = s.bytes / 4;
    s.hull = {0, s.bytes};
    s.pieces = s.memory_pieces = s.bytes / 64;
    s.covered = true;
    s.options = &options;
    s.facts = &options;
    return s;
}

TEST(Estimate, MethodsOfDifferentPartsHaveDifferentCosts) {
    FlatTerms options;
    options.striping_unit = 4 << 20;
    const Situation s = situation_of(options, Direction::write);
    std::map<double, std::string_view> seen;
    for (const Method& method : methods()) {
        const auto [other, is_new] = seen.emplace(method.seconds(s), method.name);
        EXPECT_TRUE(is_new) << method.name << " and " << other->second;
    }
}

TEST(Estimate, IsOfThePartsNotOfTheRow) {
    const FlatTerms options;
    for (const Direction direction : {Direction::read, Direction::write}) {
        const Situation s = situation_of(options, direction);
        Method mine{.name = "mine", .summary = "", .exchange = ExchangeKind::peer};
        EXPECT_DOUBLE_EQ(mine.seconds(s), find_method("two_phase")->seconds(s));
        mine.schedule.slots = 2;
        EXPECT_DOUBLE_EQ(mine.seconds(s), find_method("double_buffer")->seconds(s));
        mine.schedule = {.aggregators_max = 1};
        EXPECT_DOUBLE_EQ(mine.seconds(s), find_method("one_writer")->seconds(s));
    }
}

TEST(Estimate, SmallerSubBuffersMeanMoreCalls) {
    const FlatTerms options;
    const Situation s = situation_of(options, Direction::write);
    const double one = find_method("two_phase")->seconds(s);
    EXPECT_GT(find_method("double_buffer")->seconds(s), one);
    EXPECT_GT(find_method("multithreaded")->seconds(s), find_method("double_buffer")->seconds(s));
    EXPECT_GT(find_method("cb_cyclic")->seconds(s), one) << "a call per block of 1 MiB";
}

}  // namespace
}  // namespace oratorio::test
