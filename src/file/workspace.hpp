// SPDX-License-Identifier: BSD-3-Clause
// Workspace: what the files of the same ranks use, one file at a time: the way to the other ranks,
// the memory that a node shares, and the buffers. It costs more to make than a small access, so
// bind/ keeps it from file to file.
#pragma once

#include <memory>
#include <utility>

#include "exchange/node_shared/node_memory.hpp"
#include "memory/buffer_pool.hpp"

namespace oratorio {

struct Workspace {
    /// The most bytes kept between two files: of the node's memory, and of each rank's buffers.
    static constexpr Bytes kept_max = 32 << 20;

    explicit Workspace(std::unique_ptr<Transport> ranks) : transport(std::move(ranks)) {}
    /// Frees memory beyond kept_max, and lets a request for node memory that was refused be made
    /// again. REQUIRES: called between two files, on all ranks alike.
    void tidy() {
        buffers.trim(kept_max);
        node.tidy(kept_max);
    }

    std::unique_ptr<Transport> transport;
    NodeMemory node;
    BufferPool buffers;
    /// Number of collective accesses of all files of this workspace so far; equal on all ranks. It
    /// isn't reset between files, because the control words in `node` hold keys of earlier
    /// accesses.
    unsigned collectives = 0;
};

}  // namespace oratorio
