// SPDX-License-Identifier: BSD-3-Clause
// Text that programs read is the same in every locale of the user's program.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/amounts.hpp"
#include "base/string_util.hpp"
#include "file/explain_lines.hpp"
#include "plan/costs.hpp"
#include "plan/learning_text.hpp"
#include "plan/methods.hpp"
#include "plan/plan.hpp"
#include "support/comma_locale.hpp"

namespace oratorio::test::locale_test {
namespace {

/// A fixture in a locale with a decimal comma. Skips its test if such a locale can't be made.
class InACommaLocale : public testing::Test {
  protected:
    void SetUp() override {
        if (!locale_.in_use()) GTEST_SKIP() << "the command localedef is missing";
        EXPECT_STREQ(std::localeconv()->decimal_point, ",");
    }
    CommaLocale locale_;
};

TEST_F(InACommaLocale, LearnedTimesAreReadBack) {
    LearnedTimes learned;
    learned.record(learned.trial({}, {{{.method = find_method("two_phase")}, 0.5, 2}}), 0.0125);
    const std::string text = to_text(learned);
    EXPECT_NE(text.find(" 0.5 2 1 0.0125\n"), std::string::npos) << text;
    EXPECT_TRUE(parse_learned(text));
}

TEST_F(InACommaLocale, CostsAreReadBack) {
    Costs costs;
    costs.read_byte = 0.0625;
    std::vector<std::string> warnings;
    EXPECT_EQ(parse_costs(to_text(costs), Costs{}, warnings), costs);
    EXPECT_TRUE(warnings.empty()) << warnings.front();
}

TEST_F(InACommaLocale, ExplanationsAreJson) {
    const std::string line =
        explain_line("x", "access", repeated_members("/f", 1, {.times = 2, .seconds = 0.25}));
    EXPECT_EQ(nlohmann::json::parse(line)["took_seconds"], 0.25);
}

TEST_F(InACommaLocale, AmountsHaveAPoint) {
    EXPECT_EQ(seconds_text(0.0125), "12.5 ms");
    Plan plan;
    plan.method = find_method("list_io");
    plan.candidates = {{.name = "list_io", .applies = true, .seconds = 0.0125, .reason = ""}};
    EXPECT_NE(explain(plan).find("12.500 ms"), std::string::npos);
}

TEST_F(InACommaLocale, HintsMayBeInCapitals) {
    EXPECT_EQ(lower("DISABLE"), "disable");
}

}  // namespace
}  // namespace oratorio::test::locale_test
