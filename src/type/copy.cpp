#include "type/copy.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>

namespace oratorio {

namespace {

/// One copy between two sequences of equal pieces.
struct Strides {
    std::byte* to;
    Bytes to_stride;
    const std::byte* from;
    Bytes from_stride;
    std::int64_t count;

    template <class CopyPiece>
    void each(CopyPiece copy_piece) const {
        std::byte* target = to;
        const std::byte* source = from;
        for (std::int64_t piece = 0; piece < count; ++piece) {
            copy_piece(target, source);
            target += to_stride;
            source += from_stride;
        }
    }
};

/// Pieces of kLength bytes: one load and one store each.
template <std::size_t kLength>
void copy_exact(const Strides& strides) {
    strides.each([](std::byte* to, const std::byte* from) { std::memcpy(to, from, kLength); });
}

/// Pieces of more than kHalf and at most 2 * kHalf bytes: the first kHalf and the last kHalf.
template <std::size_t kHalf>
void copy_halves(const Strides& strides, std::size_t length) {
    const std::size_t second = length - kHalf;
    strides.each([second](std::byte* to, const std::byte* from) {
        std::byte head[kHalf];
        std::byte tail[kHalf];
        std::memcpy(head, from, kHalf);
        std::memcpy(tail, from + second, kHalf);
        std::memcpy(to, head, kHalf);
        std::memcpy(to + second, tail, kHalf);
    });
}

void copy_short(const Strides& strides, std::size_t length) {
    switch (length) {
        case 1:
            return copy_exact<1>(strides);
        case 2:
            return copy_exact<2>(strides);
        case 3:
            return copy_halves<2>(strides, length);
        case 4:
            return copy_exact<4>(strides);
        case 8:
            return copy_exact<8>(strides);
        case 16:
            return copy_exact<16>(strides);
        default:
            break;
    }
    if (length < 8) return copy_halves<4>(strides, length);
    if (length < 16) return copy_halves<8>(strides, length);
    copy_halves<16>(strides, length);
}

/// `base + by`; through an integer because a layout of absolute addresses has a null base.
template <class Byte>
Byte* displaced(Byte* base, Offset by) {
    return reinterpret_cast<Byte*>(reinterpret_cast<std::intptr_t>(base) + by);
}

}  // namespace

void copy_strided(std::byte* to, Bytes to_stride, const std::byte* from, Bytes from_stride,
                  Bytes length, std::int64_t count) {
    constexpr Bytes kShort = 32;
    if (count > 1 && to_stride == length && from_stride == length) {
        length *= count;
        count = 1;
    }
    if (length <= 0) return;
    const auto size = static_cast<std::size_t>(length);
    const Strides strides{to, to_stride, from, from_stride, count};
    if (length <= kShort) return copy_short(strides, size);
    strides.each([size](std::byte* t, const std::byte* f) { std::memcpy(t, f, size); });
}

void gather_bytes(Cursor& memory, const std::byte* base, std::span<std::byte> out) {
    while (!out.empty()) {
        const StridedRun run = memory.next(std::ssize(out));
        assert(run.count > 0);
        if (run.count == 0) return;
        copy_strided(out.data(), run.length, displaced(base, run.offset), run.stride, run.length,
                     run.count);
        out = out.subspan(static_cast<std::size_t>(run.bytes()));
    }
}

void scatter_bytes(Cursor& memory, std::byte* base, std::span<const std::byte> in) {
    while (!in.empty()) {
        const StridedRun run = memory.next(std::ssize(in));
        assert(run.count > 0);
        if (run.count == 0) return;
        copy_strided(displaced(base, run.offset), run.stride, in.data(), run.length, run.length,
                     run.count);
        in = in.subspan(static_cast<std::size_t>(run.bytes()));
    }
}

}  // namespace oratorio
