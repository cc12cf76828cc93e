// SPDX-License-Identifier: BSD-3-Clause
// Parses pairs in text, for hints and for their checks.
#pragma once

#include <string_view>
#include <vector>

#include "base/string_util.hpp"

namespace oratorio {

/// Returns the key=value parts of ORATORIO_HINTS. Commas separate the parts. If the text has a ';'
/// or a line end, only those do, so that values may contain commas (cb_config_list).
inline std::vector<std::string_view> oratorio_pairs(std::string_view text) {
    return split(text, text.find_first_of(";\n") == std::string_view::npos ? "," : ";\n");
}

}  // namespace oratorio
