// SPDX-License-Identifier: BSD-3-Clause
// The rows of hints.def as values, for the parser, the reports and the tests.
#pragma once

#include <climits>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hints/hints.hpp"

namespace oratorio {

/// The largest rank in a list, if the number of ranks isn't known.
inline constexpr Rank kRankMost = INT_MAX - 1;

enum class HintSyntax { number, octal, toggle, boolean, choice, method, config_list, rank_list };

/// How the text of a value is parsed, and which values are valid.
struct HintKind {
    HintSyntax syntax;
    std::int64_t low = 0;           ///< smallest valid number, octal number or rank
    std::int64_t high = 0;          ///< largest valid number, octal number or rank
    std::string_view choices = "";  ///< choice: names, separated by blanks, in the order of the
                                    ///< enum
    bool memory = false;            ///< number: bytes that a rank will allocate
};

enum class HintRole { acts, kept };

using HintMember =
    std::variant<Bytes& (*)(Hints&), int& (*)(Hints&), Toggle& (*)(Hints&), bool& (*)(Hints&),
                 std::string& (*)(Hints&), const Method*& (*)(Hints&), StoreChoice& (*)(Hints&),
                 ProgressChoice& (*)(Hints&), LockChoice& (*)(Hints&), LearnChoice& (*)(Hints&),
                 DomainsChoice& (*)(Hints&), SharedList<Rank>& (*)(Hints&),
                 StripingChoice& (*)(Hints&)>;

struct HintRow {
    std::string_view key;
    HintKind kind;
    HintMember member;
    std::string_view initial;  ///< default; "": the hint has none, and is reported only if set
    HintRole role;
};

/// The rule that `key`=`value` sets `target`=`target_value`. In the rule of a synonym, both values
/// are empty: `target` gets any value of `key` unchanged.
struct HintMeaning {
    std::string_view key;
    std::string_view value;
    std::string_view target;
    std::string_view target_value;
};

/// Describes the allowed values for the user.
[[nodiscard]] std::string allowed_values(const HintKind& kind);
/// Returns the words that are allowed as values; none if the values of this kind aren't words.
[[nodiscard]] std::vector<std::string_view> hint_words(const HintKind& kind);
/// The value of oratorio_method that asks for no particular method.
inline constexpr std::string_view kAnyMethod = "auto";

[[nodiscard]] std::span<const HintRow> hint_rows();
[[nodiscard]] std::span<const HintMeaning> hint_meanings();
[[nodiscard]] std::span<const std::string_view> accepted_hints();

}  // namespace oratorio
