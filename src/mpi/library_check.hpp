// SPDX-License-Identifier: BSD-3-Clause
// Library check: finds ranks with processes that have no Oratorio, so that an open fails on all
// others instead of waiting for them for ever. docs/internals/decisions/opening.md describes the
// messages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mpi/comm.hpp"

namespace oratorio {

struct LibraryCheck {
    /// Equal on all ranks that have the library: no error, or that some rank lacks it.
    Error error;
    /// True on one of the ranks with an error: the one that reports it to the user.
    bool speaks = false;
    /// A duplicate of the communicator, if the check has made one and all ranks have the library.
    std::optional<Comm> duplicate;
};

/// Collective over an intracommunicator of several ranks. A rank without the library is inside the
/// host's MPI_File_open, or comes there later: the check makes the same first calls as that does.
/// With MPICH the other ranks' MPI_File_open returns an error as well; with Open MPI it does not
/// return. For other hosts these calls aren't known, and the check does nothing.
[[nodiscard]] LibraryCheck check_library(MPI_Comm program);

/// Returns "2-4, 7", at most about `most` characters; the rest becomes "...".
[[nodiscard]] std::string list_of_ranks(const std::vector<Rank>& ascending, std::size_t most);

}  // namespace oratorio
