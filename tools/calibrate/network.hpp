// SPDX-License-Identifier: BSD-3-Clause
// Network: what messages between two ranks cost beside their bytes, and what many bytes do. Prints
// "measured NAME NANOSECONDS" lines.
#pragma once

#include <mpi.h>

#include "base/extent.hpp"

namespace oratorio::calibrate {

/// Collective over `pair`, two ranks: half of a small message's way there and back, as `name`.
void measure_message(MPI_Comm pair, const char* name, int repeats);
/// The same: a byte, as `name`, by large messages, as many under way as an access has, and
/// endpoint_message by small ones.
void measure_stream(MPI_Comm pair, const char* name, Bytes bytes, int repeats);
/// Collective over `pair`: both are run by one kernel.
bool on_one_machine(MPI_Comm pair);
/// Collective: until all have come, without keeping a core busy.
void wait_asleep(MPI_Comm comm);

}  // namespace oratorio::calibrate
