// SPDX-License-Identifier: BSD-3-Clause
// What users have misspelt: MPI wants unknown hints to be ignored, but nobody means those that are
// nearly known.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "file/hints.hpp"

namespace oratorio {

/// The one of `known` that `word` was probably meant to be, in any case; "" when there is none.
[[nodiscard]] std::string_view meant(std::string_view word,
                                     std::span<const std::string_view> known);

/// One for each key that isn't known but nearly is.
[[nodiscard]] std::vector<HintWarning> misspelt_hints(const HintMap& given);

/// A sentence for each name of a variable that begins as ours do, isn't known but nearly is.
[[nodiscard]] std::vector<std::string> misspelt_variables(std::span<const std::string_view> names);

/// A sentence for each part of the text of ORATORIO_HINTS that isn't key=value.
[[nodiscard]] std::vector<std::string> misspelt_pairs(std::string_view oratorio_hints);

}  // namespace oratorio
