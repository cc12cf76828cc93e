// SPDX-License-Identifier: BSD-3-Clause
// Streamed copies: write a target that won't be read again soon past the caches, by non-temporal
// stores. An ordinary store first fetches the line of the target, which costs as much as writing
// it. Lines that a piece has only part of are still written by ordinary stores. For copy.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "type/kernels.hpp"

namespace oratorio {

/// Lengths of the pieces of a row.
struct PieceLengths {
    const Bytes* prefix;  ///< piece i is prefix[i + 1] - prefix[i] bytes; null: `length`
    Bytes length;

    [[nodiscard]] Bytes of(std::int64_t piece) const {
        return prefix != nullptr ? prefix[piece + 1] - prefix[piece] : length;
    }
};

/// Whether to stream rows of `count` pieces to `to`; else ordinary stores are faster.
[[nodiscard]] bool worth_streaming(const Places<std::byte>& to, PieceLengths lengths,
                                   std::int64_t count);
/// Copies `rows` times `count` pieces; short ones among them by ordinary stores.
void stream_pieces(const Places<std::byte>& to, const Places<const std::byte>& from,
                   PieceLengths lengths, std::int64_t count, std::int64_t rows);

/// Whether to stream a piece of `length` bytes that lies anywhere.
[[nodiscard]] bool worth_streaming(Bytes length);
/// Copies one piece.
void stream_piece(std::byte* to, const std::byte* from, Bytes length);

/// Orders what was streamed before all later stores, so that whoever sees a later one sees it too.
void finish_streaming();

}  // namespace oratorio
