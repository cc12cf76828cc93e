// SPDX-License-Identifier: BSD-3-Clause
// Streamed copies: copies with non-temporal stores, which bypass the caches, to a target that won't
// be used soon. An ordinary store first fetches the target's cache line, which costs as much as
// writing the line. Lines that a piece covers only partly are still written by ordinary stores.
// Used by copy.cpp only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "type/kernels.hpp"

namespace oratorio {

/// Lengths of the pieces of a row.
struct PieceLengths {
    const Bytes* prefix;  ///< piece i has prefix[i + 1] - prefix[i] bytes; null: `length`
    Bytes length;

    [[nodiscard]] Bytes of(std::int64_t piece) const {
        return prefix != nullptr ? prefix[piece + 1] - prefix[piece] : length;
    }
};

/// Returns true if streaming rows of `count` pieces to `to` is faster than ordinary stores.
[[nodiscard]] bool worth_streaming(const Places<std::byte>& to, PieceLengths lengths,
                                   std::int64_t count);
/// Copies `rows` times `count` pieces with streamed stores. Uses ordinary stores for short pieces.
void stream_pieces(const Places<std::byte>& to, const Places<const std::byte>& from,
                   PieceLengths lengths, std::int64_t count, std::int64_t rows);

/// Returns true if streaming a piece of `length` bytes is faster than ordinary stores, wherever the
/// piece lies.
[[nodiscard]] bool worth_streaming(Bytes length);
/// Copies one piece with streamed stores.
void stream_piece(std::byte* to, const std::byte* from, Bytes length);

/// Orders streamed stores before all later stores, so that a thread that sees a later store also
/// sees the streamed ones.
void finish_streaming();

}  // namespace oratorio
