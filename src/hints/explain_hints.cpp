// SPDX-License-Identifier: BSD-3-Clause
// Explains hints to the user: where each hint comes from, its allowed values, and its effect.
#include <algorithm>

#include "base/amounts.hpp"
#include "base/string_util.hpp"
#include "hints/hint_table.hpp"
#include "hints/hints.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

std::string octal(std::int64_t value) {
    std::string text;
    for (; value > 0; value /= 8) text.insert(text.begin(), static_cast<char>('0' + value % 8));
    return text.empty() ? "0" : text;
}

std::string joined(const std::vector<std::string_view>& words) {
    std::string text;
    for (const std::string_view word : words)
        text += (text.empty() ? "" : ", ") + std::string(word);
    return text;
}

template <class Rows>
auto find_key(const Rows& rows, std::string_view key) {
    const auto found = std::ranges::find_if(rows, [&](const auto& row) { return row.key == key; });
    return found == rows.end() ? nullptr : &*found;
}

/// Describes which hints `key` sets, if it is a synonym or its value stands for other hints. A hint
/// in `given` keeps its own value.
std::string meaning_of(const std::string& key, const HintMap& given) {
    std::string set, kept;
    for (const HintMeaning& meaning : hint_meanings()) {
        const bool applies = meaning.key == key && (meaning.value.empty() ||
                                                    meaning.value == lower(trimmed(given.at(key))));
        if (!applies) continue;
        const std::string target(meaning.target);
        if (given.contains(target)) {
            kept += (kept.empty() ? "; does not change " : " and ") + target;
        } else {
            set += (set.empty() ? "; sets " : " and ") + target;
        }
    }
    if (!kept.empty()) kept += ", which is given as well";
    return set.empty() && kept.empty() ? "; not understood, ignored" : set + kept;
}

/// Describes the effect of the hint `key` in `given` for the user; `value` is the value in use.
std::string fate(const std::string& key, const HintMap& given, const std::string& value) {
    if (const HintRow* const row = find_key(hint_rows(), key)) {
        std::string text =
            value == given.at(key) ? "" : "; in use: " + (value.empty() ? "none" : value);
        if (row->role == HintRole::kept) text += "; not used yet";
        return text + "; allowed: " + allowed_values(row->kind);
    }
    if (find_key(hint_meanings(), key) != nullptr) return meaning_of(key, given);
    const auto accepted = accepted_hints();
    if (std::ranges::find(accepted, key) != accepted.end()) return "; known, but has no effect";
    return "; unknown, ignored";
}

/// Returns where a key's value comes from, even if a synonym or another key set it.
std::string_view origin_of(const std::string& key, const HintOrigins& origins) {
    if (const auto found = origins.find(key); found != origins.end()) return found->second;
    for (const HintMeaning& meaning : hint_meanings()) {
        const auto found = origins.find(std::string(meaning.key));
        if (meaning.target == key && found != origins.end()) return found->second;
    }
    return {};
}

}  // namespace

std::string explain_warning(const HintWarning& warning, const HintOrigins& origins) {
    const std::string_view origin = origin_of(warning.key, origins);
    if (origin.empty()) return warning.sentence;
    return warning.sentence + " (from " + std::string(origin) + ")";
}

std::vector<std::string_view> hint_words(const HintKind& kind) {
    if (kind.syntax == HintSyntax::toggle) return {"enable", "disable", "automatic"};
    if (kind.syntax == HintSyntax::boolean) return {"true", "false"};
    if (kind.syntax == HintSyntax::choice) return split(kind.choices, " ");
    if (kind.syntax != HintSyntax::method) return {};
    std::vector<std::string_view> words{kAnyMethod};
    for (const Method& method : methods()) words.push_back(method.name);
    return words;
}

std::string allowed_values(const HintKind& kind) {
    if (kind.memory)
        return counted(static_cast<std::uint64_t>(kind.low), "byte") + " to the machine's limit";
    if (kind.syntax == HintSyntax::number)
        return std::to_string(kind.low) + " to " + std::to_string(kind.high);
    if (kind.syntax == HintSyntax::octal)
        return "octal " + octal(kind.low) + " to " + octal(kind.high);
    if (kind.syntax == HintSyntax::config_list) return "host:n,...; * matches any host";
    if (kind.syntax == HintSyntax::rank_list)
        return "ranks" + (kind.high < kRankMost ? " 0 to " + std::to_string(kind.high) : "") +
               ", each once, separated by commas";
    return joined(hint_words(kind));
}

std::string explain_hints(const HintMap& given, const HintOrigins& origins, const Hints& in_use) {
    const HintMap report = report_hints(in_use);
    std::string text;
    for (const auto& [key, value] : given) {
        const auto used = report.find(key);
        text += "  " + key + " = " + value + ", from " + std::string(origin_of(key, origins));
        text += fate(key, given, used != report.end() ? used->second : "") + "\n";
    }
    return text;
}

}  // namespace oratorio
