// SPDX-License-Identifier: BSD-3-Clause
// Library check: finds ranks whose processes have not loaded Oratorio, so that an open fails on all
// other ranks instead of waiting forever. docs/internals/decisions/opening.md describes the
// messages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mpi/comm.hpp"

namespace oratorio {

struct LibraryCheck {
    /// Set on all ranks that have the library if some rank lacks it. Also set on a rank where the
    /// check itself fails.
    Error error;
    /// True on the rank that reports the error to the user. Some errors are reported by no rank.
    bool speaks = false;
    /// A duplicate of the communicator, if the check has made one and all ranks have the library.
    std::optional<Comm> duplicate;
};

/// Collective over an intracommunicator of several ranks. Finds ranks without the library. Such a
/// rank is inside the host's MPI_File_open, or will call it, so the check makes the first calls
/// that the host's MPI_File_open makes. With MPICH that rank's MPI_File_open returns an error as
/// well; with Open MPI it does not return. For other hosts these calls aren't known, and the check
/// does nothing.
[[nodiscard]] LibraryCheck check_library(MPI_Comm program);

/// Returns a list such as "2-4, 7" of at most about `most` characters; the rest becomes "...".
[[nodiscard]] std::string list_of_ranks(const std::vector<Rank>& ascending, std::size_t most);

}  // namespace oratorio
