// SPDX-License-Identifier: BSD-3-Clause
// ErrorsReturned: keeps errors of Oratorio's host calls away from the program's error handlers.
#pragma once

#include <array>

#include "mpi/host.hpp"

namespace oratorio {

/// While an object lives, errors on the program's communicator are returned and not passed to its
/// handler, unless the host refuses (see holds()). The last object for a communicator, on any
/// thread, restores the program's handler. Until then errors of other threads' calls are returned
/// as well.
class ErrorsReturned {
  public:
    /// Makes an object for calls that name no communicator, such as those on datatypes and infos:
    /// their errors go to the handler of MPI_COMM_SELF (since MPI 4.0) or MPI_COMM_WORLD. Does
    /// nothing if MPI has neither communicator, as with sessions alone.
    ErrorsReturned();
    explicit ErrorsReturned(MPI_Comm comm);
    ~ErrorsReturned();
    ErrorsReturned(const ErrorsReturned&) = delete;
    ErrorsReturned& operator=(const ErrorsReturned&) = delete;
    /// Returns true if errors are returned: the program's handler was replaced.
    [[nodiscard]] bool holds() const { return replaced_[0] != MPI_COMM_NULL; }

  private:
    std::array<MPI_Comm, 2> replaced_{MPI_COMM_NULL, MPI_COMM_NULL};
};

}  // namespace oratorio
