// SPDX-License-Identifier: BSD-3-Clause
#include "type/streamed.hpp"

#include <algorithm>

#include "type/move_bytes.hpp"

namespace oratorio {

namespace {

constexpr Bytes kLine = 64;

// The minimum lengths at which streaming is faster than ordinary stores. Only cache lines that a
// piece covers partly make streaming slower: a piece of whole lines has none, touching pieces share
// one at each boundary, and a spaced piece has up to two.
constexpr Bytes kWholeLinesMin = 192;
constexpr Bytes kPackedMin = 256;
constexpr Bytes kSpacedMin = 384;

#if defined(__x86_64__)
constexpr bool kHasStreaming = true;

/// Copies one cache line. Every x86-64 processor has these stores, and wider ones are no faster.
/// REQUIRES: `to` is aligned to a line.
void stream_line(std::byte* to, const std::byte* from) {
    const auto* const source = reinterpret_cast<const __m128i*>(from);
    auto* const target = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(source);
    const __m128i b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2);
    const __m128i d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
}
#else
constexpr bool kHasStreaming = false;

void stream_line(std::byte* to, const std::byte* from) {
    std::memcpy(to, from, static_cast<std::size_t>(kLine));
}
#endif

/// Returns the number of bytes up to the next cache line boundary.
Bytes to_boundary(const std::byte* at) {
    return -static_cast<Bytes>(reinterpret_cast<std::uintptr_t>(at)) & (kLine - 1);
}

/// Prefetches the lines that a piece covers only partly, and the address translation of the page on
/// which the piece ends. Stores take effect in order, so if a store waits for its line or for an
/// address translation, all later stores wait as well, streamed ones included. Without this
/// prefetch streaming is slower than ordinary stores. (Inlined by force: GCC drops calls of
/// functions that only prefetch.)
[[gnu::always_inline]] inline void fetch_ends(const std::byte* to, Bytes length) {
    const std::byte* const end = to + length;
    const auto crossed =
        reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(end);
    if (to_boundary(to) != 0) __builtin_prefetch(to, 1);
    if (to_boundary(end) != 0 || crossed >= kPage) __builtin_prefetch(end, 1);
}

/// Copies one piece. Stores the ends of the piece last, because their lines have been prefetched by
/// then.
void stream_fetched(std::byte* to, const std::byte* from, Bytes length) {
    if (length < kWholeLinesMin) return Branching()(to, from, length);
    const Bytes head = to_boundary(to);
    const Bytes end = length - (length - head) % kLine;
    for (Bytes at = head; at < end;) {
        const Bytes stop = std::min(end, at + kPage / 2);
        // Prefetch the address translation of the next page.
        if (at + kPage < end) __builtin_prefetch(to + at + kPage, 1);
        for (; at < stop; at += kLine) stream_line(to + at, from + at);
    }
    if (head > 0) Branching()(to, from, head);
    if (end < length) Branching()(to + end, from + end, length - end);
}

/// Walks all pieces of all rows, row by row.
template <class Byte>
class PieceWalker {
  public:
    PieceWalker(const Places<Byte>& places, std::int64_t count) : places_(places), count_(count) {}

    [[nodiscard]] std::int64_t piece() const { return piece_; }
    [[nodiscard]] Byte* at() const {
        const Offset* const offsets = places_.offsets;
        return displaced(places_.base,
                         offsets != nullptr ? offsets[piece_] : piece_ * places_.stride);
    }
    void next() {
        if (++piece_ < count_) return;
        piece_ = 0;
        places_.base = displaced(places_.base, places_.row_stride);
    }

  private:
    Places<Byte> places_;
    std::int64_t count_;
    std::int64_t piece_ = 0;
};

}  // namespace

bool worth_streaming(const Places<std::byte>& to, PieceLengths lengths, std::int64_t count) {
    if (!kHasStreaming) return false;
    if (lengths.prefix != nullptr) {
        const Bytes mean = (lengths.prefix[count] - lengths.prefix[0]) / count;
        return mean >= (to.offsets == lengths.prefix ? kPackedMin : kSpacedMin);
    }
    if (lengths.length >= kSpacedMin) return true;
    if (lengths.length < kWholeLinesMin || to.offsets != nullptr) return false;
    if (lengths.length >= kPackedMin && to.stride == lengths.length) return true;
    const auto base = static_cast<Bytes>(reinterpret_cast<std::intptr_t>(to.base));
    return (base | to.stride | to.row_stride | lengths.length) % kLine == 0;
}

void stream_pieces(const Places<std::byte>& to, const Places<const std::byte>& from,
                   PieceLengths lengths, std::int64_t count, std::int64_t rows) {
    // Pieces to prefetch ahead: enough to hide the latency of memory, and few enough for the L1
    // cache.
    constexpr std::int64_t kAhead = 6;
    const std::int64_t pieces = count * rows;
    PieceWalker<std::byte> ahead(to, count);
    PieceWalker<std::byte> target(to, count);
    PieceWalker<const std::byte> source(from, count);
    const auto fetch = [&] {
        fetch_ends(ahead.at(), lengths.of(ahead.piece()));
        ahead.next();
    };
    for (std::int64_t i = 0; i < std::min(pieces, kAhead); ++i) fetch();
    for (std::int64_t i = 0; i < pieces; ++i) {
        if (i + kAhead < pieces) fetch();
        stream_fetched(target.at(), source.at(), lengths.of(target.piece()));
        target.next();
        source.next();
    }
}

bool worth_streaming(Bytes length) {
    return kHasStreaming && length >= kSpacedMin;
}

void stream_piece(std::byte* to, const std::byte* from, Bytes length) {
    fetch_ends(to, length);
    stream_fetched(to, from, length);
}

void finish_streaming() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

}  // namespace oratorio
