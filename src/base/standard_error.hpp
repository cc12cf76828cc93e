// SPDX-License-Identifier: BSD-3-Clause
// Writes the library's messages to the standard error that the process was started with. The
// program may have closed descriptor 2 since, and may have opened a data file in its place.
#pragma once

#include <string_view>

namespace oratorio {

/// Writes `text` in one piece, so that lines of several ranks stay whole. Does nothing if the
/// process was started without standard error or, with the preload library, if the program had
/// replaced it before its first call of MPI. If standard error is a pipe without a reader, the text
/// is lost; the program receives no SIGPIPE. Allocates no memory.
void write_to_standard_error(std::string_view text);

}  // namespace oratorio
