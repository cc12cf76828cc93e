// SPDX-License-Identifier: BSD-3-Clause
// Cutter: the messages of one rank to one region, cut as exchange/own_data cuts them, without data.
#pragma once

#include <span>
#include <vector>

#include "exchange/messages/rounds.hpp"
#include "plan/domains.hpp"
#include "type/cursor.hpp"
#include "type/run_table.hpp"

namespace oratorio::count {

/// A piece of the file, and the number of its run. Runs of different ranks have different numbers.
struct OwnedPiece {
    Extent extent;
    std::int64_t run = 0;
};

/// The messages of one sender to one region.
struct Cut {
    std::int64_t messages = 0;
    std::int64_t pieces = 0;
    Bytes payload = 0;
    Bytes described = 0;  ///< heads and tables of runs
};

class Cutter {
  public:
    /// `message` is scratch memory for tables of runs, as long as the longest message. With
    /// `whole_pieces`, as in two layers, a message ends before a piece that it would split, if the
    /// next message has room for the whole piece.
    Cutter(const Layout& layout, std::span<std::byte> message, bool whole_pieces = false)
        : whole_pieces_(whole_pieces),
          file_(layout),
          bytes_(layout.size()),
          room_(std::ssize(message) - static_cast<Bytes>(sizeof(MessageHead))),
          table_(message) {}

    /// Cuts the messages to one region. There is at least one message, even without data.
    Cut cut(const Region& region);
    /// Appends the pieces in the region, in the order of the file. Run numbers continue from the
    /// last one in `pieces`.
    void append(const Region& region, std::vector<OwnedPiece>& pieces);

  private:
    void enter(const Region& region, std::int64_t& extent);
    /// Returns the next run, of at most `most` bytes. If none is left in this extent, returns a
    /// run with count 0 and enters the next extent.
    StridedRun next(const Region& region, std::int64_t& extent, Bytes most);

    bool whole_pieces_;
    Cursor file_;
    Bytes bytes_;
    Bytes room_;
    std::span<std::byte> table_;
};

}  // namespace oratorio::count
