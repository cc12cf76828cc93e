// SPDX-License-Identifier: BSD-3-Clause
#include "type/kernels.hpp"

#include "type/move_bytes.hpp"

namespace oratorio {

namespace {

/// Copies one piece, where all pieces have the same length.
template <class Move>
struct Even {
    Bytes length;

    void operator()(std::byte* to, const std::byte* from, std::int64_t /*piece*/) const {
        Move()(to, from, length);
    }
};

template <class Move>
struct Uneven {
    const Bytes* prefix;

    // This function must be inlined into its caller, because a masked move needs the caller's
    // target attribute.
    [[gnu::always_inline]] void operator()(std::byte* to, const std::byte* from,
                                           std::int64_t piece) const {
        Move()(to, from, prefix[piece + 1] - prefix[piece]);
    }
};

/// Calls `with` with the fastest function that copies pieces of `length` bytes.
template <class With>
void with_move_of(Bytes length, With with) {
    switch (length) {
        case 1:
            return with(Even<Exactly<1>>{length});
        case 2:
            return with(Even<Exactly<2>>{length});
        case 3:
            return with(Even<Halves<2>>{length});
        case 4:
            return with(Even<Exactly<4>>{length});
        case 8:
            return with(Even<Exactly<8>>{length});
        case 16:
            return with(Even<Exactly<16>>{length});
        default:
            break;
    }
    if (length < 8) return with(Even<Halves<4>>{length});
    if (length < 16) return with(Even<Halves<8>>{length});
    if (length <= 32) return with(Even<Halves<16>>{length});
    if (length <= 64) return with(Even<Quarters<16>>{length});
    with(Even<Long>{length});
}

/// Walks the places of one row.
template <bool kListed, class Byte>
class Walker {
  public:
    explicit Walker(const Places<Byte>& row)
        : at_(row.base), offsets_(row.offsets), stride_(row.stride) {}

    [[nodiscard]] Byte* operator[](std::int64_t ahead) const {
        return displaced(at_, kListed ? offsets_[ahead] : ahead * stride_);
    }
    void advance(std::int64_t pieces) {
        if constexpr (kListed)
            offsets_ += pieces;
        else
            at_ = displaced(at_, pieces * stride_);
    }

  private:
    Byte* at_;
    const Offset* offsets_;
    Bytes stride_;
};

template <bool kToListed, bool kFromListed, class CopyOne>
[[gnu::always_inline]] inline void each(Places<std::byte> to, Places<const std::byte> from,
                                        std::int64_t count, std::int64_t rows, CopyOne move) {
    for (; rows > 0; --rows) {
        Walker<kToListed, std::byte> target(to);
        Walker<kFromListed, const std::byte> source(from);
        std::int64_t piece = 0;
        for (; piece + 4 <= count; piece += 4) {
            move(target[0], source[0], piece);
            move(target[1], source[1], piece + 1);
            move(target[2], source[2], piece + 2);
            move(target[3], source[3], piece + 3);
            target.advance(4);
            source.advance(4);
        }
        for (; piece < count; ++piece) {
            move(target[0], source[0], piece);
            target.advance(1);
            source.advance(1);
        }
        to.base = displaced(to.base, to.row_stride);
        from.base = displaced(from.base, from.row_stride);
    }
}

ORATORIO_MASKED void copy_uneven_masked(const Places<std::byte>& to,
                                        const Places<const std::byte>& from, const Bytes* prefix,
                                        std::int64_t count, std::int64_t rows) {
    each<true, true>(to, from, count, rows, Uneven<Masked>{prefix});
}

}  // namespace

bool has_masked_moves() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

void copy_equal(Places<std::byte> to, Places<const std::byte> from, Bytes length,
                std::int64_t count, std::int64_t rows) {
    with_move_of(length, [&](auto move) {
        if (to.offsets == nullptr && from.offsets == nullptr)
            each<false, false>(to, from, count, rows, move);
        else if (to.offsets == nullptr)
            each<false, true>(to, from, count, rows, move);
        else if (from.offsets == nullptr)
            each<true, false>(to, from, count, rows, move);
        else
            each<true, true>(to, from, count, rows, move);
    });
}

void copy_uneven(Places<std::byte> to, Places<const std::byte> from, const Bytes* prefix,
                 std::int64_t count, std::int64_t rows, bool masked) {
    if (masked) return copy_uneven_masked(to, from, prefix, count, rows);
    each<true, true>(to, from, count, rows, Uneven<Branching>{prefix});
}

void copy_piece(std::byte* to, const std::byte* from, Bytes length) {
    Branching()(to, from, length);
}

}  // namespace oratorio
