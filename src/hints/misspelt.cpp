// SPDX-License-Identifier: BSD-3-Clause
#include "hints/misspelt.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/string_util.hpp"
#include "hints/hint_table.hpp"
#include "hints/pairs.hpp"

namespace oratorio {

namespace {

constexpr std::array<std::string_view, 12> kVariables{
    "oratorio_costs", "oratorio_disable",     "oratorio_explain",        "oratorio_hints",
    "oratorio_learn", "oratorio_method",      "oratorio_preload",        "oratorio_quiet",
    "oratorio_trace", "oratorio_wait_notice", "oratorio_ranks_per_node", "oratorio_topology"};

/// Returns how many letters to insert, remove or change to get from one word to the other
/// (Levenshtein distance).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

std::vector<std::string_view> known_keys() {
    std::vector<std::string_view> keys(accepted_hints().begin(), accepted_hints().end());
    for (const HintRow& row : hint_rows()) keys.push_back(row.key);
    for (const HintMeaning& meaning : hint_meanings()) keys.push_back(meaning.key);
    return keys;
}

}  // namespace

std::string_view meant(std::string_view word, std::span<const std::string_view> known) {
    constexpr std::size_t kLongest = 64;  // no known word is longer
    constexpr std::size_t kShort = 6;     // a shorter word may have one wrong letter, others two
    if (word.size() > kLongest) return {};
    const std::string given = lower(word);
    std::size_t least = given.size() < kShort ? 2 : 3;
    std::string_view nearest;
    for (const std::string_view one : known) {
        const std::size_t far = distance(given, lower(one));
        if (far >= least) continue;
        least = far;
        nearest = one;
    }
    return nearest;
}

std::vector<HintWarning> misspelt_hints(const HintMap& given) {
    const auto known = known_keys();
    std::vector<HintWarning> warnings;
    for (const auto& [key, value] : given) {
        if (std::ranges::find(known, key) != known.end()) continue;
        const std::string_view instead = meant(key, known);
        if (instead.empty()) continue;
        warnings.push_back({key, "hint " + key + ": unknown and ignored; did you mean " +
                                     std::string(instead) + "?"});
    }
    return warnings;
}

std::span<const std::string_view> known_variables() {
    return kVariables;
}

std::vector<std::string> misspelt_variables(std::span<const std::string_view> names) {
    std::vector<std::string> sentences;
    for (const std::string_view name : names) {
        const std::string word = lower(name);
        if (!word.starts_with("oratorio_")) continue;
        const std::string_view instead = meant(word, kVariables);
        std::string variable(instead);
        std::ranges::transform(variable, variable.begin(), [](char c) { return upper(c); });
        if (instead.empty() || variable == name) continue;
        sentences.push_back(std::string(name) + ": unknown variable; did you mean " + variable +
                            "?");
    }
    return sentences;
}

std::vector<std::string> misspelt_pairs(std::string_view oratorio_hints) {
    std::vector<std::string> sentences;
    for (const std::string_view pair : oratorio_pairs(oratorio_hints)) {
        if (trimmed(pair).empty() || pair.find('=') != std::string_view::npos) continue;
        sentences.push_back("ORATORIO_HINTS: '" + std::string(pair) +
                            "' isn't key=value and is ignored");
    }
    return sentences;
}

}  // namespace oratorio
