// SPDX-License-Identifier: BSD-3-Clause
// RemoteData: the data of another rank of the node, reached by cross-memory attach.
#pragma once

#include <sys/uio.h>

#include <vector>

#include "exchange/node_memory.hpp"
#include "exchange/runs.hpp"

namespace oratorio {

class RemoteData {
  public:
    /// What the desk of `rank` speaks of; its layouts are fetched from that rank's memory.
    static Result<RemoteData> open(const NodeMemory& node, Rank rank);

    /// What the rank has in the region.
    [[nodiscard]] RoundContents contents(const Region& region);
    /// Moves the rank's data in the region between its memory and `buffer`, whose mask says so;
    /// reads stop at `valid_until`. Gives the bytes moved.
    Result<Bytes> move(const Region& region, const RoundBuffer& buffer, Direction direction,
                       Offset valid_until);
    [[nodiscard]] Offset plan_begin() const { return plan_begin_; }

  private:
    static Result<RemoteData> fetch(const NodeMemory& node, Rank rank);
    RemoteData(Layout file, Layout memory) : file_(std::move(file)), memory_(std::move(memory)) {}
    /// The next at most `bytes` of data, as pieces here and there; gives how many bytes they hold.
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
