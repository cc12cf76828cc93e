// SPDX-License-Identifier: BSD-3-Clause
// Workspace: what files of the same ranks use one after the other, one file at a time: the way to
// the other ranks, the memory that a node shares, and the buffers. Making it costs more than a
// small access, so bind/ keeps it from file to file.
#pragma once

#include <memory>
#include <utility>

#include "base/buffer_pool.hpp"
#include "exchange/node_memory.hpp"

namespace oratorio {

struct Workspace {
    /// What is kept between two files: so much of a node's memory, and of each rank's buffers.
    static constexpr Bytes kept_max = 32 << 20;

    explicit Workspace(std::unique_ptr<Transport> ranks) : transport(std::move(ranks)) {}
    /// Between two files, on all ranks alike: gives back what is larger than kept_max, and what was
    /// refused may be asked for again.
    void tidy() {
        buffers.trim(kept_max);
        node.tidy(kept_max);
    }

    std::unique_ptr<Transport> transport;
    NodeMemory node;
    BufferPool buffers;
    /// Data accesses of all its files so far; equal on all ranks. Runs on from file to file,
    /// because the control words in `node` hold the keys of accesses before.
    unsigned collectives = 0;
};

}  // namespace oratorio
