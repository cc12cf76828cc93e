// SPDX-License-Identifier: BSD-3-Clause
#include "file/explain_lines.hpp"

#include <cstdio>

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

std::string heading_members(Direction direction, bool collective, std::string_view why) {
    return std::string("\"collective\":") + (collective ? "true" : "false") + "," +
           member("direction", name_of(direction)) + "," + member("why", why);
}

std::string candidate_object(const Candidate& candidate) {
    std::string seconds = "null";
    if (candidate.applies) {
        char digits[32];
        std::snprintf(digits, sizeof digits, "%.9g", candidate.seconds);
        seconds = digits;
    }
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
        text += "," + member("conversion", "the file has " + std::string(conversion));
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

JsonMembers access_members(std::string_view path, int number, const JsonMembers& access) {
    return member("path", path) + "," + member("number", static_cast<std::uint64_t>(number)) + "," +
           access;
}

JsonMembers repeated_members(std::string_view path, int number, int times) {
    return member("path", path) + "," + member("number", static_cast<std::uint64_t>(number)) + "," +
           member("times", static_cast<std::uint64_t>(times));
}

JsonMembers locks_members(std::string_view path, std::string_view sentence) {
    return member("path", path) + "," + member("sentence", sentence);
}

JsonMembers end_members(std::string_view version, std::uint64_t accesses, std::uint64_t files) {
    return member("version", version) + "," + member("accesses", accesses) + "," +
           member("files", files);
}

}  // namespace oratorio
