// SPDX-License-Identifier: BSD-3-Clause
#include "pattern.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace bench {

namespace {

constexpr std::byte filler{0xc3};
constexpr std::size_t chunk_bytes = 1 << 20;

/// Returns the pattern's word at an index of 8-byte words: splitmix64 of index and key.
std::uint64_t pattern_word(std::uint64_t index, std::uint64_t key) {
    std::uint64_t z = (index + key * 0x632be59bd9b4e019) * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/// Calls visit(position, pointer to pattern bytes, count) for each word or part of a word.
template <typename Visit>
void for_each_word(std::uint64_t offset, std::size_t bytes, std::uint64_t key, Visit visit) {
    for (std::size_t done = 0; done < bytes;) {
        const std::uint64_t word = pattern_word((offset + done) / 8, key);
        const std::size_t skip = (offset + done) % 8;
        const std::size_t count = std::min(8 - skip, bytes - done);
        visit(done, reinterpret_cast<const std::byte*>(&word) + skip, count);
        done += count;
    }
}

/// Records in `check` the first byte that differs outside the holes, and whether bytes in holes
/// differ.
void compare(const std::byte* expected, const std::byte* found, std::size_t bytes,
             std::uint64_t offset, const Holes& holes, FileCheck& check) {
    if (std::memcmp(expected, found, bytes) == 0) return;
    for (std::size_t i = 0; i < bytes; ++i) {
        if (expected[i] == found[i]) continue;
        const Span hole = holes.first_after(offset + i);
        if (offset + i < hole.begin) {
            check.wrong_at = offset + i;
            return;
        }
        check.holes_kept = false;
        i = hole.end - offset - 1;
    }
}

}  // namespace

void fill_pattern(std::byte* to, std::uint64_t offset, std::size_t bytes, std::uint64_t key) {
    for_each_word(offset, bytes, key,
                  [to](std::size_t at, const std::byte* word, std::size_t count) {
                      std::memcpy(to + at, word, count);
                  });
}

void fill_file_image(std::byte* to, std::uint64_t offset, std::size_t bytes, std::uint64_t key,
                     const Holes& holes) {
    fill_pattern(to, offset, bytes, key);
    const std::uint64_t end = offset + bytes;
    for (Span hole = holes.first_after(offset); hole.begin < end;
         hole = holes.first_after(hole.end)) {
        const std::uint64_t from = std::max(offset, hole.begin);
        const std::uint64_t until = std::min(end, hole.end);
        std::memset(to + (from - offset), std::to_integer<int>(holes.content), until - from);
    }
}

void fill_buffer(Buffer& buffer, const Access& access, std::optional<std::uint64_t> key) {
    std::fill(buffer.begin(), buffer.end(), filler);
    if (!key) return;
    access.for_each_piece([&](const Piece& piece) {
        fill_pattern(buffer.data() + piece.memory, piece.file, piece.bytes, *key);
    });
}

std::optional<std::uint64_t> first_wrong_in_buffer(Buffer& buffer, const Access& access,
                                                   std::uint64_t key) {
    std::optional<std::uint64_t> wrong;
    access.for_each_piece([&](const Piece& piece) {
        std::byte* const data = buffer.data() + piece.memory;
        for_each_word(piece.file, piece.bytes, key,
                      [&](std::size_t at, const std::byte* word, std::size_t count) {
                          const bool same = std::memcmp(data + at, word, count) == 0;
                          if (!same && !wrong) wrong = piece.file + at;
                      });
        std::memset(data, static_cast<int>(filler), piece.bytes);
    });
    const bool gaps_kept =
        std::all_of(buffer.begin(), buffer.end(), [](std::byte b) { return b == filler; });
    if (!wrong && !gaps_kept) wrong = gap_changed;
    return wrong;
}

Slice slice_of(std::uint64_t size, Place place) {
    const auto ranks = static_cast<std::uint64_t>(place.ranks);
    const auto rank = static_cast<std::uint64_t>(place.rank);
    const std::uint64_t share = (size + ranks - 1) / ranks;
    return {std::min(size, share * rank), std::min(size, share * (rank + 1))};
}

bool write_image(const char* path, std::uint64_t size, Place place, std::uint64_t key,
                 const Holes& holes) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return false;
    std::vector<std::byte> image(chunk_bytes);
    const Slice slice = slice_of(size, place);
    bool ok = ftruncate(fd, static_cast<off_t>(size)) == 0;
    for (std::uint64_t at = slice.begin; ok && at < slice.end; at += chunk_bytes) {
        const std::size_t bytes = std::min<std::uint64_t>(chunk_bytes, slice.end - at);
        fill_file_image(image.data(), at, bytes, key, holes);
        ok = pwrite_all(fd, image.data(), bytes, at);
    }
    return close(fd) == 0 && ok;
}

FileCheck check_file(const char* path, std::uint64_t size, Place place, std::uint64_t key,
                     const Holes& holes) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {0, true};
    std::vector<std::byte> image(chunk_bytes), found(chunk_bytes);
    const Slice slice = slice_of(size, place);
    FileCheck check;
    for (std::uint64_t at = slice.begin; !check.wrong_at && at < slice.end; at += chunk_bytes) {
        const std::size_t bytes = std::min<std::uint64_t>(chunk_bytes, slice.end - at);
        fill_file_image(image.data(), at, bytes, key, holes);
        if (!pread_all(fd, found.data(), bytes, at)) check.wrong_at = at;
        compare(image.data(), found.data(), bytes, at, holes, check);
    }
    struct stat about {};
    const bool right_size = fstat(fd, &about) == 0 && about.st_size == static_cast<off_t>(size);
    if (!check.wrong_at && !right_size) check.wrong_at = size;
    close(fd);
    return check;
}

bool pwrite_all(int fd, const std::byte* from, std::size_t bytes, std::uint64_t offset) {
    while (bytes > 0) {
        const ssize_t moved = pwrite(fd, from, bytes, static_cast<off_t>(offset));
        if (moved < 0 && errno == EINTR) continue;
        if (moved <= 0) return false;
        from += moved;
        bytes -= static_cast<std::size_t>(moved);
        offset += static_cast<std::uint64_t>(moved);
    }
    return true;
}

bool pread_all(int fd, std::byte* to, std::size_t bytes, std::uint64_t offset) {
    while (bytes > 0) {
        const ssize_t moved = pread(fd, to, bytes, static_cast<off_t>(offset));
        if (moved < 0 && errno == EINTR) continue;
        if (moved <= 0) return false;
        to += moved;
        bytes -= static_cast<std::size_t>(moved);
        offset += static_cast<std::uint64_t>(moved);
    }
    return true;
}

}  // namespace bench
