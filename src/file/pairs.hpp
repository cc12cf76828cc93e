// SPDX-License-Identifier: BSD-3-Clause
// Pairs in text, as hints and their checks read them.
#pragma once

#include <string_view>
#include <vector>

#include "base/words.hpp"

namespace oratorio {

/// The key=value parts of ORATORIO_HINTS. A ';' or a line end anywhere makes commas part of the
/// values, as cb_config_list needs.
inline std::vector<std::string_view> oratorio_pairs(std::string_view text) {
    return split(text, text.find_first_of(";\n") == std::string_view::npos ? "," : ";\n");
}

}  // namespace oratorio
