// SPDX-License-Identifier: BSD-3-Clause
// Flattened lists: every contiguous piece of an access written out, and a walk over such a list.
// Other implementations of MPI-IO work with such lists (Hastings & Choudhary 2006, section 2,
// "flattened datatypes"). This library uses them only in the method shared_buffer_list, to which it
// compares its iterators. A list takes 24 bytes per piece.
#pragma once

#include <cstddef>
#include <vector>

#include "type/shape.hpp"

namespace oratorio {

/// Returns the contiguous pieces of data positions [from, to) in data order, with touching ones
/// joined.
[[nodiscard]] std::vector<Extent> flatten(const Layout& layout, Bytes from, Bytes to);

/// A flattened list and a position in it. Data positions count from the start of the list.
class ListCursor {
  public:
    explicit ListCursor(std::vector<Extent> pieces);

    [[nodiscard]] const std::vector<Extent>& pieces() const { return pieces_; }
    /// Returns the number of data bytes in the list.
    [[nodiscard]] Bytes size() const { return before_.back(); }
    [[nodiscard]] bool at_end() const { return piece_ == pieces_.size(); }
    /// Returns the number of data bytes before the current position.
    [[nodiscard]] Bytes tell_size() const { return before_[piece_] + within_; }
    /// Returns the offset of the next data byte; at the end, the end of the last piece; 0 in an
    /// empty list.
    [[nodiscard]] Offset tell_offset() const;
    /// Moves to data position `at`. Takes O(log pieces) time. REQUIRES: 0 <= at <= size().
    void seek_size(Bytes at);
    /// Moves to the first data byte at or after `offset`. Takes O(log pieces) time. REQUIRES: the
    /// list is that of a monotonic layout.
    void seek_offset(Offset offset);

    /// Copies the next `bytes` data bytes at `from` to `to`, and advances both. The bases are the
    /// addresses of offset 0 of each list. REQUIRES: both have that many bytes left; source and
    /// target don't overlap.
    friend void copy_between(ListCursor& to, std::byte* to_base, ListCursor& from,
                             const std::byte* from_base, Bytes bytes);

  private:
    [[nodiscard]] Bytes left() const { return pieces_[piece_].length() - within_; }
    void advance(Bytes bytes) {
        within_ += bytes;
        if (within_ == pieces_[piece_].length()) {
            ++piece_;
            within_ = 0;
        }
    }

    std::vector<Extent> pieces_;
    std::vector<Bytes> before_;  ///< data bytes before each piece, and the total at the end
    std::size_t piece_ = 0;
    Bytes within_ = 0;
};

}  // namespace oratorio
