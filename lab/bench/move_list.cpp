// SPDX-License-Identifier: BSD-3-Clause
#include "move_list.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench {

namespace {

constexpr std::size_t kLeastRun = 4;  // shorter runs are single pieces
constexpr std::size_t kWord = 8;

/// Select the places of one side of a move, a step or a single piece.
struct MemorySide {
    static auto of(const auto& both) { return both.memory; }
};
struct AreaSide {
    static auto of(const auto& both) { return both.area; }
};

/// Pieces to be copied: the addresses of the first one, and the distances between neighbours.
struct Pieces {
    std::byte* to;
    const std::byte* from;
    std::ptrdiff_t to_step;
    std::ptrdiff_t from_step;
    std::size_t count;

    void skip(std::size_t pieces) {
        to += static_cast<std::ptrdiff_t>(pieces) * to_step;
        from += static_cast<std::ptrdiff_t>(pieces) * from_step;
        count -= pieces;
    }
};

void copy_words(Pieces words) {
    for (; words.count > 0; words.skip(1)) std::memcpy(words.to, words.from, kWord);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void copy_words_avx2(Pieces words) {
    constexpr std::size_t kLanes = 4;
    const auto from_step = static_cast<long long>(words.from_step);
    const __m256i places = _mm256_setr_epi64x(0, from_step, 2 * from_step, 3 * from_step);
    const auto packed = static_cast<std::ptrdiff_t>(kWord);
    while (words.to_step == packed && words.count >= kLanes) {
        const auto* base = reinterpret_cast<const long long*>(words.from);
        const __m256i values = _mm256_i64gather_epi64(base, places, 1);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(words.to), values);
        words.skip(kLanes);
    }
    copy_words(words);
}

[[gnu::target("avx512f")]] __m512i multiples_of(long long step) {
    return _mm512_setr_epi64(0, step, 2 * step, 3 * step, 4 * step, 5 * step, 6 * step, 7 * step);
}

[[gnu::target("avx512f")]] void copy_words_avx512(Pieces words) {
    constexpr std::size_t kLanes = 8;
    const auto packed = static_cast<std::ptrdiff_t>(kWord);
    const __m512i sources = multiples_of(words.from_step);
    const __m512i targets = multiples_of(words.to_step);
    while (words.count >= kLanes) {
        const __m512i values = words.from_step == packed
                                   ? _mm512_loadu_si512(words.from)
                                   : _mm512_i64gather_epi64(sources, words.from, 1);
        if (words.to_step == packed) {
            _mm512_storeu_si512(words.to, values);
        } else {
            _mm512_i64scatter_epi64(words.to, targets, values, 1);
        }
        words.skip(kLanes);
    }
    copy_words(words);
}
#endif

void copy_piece(std::byte* to, const std::byte* from, std::size_t bytes) {
    // The compiler knows the lengths of the first two calls and makes a load and a store of each.
    if (bytes == kWord) {
        std::memcpy(to, from, kWord);
    } else if (bytes == 2 * kWord) {
        std::memcpy(to, from, 2 * kWord);
    } else {
        std::memcpy(to, from, bytes);
    }
}

void copy_run(Pieces pieces, std::size_t bytes, [[maybe_unused]] Instructions instructions) {
    if (bytes != kWord) {
        for (; pieces.count > 0; pieces.skip(1)) std::memcpy(pieces.to, pieces.from, bytes);
        return;
    }
#if defined(__x86_64__)
    if (instructions == Instructions::avx2) return copy_words_avx2(pieces);
    if (instructions == Instructions::avx512) return copy_words_avx512(pieces);
#endif
    copy_words(pieces);
}

}  // namespace

bool has_instructions(Instructions instructions) {
    if (instructions == Instructions::plain) return true;
#if defined(__x86_64__)
    if (instructions == Instructions::avx2) return __builtin_cpu_supports("avx2") != 0;
    return __builtin_cpu_supports("avx512f") != 0;
#else
    return false;
#endif
}

MoveList::Step MoveList::step_between(const Move& from, const Move& to) {
    return {static_cast<std::ptrdiff_t>(to.memory) - static_cast<std::ptrdiff_t>(from.memory),
            static_cast<std::ptrdiff_t>(to.area) - static_cast<std::ptrdiff_t>(from.area)};
}

/// Returns the number of moves at the beginning of `moves` that are equal pieces at equal
/// distances. REQUIRES: there is a move.
std::size_t MoveList::run_length(std::span<const Move> moves) {
    if (moves.size() < 2) return moves.size();
    const Step step = step_between(moves[0], moves[1]);
    std::size_t count = 1;
    while (count < moves.size() && moves[count].bytes == moves[0].bytes &&
           step_between(moves[count - 1], moves[count]) == step)
        ++count;
    return count;
}

/// Adds a run, as a further row of the last run if possible.
void MoveList::add_run(const Run& run) {
    Run* const last = runs_.empty() ? nullptr : &runs_.back();
    if (last != nullptr && last->first.bytes == run.first.bytes && last->count == run.count &&
        last->step == run.step) {
        const Step whole = step_between(last->first, run.first);
        const auto rows = static_cast<std::ptrdiff_t>(last->rows);
        const Step step = rows == 1 ? whole : last->row_step;
        if (whole == Step{rows * step.memory, rows * step.area}) {
            last->row_step = step;
            ++last->rows;
            return;
        }
    }
    runs_.push_back(run);
}

void MoveList::add_single(const Move& move) {
    const std::size_t most = std::max({move.memory, move.area, move.bytes});
    if (most > std::numeric_limits<std::uint32_t>::max())
        throw std::invalid_argument("bare: the pieces of a rank are spread over more than 4 GiB");
    singles_.push_back({static_cast<std::uint32_t>(move.memory),
                        static_cast<std::uint32_t>(move.area),
                        static_cast<std::uint32_t>(move.bytes)});
}

MoveList::MoveList(std::span<const Move> moves) {
    for (std::size_t at = 0; at < moves.size();) {
        const std::size_t count = run_length(moves.subspan(at));
        if (count < kLeastRun) {
            add_single(moves[at]);
            ++at;
            continue;
        }
        add_run({moves[at], count, step_between(moves[at], moves[at + 1])});
        at += count;
    }
}

template <class To, class From>
void MoveList::copy(std::byte* to, const std::byte* from, Instructions instructions) const {
    for (const Run& run : runs_) {
        Pieces pieces{to + To::of(run.first), from + From::of(run.first), To::of(run.step),
                      From::of(run.step), run.count};
        for (std::size_t row = 0; row < run.rows; ++row) {
            copy_run(pieces, run.first.bytes, instructions);
            pieces.to += To::of(run.row_step);
            pieces.from += From::of(run.row_step);
        }
    }
    for (const Single& one : singles_)
        copy_piece(to + To::of(one), from + From::of(one), one.bytes);
}

void MoveList::gather(const std::byte* user, std::byte* area, Instructions instructions) const {
    copy<AreaSide, MemorySide>(area, user, instructions);
}

void MoveList::scatter(std::byte* user, const std::byte* area, Instructions instructions) const {
    copy<MemorySide, AreaSide>(user, area, instructions);
}

}  // namespace bench
