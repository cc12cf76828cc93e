// SPDX-License-Identifier: BSD-3-Clause
// What hints and their sources do with text.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace oratorio {

inline std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

/// The parts that aren't empty.
inline std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(separators), text.size());
        if (end > 0) parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

/// The key=value parts of ORATORIO_HINTS. A ';' or a line end anywhere makes commas part of the
/// values, as cb_config_list needs.
inline std::vector<std::string_view> oratorio_pairs(std::string_view text) {
    return split(text, text.find_first_of(";\n") == std::string_view::npos ? "," : ";\n");
}

}  // namespace oratorio
