// SPDX-License-Identifier: BSD-3-Clause
#include "file/explain_lines.hpp"

#include "base/decimal.hpp"
#include "file/striping_advice.hpp"
#include "file/trace_file.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

std::string member(std::string_view key, std::string_view value) {
    return quoted(key) + ":" + quoted(value);
}

std::string member(std::string_view key, std::uint64_t value) {
    return quoted(key) + ":" + std::to_string(value);
}

std::string digits(double value) {
    return general_text(value, 9);
}

std::string member(std::string_view key, double value) {
    return quoted(key) + ":" + digits(value);
}

std::string number_member(int number) {
    return member("number", static_cast<std::uint64_t>(number));
}

std::string heading_members(Direction direction, bool collective, std::string_view why) {
    return std::string("\"collective\":") + (collective ? "true" : "false") + "," +
           member("direction", name_of(direction)) + "," + member("why", why);
}

std::string candidate_object(const Candidate& candidate) {
    const std::string seconds = candidate.applies ? digits(candidate.seconds) : "null";
    return "{" + member("method", candidate.name) + ",\"seconds\":" + seconds + "," +
           member("reason", candidate.reason) + "}";
}

}  // namespace

std::string explain_line(std::string_view text, std::string_view kind, const JsonMembers& members) {
    return "{" + member("kind", kind) + "," + member("text", text) +
           (members.empty() ? "" : "," + members) + "}\n";
}

JsonMembers plan_members(const Plan& plan, std::string_view conversion) {
    std::string text = heading_members(plan.direction, plan.collective, plan.why) + "," +
                       member("method", plan.method->name) + ",\"facts\":{";
    std::string_view separator;
    for (const PlanFact& fact : facts_of(plan)) {
        text += separator;
        text += member(fact.key, fact.text);
        separator = ",";
    }
    if (!conversion.empty())
        text += "," + member("conversion", "the file's data is in " + std::string(conversion));
    text += "},\"candidates\":[";
    separator = "";
    for (const Candidate& candidate : plan.candidates) {
        text += separator;
        text += candidate_object(candidate);
        separator = ",";
    }
    return text + "]";
}

JsonMembers unplanned_members(Direction direction, bool collective, std::string_view why) {
    return heading_members(direction, collective, why) +
           ",\"method\":null,\"facts\":{},\"candidates\":[]";
}

JsonMembers access_members(std::string_view path, int number, const ExplainedEnd& end,
                           const Explanation& explanation) {
    constexpr double kMebi = 1 << 20;
    const bool has_rate = end.complete() && end.seconds > 0;
    const double rate = has_rate ? static_cast<double>(end.bytes) / kMebi / end.seconds : 0;
    return member("path", path) + "," + number_member(number) + "," + explanation.members + "," +
           member("bytes", static_cast<std::uint64_t>(end.bytes)) + "," +
           member("ranks", static_cast<std::uint64_t>(end.ranks)) + "," +
           member("took_seconds", end.seconds) +
           ",\"mib_per_second\":" + (has_rate ? digits(rate) : "null") + "," +
           member("advice", explanation.advice);
}

JsonMembers repeated_members(std::string_view path, int number, const Repeated& again) {
    return member("path", path) + "," + number_member(number) + "," +
           member("times", static_cast<std::uint64_t>(again.times)) + "," +
           member("bytes", static_cast<std::uint64_t>(again.bytes)) + "," +
           member("took_seconds", again.seconds);
}

JsonMembers account_members(std::string_view path, const Stats& sums) {
    std::string text = member("path", path) + ",\"counters\":{";
    std::string_view separator;
#define COUNTER(name, unit, description)                     \
    text.append(separator).append(member(#name, sums.name)); \
    separator = ",";
#include "stats/counters.def"
#undef COUNTER
    return text + "}";
}

JsonMembers striping_members(std::string_view path, const StripingAdvice& advice) {
    return member("path", path) + "," + member("sentence", advice.sentence()) + "," +
           member("bytes", static_cast<std::uint64_t>(advice.bytes)) + "," +
           member("targets", static_cast<std::uint64_t>(advice.targets)) + "," +
           member("proposed", static_cast<std::uint64_t>(advice.proposed)) + "," +
           member("command", advice.command);
}

JsonMembers locks_members(std::string_view path, std::string_view sentence) {
    return member("path", path) + "," + member("sentence", sentence);
}

JsonMembers end_members(std::string_view version, std::uint64_t accesses, std::uint64_t files) {
    return member("version", version) + "," + member("accesses", accesses) + "," +
           member("files", files);
}

}  // namespace oratorio
