// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/write_mask.hpp"

#include <cstdint>
#include <cstring>

#include "plan/access.hpp"
#include "type/kernels.hpp"

namespace oratorio {

namespace {

/// Marks each of `run.count` pieces by two words that may overlap.
template <class Word>
void mark_by_words(std::byte* at, const StridedRun& run) {
    const Word ones = static_cast<Word>(~Word{0});
    const auto last = static_cast<Bytes>(run.length) - static_cast<Bytes>(sizeof(Word));
    for (std::int64_t i = 0; i < run.count; ++i, at += run.stride) {
        std::memcpy(at, &ones, sizeof ones);
        std::memcpy(at + last, &ones, sizeof ones);
    }
}

}  // namespace

void mark_written(std::byte* at, const StridedRun& run) {
    const auto word = [&run](Bytes bytes) {
        return run.length >= bytes && run.length <= 2 * bytes;
    };
    if (word(8)) return mark_by_words<std::uint64_t>(at, run);
    if (word(4)) return mark_by_words<std::uint32_t>(at, run);
    if (word(2)) return mark_by_words<std::uint16_t>(at, run);
    for (std::int64_t i = 0; i < run.count; ++i)
        std::memset(at + i * run.stride, 0xff, static_cast<std::size_t>(run.length));
}

void mark_written(std::byte* base, Cursor& file, Bytes from, Bytes to, Extent extent) {
    seek_within(file, extent.begin, from);
    while (file.tell_size() < to) {
        const StridedRun run = file.next(to - file.tell_size(), extent.end);
        if (run.count == 0) return;
        mark_written(displaced(base, run.offset), run);
    }
}

}  // namespace oratorio
