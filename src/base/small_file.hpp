// SPDX-License-Identifier: BSD-3-Clause
// Small files that a user names in the environment. Neither call waits for what may never come, or
// takes memory without end, whatever the name turns out to be.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace oratorio {

inline constexpr Bytes kSmallFile = Bytes{1} << 20;

/// The whole of a regular file of at most kSmallFile bytes; "" where this process finds none
/// of that name.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path);

/// Adds `text` at the end of a file, which is made if need be. Pipes and terminals take it, too, if
/// somebody reads there within a second.
[[nodiscard]] Result<void> append_to_file(const std::string& path, std::string_view text);

}  // namespace oratorio
