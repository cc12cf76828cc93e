// SPDX-License-Identifier: BSD-3-Clause
// The time that the calls of a pass take, and the memory that they add.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace bench {

/// Returns seconds by a clock that all processes of a machine share. MPI_Wtime may have a different
/// origin on each rank.
double node_clock();

/// Collective. Returns the number of nodes that the ranks are on.
int nodes_of(MPI_Comm comm);

/// Records when each call of a pass, or each series of independent calls, began and ended on this
/// rank.
class CallTimes {
  public:
    void start() { starts_.push_back(node_clock()); }
    void stop() { ends_.push_back(node_clock()); }

    /// Collective. Returns the seconds of all calls together. On one machine a call lasts from the
    /// first rank's start to the last rank's end, because with more ranks than cores a rank may
    /// begin after others have finished. With several machines the slowest one counts.
    double total(MPI_Comm comm) const;

  private:
    std::vector<double> starts_;
    std::vector<double> ends_;
};

/// The largest growth of the process's memory.
class PeakMemory {
  public:
    /// Releases free memory to the system, so that it counts again when it is reused.
    PeakMemory();
    /// Returns the bytes at the peak above those at the beginning.
    std::uint64_t grown() const;

  private:
    std::uint64_t at_start_;
};

}  // namespace bench
