// SPDX-License-Identifier: BSD-3-Clause
// The time collective calls take, and the memory they add.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace bench {

/// Seconds by a clock that all processes of a machine share; MPI_Wtime may have an origin per rank.
double node_clock();

/// Collective: how many nodes the ranks are on.
int nodes_of(MPI_Comm comm);

/// When each call of a pass began and ended on this rank.
class CallTimes {
  public:
    void start() { starts_.push_back(node_clock()); }
    void stop() { ends_.push_back(node_clock()); }

    /// Collective: the seconds of all calls together. On one machine a call runs from the first
    /// rank's start to the last rank's end: with more ranks than cores a rank may begin when
    /// others have finished. Of several machines the one that took longest counts.
    double total(MPI_Comm comm) const;

  private:
    std::vector<double> starts_;
    std::vector<double> ends_;
};

/// How much a process's memory grows at its highest point.
class PeakMemory {
  public:
    /// Gives free memory back, so that it counts again when it is taken.
    PeakMemory();
    /// Bytes above those at the beginning.
    std::uint64_t grown() const;

  private:
    std::uint64_t at_start_;
};

}  // namespace bench
