// SPDX-License-Identifier: BSD-3-Clause
// Flattened lists: every contiguous piece of an access written out, and a walk over such a list.
// What other implementations work with and the iterators are compared with (Hastings & Choudhary
// 2006, section 2, "flattened datatypes"). Takes 24 bytes for each piece; only the list methods use
// it.
#pragma once

#include <cstddef>
#include <vector>

#include "type/shape.hpp"

namespace oratorio {

/// The contiguous pieces of data positions [from, to) in data order, touching ones joined.
[[nodiscard]] std::vector<Extent> flatten(const Layout& layout, Bytes from, Bytes to);

/// Position in a flattened list. Data positions count from the begin of the list.
class ListCursor {
  public:
    explicit ListCursor(std::vector<Extent> pieces);

    [[nodiscard]] const std::vector<Extent>& pieces() const { return pieces_; }
    /// Data bytes of the list.
    [[nodiscard]] Bytes size() const { return before_.back(); }
    [[nodiscard]] bool at_end() const { return piece_ == pieces_.size(); }
    /// Data bytes before the current position.
    [[nodiscard]] Bytes tell_size() const { return before_[piece_] + within_; }
    /// Offset of the next data byte; the end of the last one when at the end, 0 in an empty list.
    [[nodiscard]] Offset tell_offset() const;
    /// To data position `at`, 0 <= at <= size(). O(log pieces).
    void seek_size(Bytes at);
    /// To the first data byte at or after `offset`, in a list of a monotonic layout. O(log pieces).
    void seek_offset(Offset offset);

    /// Copies the next `bytes` data bytes from where `from` stands to where `to` stands; both move
    /// on. Bases are where offset 0 of each list lies. Both have that many bytes left; source and
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
