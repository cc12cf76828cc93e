// SPDX-License-Identifier: BSD-3-Clause
// Finds misspelt hints and variables. MPI requires unknown hints to be ignored, but a name close to
// a known one is probably a mistake.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hints/hints.hpp"

namespace oratorio {

/// Returns the known word that was probably meant by `word`; "" if no known word is close. Ignores
/// differences of case.
[[nodiscard]] std::string_view meant(std::string_view word,
                                     std::span<const std::string_view> known);

/// Returns a warning for each unknown key that is close to a known one.
[[nodiscard]] std::vector<HintWarning> misspelt_hints(const HintMap& given);

/// Returns the environment variables that the library or its command line reads, in lower case.
[[nodiscard]] std::span<const std::string_view> known_variables();

/// Returns a sentence for each unknown ORATORIO_ variable that is close to a known one.
[[nodiscard]] std::vector<std::string> misspelt_variables(std::span<const std::string_view> names);

/// Returns a sentence for each part of the text of ORATORIO_HINTS that isn't key=value.
[[nodiscard]] std::vector<std::string> misspelt_pairs(std::string_view oratorio_hints);

}  // namespace oratorio
