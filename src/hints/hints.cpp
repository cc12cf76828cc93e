// SPDX-License-Identifier: BSD-3-Clause
#include "hints/hints.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <concepts>
#include <optional>
#include <set>
#include <type_traits>

#include "base/amounts.hpp"
#include "base/string_util.hpp"
#include "hints/hint_table.hpp"
#include "hints/misspelt.hpp"
#include "plan/aggregators.hpp"
#include "plan/methods.hpp"
#include "plan/plan.hpp"

namespace oratorio {

namespace {

enum class Verdict { good, malformed, out_of_range, too_much };

/// Parses a number: decimal, hexadecimal with 0x, or octal if `base` is 8. The whole text must be
/// the number.
std::optional<std::int64_t> parse_number(std::string_view text, int base) {
    if (base == 10 && (text.starts_with("0x") || text.starts_with("0X"))) {
        text.remove_prefix(2);
        base = 16;
        if (text.starts_with('-')) return {};
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error == std::errc::result_out_of_range)
        return text.starts_with('-') ? INT64_MIN : INT64_MAX;
    if (error != std::errc{} || end != text.data() + text.size()) return {};
    return value;
}

template <class Number>
Verdict assign_number(const HintKind& kind, std::string_view text, Number& member) {
    const auto value = parse_number(text, kind.syntax == HintSyntax::octal ? 8 : 10);
    if (!value) return Verdict::malformed;
    member = static_cast<Number>(std::clamp(*value, kind.low, kind.high));
    if (member == *value) return Verdict::good;
    return kind.memory && *value > kind.high ? Verdict::too_much : Verdict::out_of_range;
}

Verdict assign(const HintKind&, std::string_view text, Toggle& member) {
    const std::string word = lower(text);
    if (word == "enable" || word == "true") {
        member = Toggle::enable;
    } else if (word == "disable" || word == "false") {
        member = Toggle::disable;
    } else if (word == "automatic") {
        member = Toggle::automatic;
    } else {
        return Verdict::malformed;
    }
    return Verdict::good;
}

Verdict assign(const HintKind&, std::string_view text, bool& member) {
    const std::string word = lower(text);
    const bool yes = word == "true" || word == "enable" || word == "1";
    if (!yes && word != "false" && word != "disable" && word != "0") return Verdict::malformed;
    member = yes;
    return Verdict::good;
}

/// Assigns a choice by its name. The names are in the order of the enum.
template <class Choice>
requires std::is_enum_v<Choice> Verdict assign(const HintKind& kind, std::string_view text,
                                               Choice& member) {
    const auto names = split(kind.choices, " ");
    const auto found = std::ranges::find(names, text);
    if (found == names.end()) return Verdict::malformed;
    member = static_cast<Choice>(found - names.begin());
    return Verdict::good;
}

Verdict assign(const HintKind&, std::string_view text, const Method*& member) {
    const Method* const found = find_method(text);
    if (found == nullptr && text != kAnyMethod) return Verdict::malformed;
    member = found;
    return Verdict::good;
}

/// Assigns a list of hosts (cb_config_list).
Verdict assign(const HintKind&, std::string_view text, std::string& member) {
    std::string list(text);
    if (list.find(' ') != std::string::npos || parse_config_list(list).empty())
        return Verdict::malformed;
    member = std::move(list);
    return Verdict::good;
}

Verdict assign(const HintKind& kind, std::string_view text, SharedList<Rank>& member) {
    std::vector<Rank> ranks;
    for (const std::string_view part : split(text, ",")) {
        const auto value = parse_number(trimmed(part), 10);
        if (!value) return Verdict::malformed;
        if (*value < kind.low || *value > kind.high) return Verdict::out_of_range;
        ranks.push_back(static_cast<Rank>(*value));
    }
    const std::set<Rank> different(ranks.begin(), ranks.end());
    if (ranks.empty() || different.size() < ranks.size()) return Verdict::malformed;
    member = std::move(ranks);
    return Verdict::good;
}

Verdict assign(const HintRow& row, std::string_view text, Hints& hints) {
    return std::visit(
        [&](auto member) {
            auto& value = member(hints);
            if constexpr (std::is_same_v<decltype(value), Bytes&> ||
                          std::is_same_v<decltype(value), int&>) {
                return assign_number(row.kind, text, value);
            } else {
                return assign(row.kind, text, value);
            }
        },
        row.member);
}

template <std::integral Number>
std::string print(const HintKind& kind, Number value) {
    char text[24];
    const int base = kind.syntax == HintSyntax::octal ? 8 : 10;
    return {text, std::to_chars(text, text + sizeof text, value, base).ptr};
}
std::string print(const HintKind&, Toggle value) {
    return value == Toggle::automatic ? "automatic"
           : value == Toggle::enable  ? "enable"
                                      : "disable";
}
std::string print(const HintKind&, bool value) {
    return value ? "true" : "false";
}
std::string print(const HintKind&, const std::string& value) {
    return value;
}
std::string print(const HintKind&, const SharedList<Rank>& value) {
    std::string text;
    for (const Rank rank : value) text += (text.empty() ? "" : ",") + std::to_string(rank);
    return text;
}
std::string print(const HintKind&, const Method* value) {
    return std::string(value == nullptr ? kAnyMethod : value->name);
}
template <class Choice>
requires std::is_enum_v<Choice> std::string print(const HintKind& kind, Choice value) {
    return std::string(split(kind.choices, " ")[static_cast<std::size_t>(value)]);
}

std::string print(const HintRow& row, Hints& hints) {
    return std::visit([&](auto member) { return print(row.kind, member(hints)); }, row.member);
}

HintWarning warning(std::string_view key, std::string_view given, std::string_view what) {
    return {std::string(key),
            "hint " + std::string(key) + ": '" + std::string(given) + "' " + std::string(what)};
}

/// Suggests what a value was meant to be, or lists the allowed values.
std::string allowed_instead(const HintKind& kind, std::string_view given) {
    if (const std::string_view instead = meant(given, hint_words(kind)); !instead.empty())
        return " (did you mean " + std::string(instead) + "?)";
    return " (allowed: " + allowed_values(kind) + ")";
}

HintWarning warning(const HintRow& row, Verdict verdict, std::string_view given, Hints& hints) {
    std::string what = verdict == Verdict::malformed  ? "is not understood"
                       : verdict == Verdict::too_much ? "exceeds the machine's limit"
                                                      : "is out of range";
    if (verdict != Verdict::too_much) what += allowed_instead(row.kind, given);
    const std::string used = print(row, hints);
    return warning(row.key, given,
                   what + "; " + (used.empty() ? "it is ignored" : used + " is used"));
}

/// Returns `given` with the hints that its keys set by SYNONYM and MEANS rows, unless `given` sets
/// those hints itself. Records such keys in hints.accepted, but keys of MEANS rows only if a row
/// has their value.
HintMap expand(const HintMap& given, Hints& hints, std::vector<HintWarning>& warnings) {
    HintMap expanded = given;
    HintMap misunderstood;
    for (const HintMeaning& meaning : hint_meanings()) {
        const auto found = given.find(std::string(meaning.key));
        if (found == given.end()) continue;
        if (!meaning.value.empty() && lower(trimmed(found->second)) != meaning.value) {
            misunderstood.insert(*found);
            continue;
        }
        hints.accepted[found->first] = found->second;
        expanded.emplace(meaning.target,
                         meaning.target_value.empty() ? found->second : meaning.target_value);
    }
    for (const auto& [key, value] : misunderstood) {
        const auto accepted = hints.accepted.find(key);
        if (accepted != hints.accepted.end() && accepted->second == value) continue;
        warnings.push_back(warning(key, value, "is not understood; it is ignored"));
    }
    return expanded;
}

/// Reduces the number of messages in flight so that their memory, which grows with their number and
/// their length, fits into `buffer_most`.
void bound_messages(Hints& hints, std::vector<HintWarning>& warnings, Bytes buffer_most) {
    const Bytes together = 4 * message_bytes_of(hints.plan);
    const auto most = static_cast<int>(std::clamp<Bytes>(buffer_most / together, 1, INT_MAX));
    if (hints.plan.messages_in_flight <= most) return;
    warnings.push_back(warning("oratorio_messages_in_flight",
                               std::to_string(hints.plan.messages_in_flight),
                               "exceeds the machine's limit for messages of " +
                                   bytes_text(static_cast<double>(message_bytes_of(hints.plan))) +
                                   "; " + std::to_string(most) + " is used"));
    hints.plan.messages_in_flight = most;
}

}  // namespace

ParsedHints parse_hints(const HintMap& given, const Hints& start, Bytes buffer_most, int ranks) {
    ParsedHints parsed{start, misspelt_hints(given)};
    auto& [hints, warnings] = parsed;
    const HintMap expanded = expand(given, hints, warnings);
    for (HintRow row : hint_rows()) {
        const auto found = expanded.find(std::string(row.key));
        if (found == expanded.end()) continue;
        if (row.kind.memory)
            row.kind.high = std::max(row.kind.low, std::min(row.kind.high, buffer_most));
        if (row.kind.syntax == HintSyntax::rank_list)
            row.kind.high = std::min<std::int64_t>(row.kind.high, ranks - 1);
        const Verdict verdict = assign(row, trimmed(found->second), hints);
        if (verdict != Verdict::good)
            warnings.push_back(warning(row, verdict, found->second, hints));
    }
    hints.buffer_given = hints.buffer_given || expanded.contains("cb_buffer_size");
    if (!hints.buffer_given) hints.plan.cb_buffer_size = default_buffer(hints.plan);
    if (expanded.contains("oratorio_messages_in_flight"))
        bound_messages(hints, warnings, buffer_most);
    for (const std::string_view key : accepted_hints()) {
        const auto found = given.find(std::string(key));
        if (found != given.end()) hints.accepted.insert_or_assign(found->first, found->second);
    }
    return parsed;
}

HintMap report_hints(const Hints& hints) {
    HintMap report = hints.accepted;
    Hints values = hints;  // the rows access members through non-const references
    Hints initial;
    for (const HintRow& row : hint_rows()) {
        const std::string value = print(row, values);
        if (!row.initial.empty() || value != print(row, initial))
            report[std::string(row.key)] = value;
    }
    // A synonym reports the value in use, not the text that was given.
    for (const HintMeaning& meaning : hint_meanings()) {
        const auto told = report.find(std::string(meaning.key));
        const auto target = report.find(std::string(meaning.target));
        if (!meaning.value.empty() || told == report.end()) continue;
        if (target == report.end()) {
            report.erase(told);
        } else {
            told->second = target->second;
        }
    }
    report["romio_visibility_immediate"] = "true";
    return report;
}

}  // namespace oratorio
