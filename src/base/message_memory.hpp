// SPDX-License-Identifier: BSD-3-Clause
// MessageMemory: where the bytes of one message lie: in one place, or in pieces that a list names.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/extent.hpp"

namespace oratorio {

/// Pieces of memory in the order of a message, as the indexed datatypes of MPI take them.
struct PieceList {
    std::span<const std::int32_t> lengths;     ///< bytes of each, none below 0
    std::span<const std::intptr_t> addresses;  ///< of each
    Bytes bytes = 0;                           ///< of all
};

template <class Byte>
class MessageMemory {
  public:
    template <class Whole>
    requires std::convertible_to<Whole, std::span<Byte>> MessageMemory(Whole&& whole)
        : whole_(whole) {}
    MessageMemory(const PieceList& pieces) : in_pieces_(true), pieces_(pieces) {}

    [[nodiscard]] bool in_pieces() const { return in_pieces_; }
    /// Where it isn't in pieces.
    [[nodiscard]] std::span<Byte> whole() const { return whole_; }
    /// Where it is.
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
