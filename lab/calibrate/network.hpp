// SPDX-License-Identifier: BSD-3-Clause
// Network: measures the cost of messages between two ranks, and of their bytes. Prints "measured
// NAME NANOSECONDS" lines.
#pragma once

#include "base/extent.hpp"
#include "mpi/host.hpp"

namespace oratorio::calibrate {

/// Collective over `pair`, which has two ranks. Measures half of the round trip of a small message,
/// and prints it as `name`.
void measure_message(MPI_Comm pair, const char* name, int repeats);
/// Collective over `pair`. Measures the cost of a byte with large messages, as many at a time as in
/// an access, and prints it as `name`. Measures endpoint_message with small messages.
void measure_stream(MPI_Comm pair, const char* name, Bytes bytes, int repeats);
/// Collective over `pair`. Returns true if one kernel runs both ranks.
bool on_one_machine(MPI_Comm pair);
/// Collective. Waits until all ranks have called it, without keeping a core busy.
void wait_asleep(MPI_Comm comm);

}  // namespace oratorio::calibrate
