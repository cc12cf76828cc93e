// SPDX-License-Identifier: BSD-3-Clause
// Small files, most of them named by the user in the environment. Whatever kind of file the name
// leads to, both functions limit the time that they wait and the memory that they use.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace oratorio {

inline constexpr Bytes kSmallFile = Bytes{1} << 20;

/// Returns the contents of a file, or "" if there is no file of that name or this process may not
/// open it. Fails if the file is not a regular file or is longer than kSmallFile bytes.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path);

/// Appends `text` to a file, which is created if necessary. Also writes to pipes and terminals;
/// fails if a pipe has no reader, or stays full for a second.
[[nodiscard]] Result<void> append_to_file(const std::string& path, std::string_view text);

}  // namespace oratorio
