// SPDX-License-Identifier: BSD-3-Clause
// Standard error, where the library's messages go: the one that the process was started with. A
// program may have closed descriptor 2 since, and have opened a file of data in its place.
#pragma once

#include <string_view>

namespace oratorio {

/// Writes `text` in one piece, so that lines of several ranks stay whole. Does nothing if the
/// process was started without standard error, or has replaced it before its first call of MPI. A
/// reader that has gone is no error, and no signal (SIGPIPE) comes. Allocates no memory.
void write_to_standard_error(std::string_view text);

}  // namespace oratorio
