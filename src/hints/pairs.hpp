// SPDX-License-Identifier: BSD-3-Clause
// Splits the text of ORATORIO_HINTS into pairs, for parsing and for checking them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/string_util.hpp"

namespace oratorio {

/// Returns the key=value parts of ORATORIO_HINTS. A ';' or a line end separates parts. In a text
/// that has neither, a comma separates parts if a key and '=' follow it; other commas belong to a
/// value (oratorio_aggregators=0,4,8).
inline std::vector<std::string_view> oratorio_pairs(std::string_view text) {
    if (text.find_first_of(";\n") != std::string_view::npos) return split(text, ";\n");
    std::vector<std::string_view> pairs;
    for (const std::string_view part : split(text, ",")) {
        if (pairs.empty() || part.find('=') != std::string_view::npos) {
            pairs.push_back(part);
        } else if (!trimmed(part).empty()) {
            const char* const begin = pairs.back().data();
            const char* const end = part.data() + part.size();
            pairs.back() = {begin, static_cast<std::size_t>(end - begin)};
        }
    }
    return pairs;
}

}  // namespace oratorio
