// SPDX-License-Identifier: BSD-3-Clause
// RemoteData: the data of another rank of the node, accessed by cross-memory attach
// (process_vm_readv and process_vm_writev).
#pragma once

#include <sys/uio.h>

#include <vector>

#include "exchange/data_port.hpp"
#include "exchange/node_shared/node_memory.hpp"

namespace oratorio {

class RemoteData {
  public:
    /// Opens the data that the mailbox of `rank` describes; fetches its layouts from that rank's
    /// memory. REQUIRES: the mailbox's `ready` has the key of this access.
    static Result<RemoteData> open(const NodeMemory& node, Rank rank);

    /// Returns how much data the rank has in the region, and where.
    [[nodiscard]] RoundContents contents(const Region& region);
    /// Moves the rank's data in the region between its memory and `buffer`, and marks it in the
    /// buffer's write mask. Reads stop at `valid_until`. Returns the bytes moved.
    Result<Bytes> move(const Region& region, const RoundBuffer& buffer, Direction direction,
                       Offset valid_until);
    [[nodiscard]] Offset plan_begin() const { return plan_begin_; }

  private:
    static Result<RemoteData> fetch(const NodeMemory& node, Rank rank);
    RemoteData(Layout file, Layout memory) : file_(std::move(file)), memory_(std::move(memory)) {}
    /// Lists the next bytes of data, at most `bytes`, as pieces on both sides; returns the bytes
    /// listed.
    Bytes collect(Bytes bytes, std::byte* base);

    Cursor file_;
    Cursor memory_;
    int process_ = 0;
    std::uint64_t user_ = 0;
    Bytes from_ = 0;
    Bytes to_ = 0;
    Offset plan_begin_ = 0;
    std::vector<iovec> here_;
    std::vector<iovec> there_;
};

}  // namespace oratorio
