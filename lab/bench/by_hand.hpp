// SPDX-License-Identifier: BSD-3-Clause
// The arm `by_hand`: two-phase I/O as written by users who gave up on MPI-IO (pmodels/mpich issue
// 7935). Each rank moves one large extent of the file with pwrite or pread. The ranks of a row of
// the process grid exchange their data with one MPI_Alltoallv, before a write or after a read.
#pragma once

#include "posix_pass.hpp"

namespace bench {

/// Collective. Measures a pass. An access without a row gives a sample with an error. The row's
/// communicator is created before the measurement; planning the exchange is part of the measured
/// time, as in the arms that use MPI-IO.
Sample run_by_hand(const PosixPass& pass, const Access& access, Buffer& buffer, MPI_Comm comm);

}  // namespace bench
