// SPDX-License-Identifier: BSD-3-Clause
// Which agent has which blocks of the file, and what of a layout lies in those of one agent. Both
// who asks and the agent walk it, so that layouts can be sent in place of lists.
#pragma once

#include "type/cursor.hpp"

namespace oratorio {

/// Blocks are bound to agents round robin (MPI-IO/GPFS 2001, section 2.1).
struct Binding {
    Bytes block = 0;
    int agents = 0;

    [[nodiscard]] int agent_of(Offset at) const { return static_cast<int>(at / block % agents); }
};

/// A run inside of one block, and where its data is.
struct BoundRun {
    StridedRun run;   ///< count 0: there is no more
    Bytes first = 0;  ///< data position of its first byte; the others follow it
};

/// Walks what of the data bytes [from, to) of a layout lies in an agent's blocks, in data order.
class BoundRuns {
  public:
    struct Range {
        Bytes from = 0;
        Bytes to = 0;
    };
    BoundRuns(const Layout& layout, Range range, const Binding& binding, int agent);

    /// At most `bytes_max` (> 0) bytes.
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
