// SPDX-License-Identifier: BSD-3-Clause
// MessageMemory: the memory of one message, either one block or a list of pieces.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/extent.hpp"

namespace oratorio {

/// Pieces of memory in the order of a message, in the form that MPI's indexed datatypes need.
struct PieceList {
    std::span<const std::int32_t> lengths;     ///< bytes of each piece, none negative
    std::span<const std::intptr_t> addresses;  ///< address of each piece
    Bytes bytes = 0;                           ///< total length of the pieces
};

template <class Byte>
class MessageMemory {
  public:
    template <class Whole>
    requires std::convertible_to<Whole, std::span<Byte>> MessageMemory(Whole&& whole)
        : whole_(whole) {}
    MessageMemory(const PieceList& pieces) : in_pieces_(true), pieces_(pieces) {}

    [[nodiscard]] bool in_pieces() const { return in_pieces_; }
    /// Returns the block. REQUIRES: !in_pieces().
    [[nodiscard]] std::span<Byte> whole() const { return whole_; }
    /// Returns the pieces. REQUIRES: in_pieces().
    [[nodiscard]] const PieceList& pieces() const { return pieces_; }
    [[nodiscard]] Bytes bytes() const { return in_pieces_ ? pieces_.bytes : std::ssize(whole_); }

  private:
    bool in_pieces_ = false;
    std::span<Byte> whole_;
    PieceList pieces_;
};

using SendMemory = MessageMemory<const std::byte>;
using ReceiveMemory = MessageMemory<std::byte>;

}  // namespace oratorio
