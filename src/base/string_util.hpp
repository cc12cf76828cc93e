// SPDX-License-Identifier: BSD-3-Clause
// Helpers for short texts, such as hints and constants of the cost model.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace oratorio {

/// Returns the letter in lower case. Changes letters of ASCII only, whatever the program's locale
/// is: in a Turkish one std::tolower('I') isn't 'i'.
constexpr char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
/// Returns the letter in upper case. Changes letters of ASCII only.
constexpr char upper(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

inline std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](char c) { return lower(c); });
    return result;
}

/// Returns `text` without leading and trailing blanks and line ends.
inline std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Returns the parts of `text` between characters of `separators`, without empty parts.
inline std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(separators), text.size());
        if (end > 0) parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

}  // namespace oratorio
