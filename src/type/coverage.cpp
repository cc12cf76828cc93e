// SPDX-License-Identifier: BSD-3-Clause
#include "type/coverage.hpp"

namespace oratorio {

namespace {

// The hash is two rounds of multiply and xor-shift. The first multiplication is linear in the
// offset, so in a walk at a constant stride it costs one addition. The hash has no branch and no
// state, so the processor computes several hashes of a loop at the same time.
constexpr std::uint64_t kKey = 0x6f7261746f72696fU;
constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15U;
constexpr std::uint64_t kSecond = 0xd6e8feb86659fd93U;

std::uint64_t slope(Bytes by) {
    return static_cast<std::uint64_t>(by) * kFirst;
}

std::uint64_t linear(Offset at) {
    return slope(at) + kKey;
}

std::uint64_t scramble(std::uint64_t bits) {
    bits = (bits ^ (bits >> 32)) * kSecond;
    return bits ^ (bits >> 29);
}

/// Returns the sum over pieces that are `stride` apart. `begin` is linear() of the first piece's
/// first byte.
std::uint64_t spaced(std::uint64_t begin, Bytes length, Bytes stride, std::int64_t count) {
    std::uint64_t sum = 0;
    for (std::int64_t piece = 0; piece < count; ++piece, begin += slope(stride))
        sum += scramble(begin + slope(length)) - scramble(begin);
    return sum;
}

/// Returns the sum over the pieces of a row. `origin` is linear() of the row's origin.
std::uint64_t of_row(const PieceRun& row, std::uint64_t origin) {
    if (row.offsets == nullptr) return spaced(origin, row.length, row.stride, row.count);
    std::uint64_t sum = 0;
    if (row.prefix == nullptr) {
        for (std::int64_t piece = 0; piece < row.count; ++piece) {
            const std::uint64_t begin = origin + slope(row.offsets[piece]);
            sum += scramble(begin + slope(row.length)) - scramble(begin);
        }
        return sum;
    }
    for (std::int64_t piece = 0; piece < row.count; ++piece) {
        const std::uint64_t begin = origin + slope(row.offsets[piece]);
        sum += scramble(begin + slope(row.prefix[piece + 1] - row.prefix[piece])) - scramble(begin);
    }
    return sum;
}

}  // namespace

std::uint64_t mix(Offset at) {
    return scramble(linear(at));
}

std::uint64_t coverage(const StridedRun& run) {
    if (run.count > 0 && run.stride == run.length) return coverage(Extent{run.offset, run.end()});
    return spaced(linear(run.offset), run.length, run.stride, run.count);
}

std::uint64_t coverage(Extent whole) {
    return mix(whole.end) - mix(whole.begin);
}

std::uint64_t coverage(Cursor& cursor, Bytes to) {
    std::uint64_t sum = 0;
    PieceRows pieces;
    for (Bytes at = cursor.tell_size(); at < to; at = cursor.tell_size()) {
        cursor.next_pieces(pieces, to - at);
        if (pieces.rows == 0) break;
        const std::uint64_t step = slope(pieces.stride);
        std::uint64_t origin = linear(pieces.row.origin);
        for (std::int64_t row = 0; row < pieces.rows; ++row, origin += step)
            sum += of_row(pieces.row, origin);
    }
    return sum;
}

std::uint64_t coverage(const Layout& layout, Bytes from, Bytes to) {
    Cursor cursor(layout);
    cursor.seek_size(from);
    return coverage(cursor, to);
}

}  // namespace oratorio
