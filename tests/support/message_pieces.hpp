// SPDX-License-Identifier: BSD-3-Clause
// Pieces: the memory of a message, as the transports of tests store it. They copy the caller's list
// of pieces, because the list need not outlive the start of the message.
#pragma once

#include <algorithm>
#include <vector>

#include "comm/message_memory.hpp"

namespace oratorio::test {

template <class Byte>
using Pieces = std::vector<std::span<Byte>>;

template <class Byte>
Pieces<Byte> pieces_of(const MessageMemory<Byte>& memory) {
    if (!memory.in_pieces()) return {memory.whole()};
    const PieceList& list = memory.pieces();
    Pieces<Byte> pieces;
    for (std::size_t i = 0; i < list.lengths.size(); ++i)
        pieces.emplace_back(reinterpret_cast<Byte*>(list.addresses[i]),
                            static_cast<std::size_t>(list.lengths[i]));
    return pieces;
}

template <class Byte>
std::size_t size_of(const Pieces<Byte>& pieces) {
    std::size_t bytes = 0;
    for (const auto piece : pieces) bytes += piece.size();
    return bytes;
}

inline std::vector<std::byte> gathered(const Pieces<const std::byte>& pieces) {
    std::vector<std::byte> data;
    data.reserve(size_of(pieces));
    for (const auto piece : pieces) data.insert(data.end(), piece.begin(), piece.end());
    return data;
}

/// A list of a message's memory pieces in the form that the transport's calls accept.
class ListOf {
  public:
    template <class Byte>
    explicit ListOf(const Pieces<Byte>& pieces) {
        for (const auto piece : pieces) {
            lengths_.push_back(static_cast<std::int32_t>(piece.size()));
            addresses_.push_back(reinterpret_cast<std::intptr_t>(piece.data()));
            bytes_ += std::ssize(piece);
        }
    }
    [[nodiscard]] PieceList list() const { return {lengths_, addresses_, bytes_}; }

  private:
    std::vector<std::int32_t> lengths_;
    std::vector<std::intptr_t> addresses_;
    Bytes bytes_ = 0;
};

/// Copies the data into the pieces, one after the other, until the data ends.
inline void scatter(std::span<const std::byte> data, const Pieces<std::byte>& pieces) {
    for (const auto piece : pieces) {
        const std::size_t bytes = std::min(data.size(), piece.size());
        std::ranges::copy(data.first(bytes), piece.begin());
        data = data.subspan(bytes);
    }
}

}  // namespace oratorio::test
