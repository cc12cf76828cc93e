// SPDX-License-Identifier: BSD-3-Clause
// PieceWriter: lists where the pieces of one message lie in memory, for MPI's indexed datatypes.
// The zero-copy exchange sends and receives with these lists.
#pragma once

#include <cstdint>
#include <span>

#include "comm/message_memory.hpp"
#include "plan/plan.hpp"

namespace oratorio {

class PieceWriter {
  public:
    /// Upper bound of the bytes in one message's pieces, so that each length fits into an int.
    static constexpr Bytes bytes_max = 1 << 30;
    PieceWriter() = default;
    /// `memory` is as long as a message and holds the lists. Overwrites lists written there before.
    explicit PieceWriter(std::span<std::byte> memory)
        : most_(static_cast<std::size_t>(message_pieces_of(std::ssize(memory)))),
          addresses_(reinterpret_cast<std::intptr_t*>(memory.data())),
          lengths_(reinterpret_cast<std::int32_t*>(addresses_ + most_)) {}

    /// Returns the number of pieces that can still be added.
    [[nodiscard]] std::int64_t room() const { return static_cast<std::int64_t>(most_ - used_); }
    /// Adds a piece; extends the last one if the new piece begins where it ends. REQUIRES: room() >
    /// 0, and the message has at most bytes_max bytes with the piece.
    void add(const std::byte* at, Bytes length) {
        const auto address = reinterpret_cast<std::intptr_t>(at);
        bytes_ += length;
        if (used_ > 0 && addresses_[used_ - 1] + lengths_[used_ - 1] == address) {
            lengths_[used_ - 1] += static_cast<std::int32_t>(length);
            return;
        }
        addresses_[used_] = address;
        lengths_[used_++] = static_cast<std::int32_t>(length);
    }
    [[nodiscard]] PieceList list() const {
        return {{lengths_, used_}, {addresses_, used_}, bytes_};
    }

  private:
    std::size_t most_ = 0;
    std::size_t used_ = 0;
    std::intptr_t* addresses_ = nullptr;
    std::int32_t* lengths_ = nullptr;
    Bytes bytes_ = 0;
};

}  // namespace oratorio
