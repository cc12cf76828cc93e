// SPDX-License-Identifier: BSD-3-Clause
// Kernels: the loops that copy pieces. Each takes a sequence of source pieces and one of target
// pieces, equally spaced or listed; source and target never overlap. For copy.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "type/piece_run.hpp"

namespace oratorio {

/// `base + by`; through an integer because a layout of absolute addresses has a null base.
template <class Byte>
Byte* displaced(Byte* base, Offset by) {
    return reinterpret_cast<Byte*>(reinterpret_cast<std::intptr_t>(base) + by);
}

/// Where pieces lie in memory: rows of them, all rows alike.
template <class Byte>
struct Places {
    Byte* base;             ///< the first piece, or what `offsets` are relative to
    const Offset* offsets;  ///< of each piece of a row; null: they are `stride` apart
    Bytes stride;
    Bytes row_stride;
};

/// The processor moves any bytes of a 64-byte vector at once (AVX-512BW). The `masked` below says
/// whether to use that.
[[nodiscard]] bool has_masked_moves();

/// Copies `rows` times `count` pieces of `length` bytes.
void copy_equal(Places<std::byte> to, Places<const std::byte> from, Bytes length,
                std::int64_t count, std::int64_t rows);

/// Copies `rows` times `count` pieces; piece i of a row is prefix[i + 1] - prefix[i] bytes. Places
/// are listed on both sides.
void copy_uneven(Places<std::byte> to, Places<const std::byte> from, const Bytes* prefix,
                 std::int64_t count, std::int64_t rows, bool masked = has_masked_moves());

/// Where a walk over a run of pieces stands.
struct PiecePosition {
    std::int64_t piece = 0;
    Bytes within = 0;  ///< bytes of that piece that are done
};

/// One side of a copy that goes through it piece by piece.
template <class Byte>
struct MergedSide {
    Byte* base;  ///< where offset 0 lies
    const PieceRun& run;
    PiecePosition& position;  ///< moves on
};

/// Copies between pieces whose ends don't meet, up to the last piece of either side, which it
/// leaves whole or begun; both sides have at least two. Returns the bytes.
Bytes copy_merged(const MergedSide<std::byte>& to, const MergedSide<const std::byte>& from,
                  bool masked = has_masked_moves());

/// Copies one piece.
void copy_piece(std::byte* to, const std::byte* from, Bytes length);

}  // namespace oratorio
