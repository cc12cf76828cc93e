// SPDX-License-Identifier: BSD-3-Clause
// Kernels: the loops that copy a sequence of source pieces to a sequence of target pieces, each
// equally spaced or listed. Source and target never overlap. Most code calls the loops through
// copy.hpp; copy_equal(), copy_piece() and displaced() are also used directly.
#pragma once

#include <cstddef>
#include <cstdint>

#include "type/piece_run.hpp"

namespace oratorio {

/// Returns `base + by`. Computes it with integers, because a layout of absolute addresses has a
/// null base.
template <class Byte>
Byte* displaced(Byte* base, Offset by) {
    return reinterpret_cast<Byte*>(reinterpret_cast<std::intptr_t>(base) + by);
}

/// Where pieces lie in memory: rows of pieces, all rows alike.
template <class Byte>
struct Places {
    Byte* base;             ///< address of the first piece, or of offset 0 of `offsets`
    const Offset* offsets;  ///< offset of each piece of a row; null: pieces are `stride` apart
    Bytes stride;
    Bytes row_stride;
};

/// Returns true if the processor can move any subset of the bytes of a 64-byte vector at once
/// (AVX-512BW and BMI2). The parameter `masked` of the functions below selects such moves.
[[nodiscard]] bool has_masked_moves();

/// Copies `rows` times `count` pieces of `length` bytes.
void copy_equal(Places<std::byte> to, Places<const std::byte> from, Bytes length,
                std::int64_t count, std::int64_t rows);

/// Copies `rows` times `count` pieces; piece i of a row has prefix[i + 1] - prefix[i] bytes.
/// REQUIRES: `to` and `from` have lists of offsets.
void copy_uneven(Places<std::byte> to, Places<const std::byte> from, const Bytes* prefix,
                 std::int64_t count, std::int64_t rows, bool masked = has_masked_moves());

/// A position in a run of pieces.
struct PiecePosition {
    std::int64_t piece = 0;
    Bytes within = 0;  ///< number of bytes of that piece that are done
};

/// One side of copy_merged(), which goes through the side's run piece by piece.
template <class Byte>
struct MergedSide {
    Byte* base;  ///< address of offset 0
    const PieceRun& run;
    PiecePosition& position;  ///< advanced by the copy
};

/// Copies between two runs with pieces that end at different data positions, until one side is at
/// its last piece. Leaves that piece untouched or partly copied. Returns the number of bytes
/// copied. REQUIRES: both sides have at least two pieces left.
Bytes copy_merged(const MergedSide<std::byte>& to, const MergedSide<const std::byte>& from,
                  bool masked = has_masked_moves());

/// Copies one piece.
void copy_piece(std::byte* to, const std::byte* from, Bytes length);

}  // namespace oratorio
