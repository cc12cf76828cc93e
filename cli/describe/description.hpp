// SPDX-License-Identifier: BSD-3-Clause
// The description of the library as JSON: the tables that the Python tools read.
#pragma once

#include <string>

namespace oratorio {

/// The version of the document's schema (docs/user/stability.md).
inline constexpr int kDescriptionSchema = 1;

/// Returns the JSON document, one table row per line.
[[nodiscard]] std::string description();

}  // namespace oratorio
