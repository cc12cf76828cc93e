// SPDX-License-Identifier: BSD-3-Clause
#include "type/scalar.hpp"

#include <bit>
#include <cstring>
#include <iterator>

#include "type/extended_real.hpp"

namespace oratorio {
namespace {

template <class Word>
Word load(const std::byte* from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return word;
}

template <class Word>
void save(std::byte* to, Word word) {
    std::memcpy(to, &word, sizeof word);
}

constexpr bool kBigEndian = std::endian::native == std::endian::big;

/// Converts between the processor's byte order and big-endian, either way.
std::uint64_t ordered(std::uint64_t word) {
    return kBigEndian ? word : __builtin_bswap64(word);
}
std::uint32_t ordered(std::uint32_t word) {
    return kBigEndian ? word : __builtin_bswap32(word);
}
std::uint16_t ordered(std::uint16_t word) {
    return kBigEndian ? word : __builtin_bswap16(word);
}

template <class Word>
bool swap_words(const std::byte* from, std::byte* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, from += sizeof(Word), to += sizeof(Word))
        save(to, ordered(load<Word>(from)));
    return true;
}

// These two functions swap words in groups of eight bytes, so that one operation swaps two or four
// words.
bool swap_words_4(const std::byte* from, std::byte* to, std::int64_t count) {
    const std::int64_t pairs = kBigEndian ? 0 : count / 2;
    for (std::int64_t i = 0; i < pairs; ++i, from += 8, to += 8)
        save(to, std::rotl(__builtin_bswap64(load<std::uint64_t>(from)), 32));
    return swap_words<std::uint32_t>(from, to, count - 2 * pairs);
}

bool swap_words_2(const std::byte* from, std::byte* to, std::int64_t count) {
    constexpr std::uint64_t kEven = 0x00ff00ff00ff00ff;
    const std::int64_t fours = kBigEndian ? 0 : count / 4;
    for (std::int64_t i = 0; i < fours; ++i, from += 8, to += 8) {
        const auto words = load<std::uint64_t>(from);
        save(to, (words & kEven) << 8 | (words >> 8 & kEven));
    }
    return swap_words<std::uint16_t>(from, to, count - 4 * fours);
}

bool swap_words_16(const std::byte* from, std::byte* to, std::int64_t count) {
    if (kBigEndian) std::memcpy(to, from, static_cast<std::size_t>(16 * count));
    for (std::int64_t i = 0; !kBigEndian && i < count; ++i, from += 16, to += 16) {
        const auto low = load<std::uint64_t>(from);
        save(to, ordered(load<std::uint64_t>(from + 8)));
        save(to + 8, ordered(low));
    }
    return true;
}

bool copy_bytes(const std::byte* from, std::byte* to, std::int64_t count) {
    if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count));
    return true;
}

/// Converts integers of type `From` in memory to `To` in the file. Returns false if a value doesn't
/// fit.
template <class From, class To, class FileWord>
bool narrow(const std::byte* memory, std::byte* file, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, memory += sizeof(From), file += sizeof(To)) {
        const From value = load<From>(memory);
        const To narrowed_value = static_cast<To>(value);
        if (static_cast<From>(narrowed_value) != value) return false;
        save(file, ordered(static_cast<FileWord>(narrowed_value)));
    }
    return true;
}

template <class From, class To, class FileWord>
bool widen(const std::byte* file, std::byte* memory, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, memory += sizeof(From), file += sizeof(To))
        save(memory, static_cast<From>(static_cast<To>(ordered(load<FileWord>(file)))));
    return true;
}

constexpr int kExtendedUsed = 10;  ///< bytes used by an extended real; the other 6 are padding

bool write_extended(const std::byte* memory, std::byte* file, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, memory += 16, file += 16) {
        const Binary128 wide =
            widened({load<std::uint16_t>(memory + 8), load<std::uint64_t>(memory)});
        save(file, ordered(wide.high));
        save(file + 8, ordered(wide.low));
    }
    return true;
}

bool read_extended(const std::byte* file, std::byte* memory, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, memory += 16, file += 16) {
        const Binary128 wide{ordered(load<std::uint64_t>(file)),
                             ordered(load<std::uint64_t>(file + 8))};
        const ExtendedReal real = narrowed(wide);
        if (is_finite(wide) && !is_finite(real)) return false;
        save(memory, real.significand);
        save(memory + 8, real.sign_and_exponent);
        std::memset(memory + kExtendedUsed, 0, 16 - kExtendedUsed);
    }
    return true;
}

using Convert = bool (*)(const std::byte* from, std::byte* to, std::int64_t count);

bool has_no_form(const std::byte*, std::byte*, std::int64_t) {
    return false;
}

struct KindRow {
    Bytes memory;
    Bytes file;
    Convert write;
    Convert read;
    const char* misfit = "";  ///< error message of a failed conversion
};

// One row per ScalarKind, in the order of the enum.
constexpr KindRow kKinds[] = {
    {0, 0, has_no_form, has_no_form, "external32 has no form for this datatype"},
    {1, 1, copy_bytes, copy_bytes},
    {2, 2, swap_words_2, swap_words_2},
    {4, 4, swap_words_4, swap_words_4},
    {8, 8, swap_words<std::uint64_t>, swap_words<std::uint64_t>},
    {16, 16, swap_words_16, swap_words_16},
    {8, 4, narrow<std::int64_t, std::int32_t, std::uint32_t>,
     widen<std::int64_t, std::int32_t, std::uint32_t>,
     "external32: a long does not fit the 4 bytes it has in the file"},
    {8, 4, narrow<std::uint64_t, std::uint32_t, std::uint32_t>,
     widen<std::uint64_t, std::uint32_t, std::uint32_t>,
     "external32: an unsigned long does not fit the 4 bytes it has in the file"},
    {16, 16, write_extended, read_extended,
     "external32: a real in the file is larger than the largest long double"},
    {4, 2, narrow<std::uint32_t, std::uint16_t, std::uint16_t>,
     widen<std::uint32_t, std::uint16_t, std::uint16_t>,
     "external32: a wide character does not fit the 2 bytes it has in the file"},
};
static_assert(std::size(kKinds) == static_cast<std::size_t>(ScalarKind::wide_character) + 1);

const KindRow& row_of(ScalarKind kind) {
    return kKinds[static_cast<std::size_t>(kind)];
}

}  // namespace

Bytes memory_size(ScalarKind kind) {
    return row_of(kind).memory;
}

Bytes external32_size(ScalarKind kind) {
    return row_of(kind).file;
}

bool to_external32(ScalarKind kind, const std::byte* memory, std::byte* file, std::int64_t count) {
    return row_of(kind).write(memory, file, count);
}

bool from_external32(ScalarKind kind, const std::byte* file, std::byte* memory,
                     std::int64_t count) {
    return row_of(kind).read(file, memory, count);
}

Error misfit(ScalarKind kind) {
    return Error::make(ErrorKind::conversion, row_of(kind).misfit);
}

}  // namespace oratorio
