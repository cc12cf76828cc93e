// SPDX-License-Identifier: BSD-3-Clause
// Workspace: what the files of the same ranks use, one file at a time: the transport, the memory
// that a node shares, the buffers and the learned times. It costs more to make than a small access,
// so bind/ keeps it from file to file.
#pragma once

#include <memory>
#include <utility>

#include "exchange/node_shared/node_memory.hpp"
#include "memory/buffer_pool.hpp"
#include "plan/learning.hpp"

namespace oratorio {

/// Gives each collective run a number, counted over all files of a workspace. Equal on all ranks.
/// The numbers continue from file to file, because the control words in node memory hold keys of
/// earlier runs.
class RunNumbers {
  public:
    /// Returns the number of the collective run that begins now.
    unsigned next() { return begun_++; }

  private:
    unsigned begun_ = 0;
};

struct Workspace {
    /// Maximum number of bytes kept between two files: of the node's memory, and of each rank's
    /// buffers.
    static constexpr Bytes kept_max = 32 << 20;

    explicit Workspace(std::unique_ptr<Transport> ranks) : transport(std::move(ranks)) {}
    /// Frees unused buffers until at most kept_max bytes are left, and the node's memory if it is
    /// larger than kept_max. If node memory was refused, it may be requested again afterwards.
    /// REQUIRES: all ranks call it, between two files.
    void tidy() {
        buffers.trim(kept_max);
        node.tidy(kept_max);
    }

    std::unique_ptr<Transport> transport;
    NodeMemory node;
    BufferPool buffers;
    RunNumbers numbers;
    LearnedTimes learned;  ///< equal on all ranks
};

}  // namespace oratorio
