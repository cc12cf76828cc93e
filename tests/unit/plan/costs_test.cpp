// SPDX-License-Identifier: BSD-3-Clause
// The costs of the cost model as text: what a file of constants may contain, and what happens to
// errors in it.
#include "plan/costs.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace oratorio::test::costs_test {
namespace {

/// Returns the costs in `text`. REQUIRES: the text is valid.
Costs parsed(const std::string& text) {
    std::vector<std::string> warnings;
    const Costs costs = parse_costs(text, Costs{}, warnings);
    EXPECT_TRUE(warnings.empty()) << text << ": " << warnings.front();
    return costs;
}

/// Returns costs in which each constant differs from the others and from its default.
Costs all_different() {
    Costs costs;
    double value = 1001;
#define COST(name, memory, disk, server, doc) costs.name = value++;
#include "plan/costs.def"
#undef COST
    return costs;
}

TEST(Costs, TextHoldsEveryConstant) {
    const Costs costs = all_different();
    EXPECT_EQ(parsed(to_text(costs)), costs);
    EXPECT_EQ(parsed(to_text({})), Costs{});
    EXPECT_NE(costs, Costs{});
}

TEST(Costs, NodesOfOneMachineUseTheBesideConstants) {
    Costs expected = all_different();
    expected.far_message = expected.beside_message;
    expected.far_byte = expected.beside_byte;
    EXPECT_EQ(on_one_machine(all_different()), expected);
}

TEST(Costs, TextDescribesEachConstant) {
    const std::string text = to_text({});
#define COST(name, memory, disk, server, doc) \
    EXPECT_NE(text.find("# " doc "\n"), std::string::npos) << #name;
#include "plan/costs.def"
#undef COST
}

TEST(Costs, SmallAndLargeValuesSurviveTheText) {
    Costs costs;
    costs.read_byte = 0.01234;
    costs.collective = 9.875e11;
    EXPECT_EQ(parsed(to_text(costs)), costs);
    costs.collective = 999'999'999'999;
    EXPECT_EQ(parsed(to_text(costs)).collective, 1e12) << "rounded, but not refused";
}

TEST(Costs, MissingConstantsKeepTheirDefaults) {
    Costs expected;
    EXPECT_EQ(parsed(""), expected);
    expected.wake = 12.5;
    EXPECT_EQ(parsed("wake 12.5"), expected);
    expected.read_call = 7;
    EXPECT_EQ(parsed("wake 12.5\nread_call 7\n"), expected);
}

TEST(Costs, FileSystemsHaveTheirOwnDefaults) {
    EXPECT_EQ(built_in_costs(Storage::memory), Costs{});
    const Costs disk = built_in_costs(Storage::disk);
    EXPECT_LT(disk.map_read_page, Costs{}.map_read_page);  // the page cache of a disk's file system
                                                           // has large pages
    std::vector<std::string> warnings;
    Costs expected = disk;
    expected.wake = 12.5;
    EXPECT_EQ(parse_costs("wake 12.5", disk, warnings), expected);
}

TEST(Costs, ACallThatAsksAServerIsExpensive) {
    const Costs disk = built_in_costs(Storage::disk);
    const Costs server = built_in_costs(Storage::server);
    EXPECT_GT(server.read_call, 50 * disk.read_call);
    EXPECT_GT(server.write_call, 50 * disk.write_call);
    EXPECT_EQ(server.copy_byte, disk.copy_byte);
}

TEST(Costs, IgnoresCommentsBlanksAndLineEnds) {
    Costs expected;
    expected.wake = 3;
    expected.read_call = 2e3;
    EXPECT_EQ(parsed("# wake 4\n\n  \t\n\twake \t 3 # not 5\r\nread_call 2e3\r\n#"), expected);
}

TEST(Costs, AnEqualsSignMayPrecedeTheNumber) {
    Costs expected;
    expected.wake = 3;
    for (const char* line : {"wake=3", "wake = 3", "wake= 3", "wake =3"})
        EXPECT_EQ(parsed(line), expected) << line;
}

TEST(Costs, TheLastOfEqualNamesCounts) {
    Costs expected;
    expected.wake = 2;
    EXPECT_EQ(parsed("wake 1\nwake 2\n"), expected);
}

class RefusedLine : public testing::TestWithParam<const char*> {};

TEST_P(RefusedLine, IsIgnoredAndReported) {
    const std::string line = GetParam();
    std::vector<std::string> warnings;
    Costs expected;
    expected.wake = 5;
    expected.read_byte = 6;
    EXPECT_EQ(parse_costs("wake 5\n" + line + "\nread_byte 6\n", Costs{}, warnings), expected);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_TRUE(warnings[0].ends_with(": " + line)) << warnings[0];
}

INSTANTIATE_TEST_SUITE_P(Malformed, RefusedLine,
                         testing::Values("read_call", "read_call =", "read_call == 5",
                                         "read_call many", "read_call 5x", "read_call 5 6",
                                         "read_call 5,6", "read_call 0x5", "7", "read_call +",
                                         "read_call e5"));
INSTANTIATE_TEST_SUITE_P(NotAboveZero, RefusedLine,
                         testing::Values("read_call 0", "read_call -0.0", "read_call -5"));
INSTANTIATE_TEST_SUITE_P(NoNumberToReckonWith, RefusedLine,
                         testing::Values("read_call nan", "read_call -nan", "read_call inf",
                                         "read_call 1.1e12", "read_call 1e400",
                                         "read_call 1e-400"));
INSTANTIATE_TEST_SUITE_P(UnknownName, RefusedLine,
                         testing::Values("read_calls 5", "Read_call 5", "read 5", "5 read_call"));

TEST(Costs, ReportsEveryRefusedLine) {
    std::vector<std::string> warnings{"told before"};
    EXPECT_EQ(parse_costs("one\ntwo 2\nwake -3\n", Costs{}, warnings), Costs{});
    ASSERT_EQ(warnings.size(), 4U);
    EXPECT_EQ(warnings[0], "told before");
}

}  // namespace
}  // namespace oratorio::test::costs_test
