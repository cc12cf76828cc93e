// SPDX-License-Identifier: BSD-3-Clause
// Reads hints from their sources, merges them, and makes the ranks agree on the same ones.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/string_util.hpp"
#include "hints/hint_table.hpp"
#include "hints/hints.hpp"
#include "hints/pairs.hpp"
#include "hints/site_settings.hpp"

namespace oratorio {

namespace {

void add_pair(HintMap& hints, std::string_view text, char separator) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) return;
    const std::string_view key = trimmed(text.substr(0, at));
    // If a key is given twice, its first value counts.
    if (!key.empty()) hints.emplace(key, trimmed(text.substr(at + 1)));
}

/// Parses "key value" lines; '#' begins a comment. A line with a NUL byte isn't text and is
/// skipped.
HintMap romio_file(std::string_view text) {
    HintMap hints;
    for (const std::string_view line : split(text, "\n")) {
        if (line.find('\0') != std::string_view::npos) continue;
        std::string entry(trimmed(line.substr(0, line.find('#'))));
        std::ranges::replace(entry, '\t', ' ');
        add_pair(hints, entry, ' ');
    }
    return hints;
}

HintMap oratorio_variable(std::string_view text) {
    HintMap hints;
    for (const std::string_view pair : oratorio_pairs(text)) add_pair(hints, pair, '=');
    return hints;
}

/// Returns the hint that a variable sets, or nothing if the variable isn't set.
HintMap own_variable(const char* key, const std::string& text) {
    return text.empty() ? HintMap{} : HintMap{{key, text}};
}

struct Source {
    std::string_view name;
    HintMap hints;
};

/// Returns the sources of hints, from the weakest to the strongest.
std::vector<Source> by_strength(const HintSources& sources, const HintMap& info,
                                std::string_view path) {
    std::vector<Source> all{
        {"ROMIO_HINTS or /etc/romio-hints", romio_file(sources.romio_hints_text)}};
    for (const SiteHint& hint : sources.site_hints)
        all.push_back({hint.variable, {{hint.key, hint.value}}});
    all.push_back({"MPICH_MPIIO_HINTS", mpich_hints(sources.mpich_mpiio_hints, path)});
    all.push_back({"ORATORIO_METHOD", own_variable("oratorio_method", sources.oratorio_method)});
    all.push_back({"ORATORIO_LEARN", own_variable("oratorio_learn", sources.oratorio_learn)});
    all.push_back({"ORATORIO_HINTS", oratorio_variable(sources.oratorio_hints)});
    all.push_back({"the program's info", info});
    return all;
}

/// Returns the keys that `key` sets: the targets of its rows in hint_meanings(), or `key` itself if
/// it has none.
std::set<std::string_view> targets_of(std::string_view key) {
    std::set<std::string_view> targets;
    for (const HintMeaning& meaning : hint_meanings()) {
        if (meaning.key == key) targets.insert(meaning.target);
    }
    if (targets.empty()) targets.insert(key);
    return targets;
}

/// Adds stronger hints to `hints`, in place of weaker ones. A stronger key also removes each weaker
/// key that sets nothing but hints that the stronger key sets too, such as a synonym.
void overlay(HintMap& hints, const HintMap& stronger) {
    for (const auto& [key, value] : stronger) {
        const auto targets = targets_of(key);
        std::erase_if(hints, [&](const auto& weaker) {
            return std::ranges::includes(targets, targets_of(weaker.first));
        });
    }
    for (const auto& [key, value] : stronger) hints.insert_or_assign(key, value);
}

void add_text(std::string& all, std::string_view text) {
    const auto length = static_cast<std::uint64_t>(text.size());
    all.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
}

/// Removes and returns the next text that add_text() has added; returns nothing if the text is
/// incomplete.
std::optional<std::string> take_text(std::string_view& all) {
    std::uint64_t length = 0;
    if (all.size() < sizeof length) return std::nullopt;
    std::memcpy(&length, all.data(), sizeof length);
    all.remove_prefix(sizeof length);
    if (length > all.size()) return std::nullopt;
    std::string text(all.substr(0, length));
    all.remove_prefix(length);
    return text;
}

/// Added to the number of differing ranks by a rank that can't decode the hints; larger than any
/// number of ranks.
constexpr std::uint64_t kUnreadable = std::uint64_t{1} << 32;

}  // namespace

std::string encode_hints(const HintMap& hints) {
    std::string text;
    for (const auto& [key, value] : hints) {
        add_text(text, key);
        add_text(text, value);
    }
    return text;
}

std::optional<HintMap> decode_hints(std::string_view text) {
    HintMap hints;
    while (!text.empty()) {
        const auto key = take_text(text);
        const auto value = take_text(text);
        if (!key || !value) return std::nullopt;
        hints.emplace(*key, *value);
    }
    return hints;
}

HintMap merge_hints(const HintSources& sources, const HintMap& info, std::string_view path) {
    HintMap merged;
    for (const Source& source : by_strength(sources, info, path)) overlay(merged, source.hints);
    return merged;
}

HintOrigins hint_origins(const HintSources& sources, const HintMap& info, std::string_view path) {
    HintOrigins origins;
    for (const Source& source : by_strength(sources, info, path)) {
        for (const auto& [key, value] : source.hints) origins.insert_or_assign(key, source.name);
    }
    return origins;
}

Result<Agreed<AgreedHints>> agree_on_hints(Transport& transport, const GivenHints& mine) {
    struct Head {
        std::uint64_t length;
        std::uint64_t learned;  ///< bytes of learned times at the end of the text
        Bytes buffer_most;
    };
    std::string text = encode_hints(mine.map) + mine.learned;
    const auto head =
        agree_on_root(transport, Head{text.size(), mine.learned.size(), mine.buffer_most});
    if (!head) return head.error();
    text.resize((*head)->length);
    if (!text.empty()) {
        if (auto sent = broadcast(transport, 0, std::as_writable_bytes(std::span(text))); !sent)
            return sent.error();
    }
    const std::size_t pairs = text.size() - std::min<std::size_t>((*head)->learned, text.size());
    std::string learned = text.substr(pairs);
    auto given = decode_hints(std::string_view(text).substr(0, pairs));
    const std::uint64_t differs = !given ? kUnreadable : *given == mine.map ? 0U : 1U;
    const auto counted = agree_on_sums(transport, std::array{differs});
    if (!counted) return counted.error();
    const std::uint64_t differing = (**counted)[0];
    if (differing >= kUnreadable)
        return Error::make(ErrorKind::internal, "a rank can't read the hints that rank 0 sent");
    return Agreed<AgreedHints>::vouch(
        {{std::move(*given), (*head)->buffer_most, std::move(learned)}, differing});
}

}  // namespace oratorio
