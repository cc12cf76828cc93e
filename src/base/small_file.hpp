// SPDX-License-Identifier: BSD-3-Clause
// Small files that a user names in the environment. Whatever the name leads to, neither function
// waits without limit or takes memory without limit.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace oratorio {

inline constexpr Bytes kSmallFile = Bytes{1} << 20;

/// Returns the contents of a regular file of at most kSmallFile bytes, or "" if this process finds
/// no file of that name.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path);

/// Appends `text` to a file, which is created if necessary. Also writes to pipes and terminals, if
/// they have a reader within a second.
[[nodiscard]] Result<void> append_to_file(const std::string& path, std::string_view text);

}  // namespace oratorio
