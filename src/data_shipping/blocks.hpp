// SPDX-License-Identifier: BSD-3-Clause
// The assignment of the file's blocks to agents, and the part of a layout that lies in one agent's
// blocks (data shipping). The client and the agent both walk that part, so a request can hold the
// layout in place of a list of pieces.
#pragma once

#include "type/cursor.hpp"

namespace oratorio {

/// The assignment of blocks to agents, round robin (MPI-IO/GPFS 2001, section 2.1).
struct Binding {
    Bytes block = 0;
    int agents = 0;

    [[nodiscard]] int agent_of(Offset at) const { return static_cast<int>(at / block % agents); }
};

/// A run inside one block, and the position of its data.
struct BoundRun {
    StridedRun run;   ///< count 0: no more runs
    Bytes first = 0;  ///< data position of the run's first byte; its other bytes follow
};

/// Walks the part of the data bytes [from, to) of a layout that lies in an agent's blocks, in data
/// order.
class BoundRuns {
  public:
    struct Range {
        Bytes from = 0;
        Bytes to = 0;
    };
    BoundRuns(const Layout& layout, Range range, const Binding& binding, int agent);

    /// Returns the next run, of at most `bytes_max` (> 0) bytes.
    BoundRun next(Bytes bytes_max);

  private:
    [[nodiscard]] bool find_mine();
    [[nodiscard]] StridedRun cut(StridedRun run);

    Cursor cursor_;
    Bytes to_;
    Binding binding_;
    int agent_;
    bool searchable_;
};

}  // namespace oratorio
