// SPDX-License-Identifier: BSD-3-Clause
// Explanations as JSON lines: each line is an object that any JSON parser reads.
#include "file/explain_lines.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "file/striping_advice.hpp"
#include "plan/methods.hpp"

namespace oratorio::test::explain_lines_test {
namespace {

using Json = nlohmann::json;

Plan made_plan() {
    Plan plan;
    plan.method = find_method("list_io");
    plan.why = "the \"cheapest\"";
    plan.collective = true;
    plan.direction = Direction::write;
    plan.candidates = {{.name = "list_io", .applies = true, .seconds = 0.5, .reason = ""},
                       {.name = "sieve", .applies = false, .reason = "there is none"}};
    return plan;
}

TEST(ExplainLines, ALineHasItsKindItsTextAndMore) {
    const std::string line = explain_line("a \"b\"\n", "locks", locks_members("/p\n", "seen"));
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const Json expected = {
        {"kind", "locks"}, {"text", "a \"b\"\n"}, {"path", "/p\n"}, {"sentence", "seen"}};
    EXPECT_EQ(Json::parse(line), expected);
    EXPECT_EQ(Json::parse(explain_line("x", "remark", "")),
              (Json{{"kind", "remark"}, {"text", "x"}}));
}

TEST(ExplainLines, AFileWithTooFewTargetsHasTheirNumbers) {
    const StripingAdvice advice{
        .bytes = 1 << 30, .targets = 1, .proposed = 4, .known = true, .command = "lfs"};
    const Json told = Json::parse(explain_line("x", "striping", striping_members("/f", advice)));
    const Json expected = {
        {"kind", "striping"}, {"text", "x"},  {"path", "/f"},  {"sentence", advice.sentence()},
        {"bytes", 1 << 30},   {"targets", 1}, {"proposed", 4}, {"command", "lfs"}};
    EXPECT_EQ(told, expected);
}

TEST(ExplainLines, APlanHasItsMethodItsFactsAndItsCandidates) {
    const Explanation explanation{.fingerprint = "x",
                                  .full = "",
                                  .brief = "",
                                  .advice = "less",
                                  .members = plan_members(made_plan(), "external32")};
    const ExplainedEnd end{.bytes = 1 << 20, .ranks = 2, .seconds = 0.25};
    const JsonMembers members = access_members("/f", 3, end, explanation);
    const Json told = Json::parse(explain_line("text", "access", members));
    EXPECT_EQ(told["path"], "/f");
    EXPECT_EQ(told["number"], 3);
    EXPECT_EQ(told["bytes"], 1 << 20);
    EXPECT_EQ(told["ranks"], 2);
    EXPECT_EQ(told["took_seconds"], 0.25);
    EXPECT_EQ(told["mib_per_second"], 4);
    EXPECT_EQ(told["advice"], "less");
    EXPECT_EQ(told["method"], "list_io");
    EXPECT_EQ(told["why"], "the \"cheapest\"");
    EXPECT_EQ(told["collective"], true);
    EXPECT_EQ(told["direction"], "write");
    EXPECT_EQ(told["facts"]["what"], find_method("list_io")->summary);
    EXPECT_EQ(told["facts"]["conversion"], "the file's data is in external32");
    const Json first = {{"method", "list_io"}, {"seconds", 0.5}, {"reason", ""}};
    const Json second = {{"method", "sieve"}, {"seconds", nullptr}, {"reason", "there is none"}};
    EXPECT_EQ(told["candidates"], Json({first, second}));
}

TEST(ExplainLines, AnAccessWithoutAPlanHasTheSameMembers) {
    const Json planned = Json::parse("{" + plan_members(made_plan(), "") + "}");
    const Json other = Json::parse("{" + unplanned_members(Direction::read, false, "why") + "}");
    for (const auto& [key, value] : planned.items()) EXPECT_TRUE(other.contains(key)) << key;
    EXPECT_EQ(other["method"], nullptr);
}

TEST(ExplainLines, AFailedOrShortAccessHasNoRate) {
    ExplainedEnd end{.bytes = 1 << 20, .seconds = 0.25, .cut_short = true};
    const Explanation none{.members = "\"method\":null"};
    const auto rate = [&] {
        return Json::parse("{" + access_members("/f", 1, end, none) + "}")["mib_per_second"];
    };
    EXPECT_EQ(rate(), nullptr);
    end.cut_short = false;
    EXPECT_EQ(rate(), 4);
    end.error = Error::make(ErrorKind::io, "");
    EXPECT_EQ(rate(), nullptr);
}

TEST(ExplainLines, RepetitionsAndTheEndAreNumbers) {
    const Repeated again{.times = 4, .bytes = 64, .seconds = 0.5};
    EXPECT_EQ(
        Json::parse("{" + repeated_members("/f", 1, again) + "}"),
        (Json{{"path", "/f"}, {"number", 1}, {"times", 4}, {"bytes", 64}, {"took_seconds", 0.5}}));
    EXPECT_EQ(Json::parse("{" + end_members("0.2.0", 6, 2) + "}"),
              (Json{{"version", "0.2.0"}, {"accesses", 6}, {"files", 2}}));
}

}  // namespace
}  // namespace oratorio::test::explain_lines_test
