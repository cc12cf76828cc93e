// SPDX-License-Identifier: BSD-3-Clause
#include "hints/hint_table.hpp"

#include <algorithm>
#include <array>
#include <climits>

namespace oratorio {

namespace {

// The kinds of values, as hints.def names them.
constexpr std::int64_t TiB = std::int64_t{1} << 40;
constexpr HintKind bytes(std::int64_t low, std::int64_t high) {
    return {HintSyntax::number, low, high};
}
constexpr HintKind memory(std::int64_t low) {
    return {HintSyntax::number, low, TiB, "", true};
}
constexpr HintKind integer(std::int64_t low, std::int64_t high) {
    return {HintSyntax::number, low, high};
}
constexpr HintKind octal(std::int64_t low, std::int64_t high) {
    return {HintSyntax::octal, low, high};
}
constexpr HintKind toggle() {
    return {HintSyntax::toggle};
}
constexpr HintKind boolean() {
    return {HintSyntax::boolean};
}
constexpr HintKind one_of(std::string_view names) {
    return {HintSyntax::choice, 0, 0, names};
}
constexpr HintKind method() {
    return {HintSyntax::method};
}
constexpr HintKind config_list() {
    return {HintSyntax::config_list};
}
constexpr HintKind rank_list() {
    return {HintSyntax::rank_list, 0, kRankMost};
}

#define HINT(key, kind, member, initial, role, doc)
#define SYNONYM(key, target, doc)
#define MEANS(key, value, target, target_value, doc)
#define REPORTED(key, doc)
#define ACCEPTED(key, doc)

#undef HINT
#define HINT(key, kind, member, initial, role, doc)                       \
    HintRow{#key, kind, +[](Hints & hints) -> auto& {return hints.member; \
    }                                                                     \
    , initial, HintRole::role                                             \
    }                                                                     \
    ,
constexpr std::array kRows{
#include "hints/hints.def"
};
#undef HINT
#define HINT(key, kind, member, initial, role, doc)

/// Returns true if each choice has a name for every value of its enum.
consteval bool choices_are_complete() {
    return std::ranges::all_of(kRows, [](const HintRow& row) {
        return std::visit(
            [&row]<class Value>(Value& (*)(Hints&)) {
                if constexpr (requires { Value::count; })
                    return std::ranges::count(row.kind.choices, ' ') + 1 ==
                           static_cast<std::ptrdiff_t>(Value::count);
                return row.kind.syntax != HintSyntax::choice;
            },
            row.member);
    });
}
static_assert(choices_are_complete());

#undef SYNONYM
#undef MEANS
#define SYNONYM(key, target, doc) HintMeaning{#key, "", #target, ""},
#define MEANS(key, value, target, target_value, doc) \
    HintMeaning{#key, value, #target, target_value},
constexpr std::array kMeanings{
#include "hints/hints.def"
};
#undef SYNONYM
#undef MEANS
#define SYNONYM(key, target, doc)
#define MEANS(key, value, target, target_value, doc)

#undef ACCEPTED
#define ACCEPTED(key, doc) std::string_view(#key),
constexpr std::array kAccepted{
#include "hints/hints.def"
};

}  // namespace

std::span<const HintRow> hint_rows() {
    return kRows;
}
std::span<const HintMeaning> hint_meanings() {
    return kMeanings;
}
std::span<const std::string_view> accepted_hints() {
    return kAccepted;
}

}  // namespace oratorio
