// SPDX-License-Identifier: BSD-3-Clause
// Piece runs: many contiguous pieces in the form in which a leaf of the shape keeps them, so that a
// loop over them needs no call per piece. Cursors make piece runs for copies and other fast walks.
#pragma once

#include <cstdint>

#include "base/extent.hpp"

namespace oratorio {

/// Pieces that are equally spaced, or listed. The shape that the pieces come from owns the lists.
struct PieceRun {
    /// Offset of the first piece or, with a list, what `offsets` are relative to.
    Offset origin = 0;
    const Offset* offsets = nullptr;  ///< offset of each piece; null: pieces are `stride` apart
    const Bytes* prefix = nullptr;  ///< piece i has prefix[i + 1] - prefix[i] bytes; null: `length`
    Bytes length = 0;               ///< length of every piece; unused with `prefix`
    Bytes stride = 0;
    std::int64_t count = 0;

    [[nodiscard]] Offset offset_of(std::int64_t piece) const {
        return origin + (offsets != nullptr ? offsets[piece] : piece * stride);
    }
    [[nodiscard]] Bytes length_of(std::int64_t piece) const {
        return prefix != nullptr ? prefix[piece + 1] - prefix[piece] : length;
    }
    /// Returns the number of bytes in `pieces` pieces from `first` on.
    [[nodiscard]] Bytes bytes_of(std::int64_t first, std::int64_t pieces) const {
        return prefix != nullptr ? prefix[first + pieces] - prefix[first] : length * pieces;
    }
    [[nodiscard]] Bytes bytes() const { return bytes_of(0, count); }
};

/// A piece run repeated `rows` times, `stride` bytes apart.
struct PieceRows {
    PieceRun row;
    std::int64_t rows = 0;
    Bytes stride = 0;
};

/// Returns how many of the pieces from `first` on have at most `bytes_max` bytes together. Takes
/// O(log result) time.
[[nodiscard]] std::int64_t pieces_within(const PieceRun& run, std::int64_t first, Bytes bytes_max);

}  // namespace oratorio
