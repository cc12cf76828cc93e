// SPDX-License-Identifier: BSD-3-Clause
// The bytes of the test files: a keyed hash of the file offset, so that a byte in the wrong place,
// or left over from an earlier repeat, is detected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <vector>

#include "access.hpp"

namespace bench {

/// Buffers, offsets and lengths of direct I/O must be multiples of this.
constexpr std::size_t page_bytes = 4096;

/// Allocates memory at the start of a page, or `behind` bytes after it.
template <typename T>
struct PageAllocator {
    using value_type = T;
    std::size_t behind = 0;
    T* allocate(std::size_t count) {
        const std::size_t bytes = behind + count * sizeof(T);
        void* const page = ::operator new (bytes, std::align_val_t{page_bytes});
        return reinterpret_cast<T*>(static_cast<std::byte*>(page) + behind);
    }
    void deallocate(T* memory, std::size_t) {
        void* const page = reinterpret_cast<std::byte*>(memory) - behind;
        ::operator delete (page, std::align_val_t{page_bytes});
    }
    bool operator==(const PageAllocator&) const = default;
};
/// The distance from the start of a page at which glibc's malloc places long blocks.
constexpr std::size_t malloc_behind = 16;
using Buffer = std::vector<std::byte, PageAllocator<std::byte>>;

/// Writes the bytes that belong at file offset `offset` in the file of key `key`.
void fill_pattern(std::byte* to, std::uint64_t offset, std::size_t bytes, std::uint64_t key);

/// Writes the same bytes as fill_pattern, except in holes, which it fills with `holes.content`.
void fill_file_image(std::byte* to, std::uint64_t offset, std::size_t bytes, std::uint64_t key,
                     const Holes& holes);

/// Fills the buffer: before a write with the pattern of `key` in the pieces, before a read (`key`
/// is nullopt) without a pattern. Every other byte is a known filler.
void fill_buffer(Buffer& buffer, const Access& access, std::optional<std::uint64_t> key);

/// The result of first_wrong_in_buffer() if only a byte in a gap was changed.
constexpr std::uint64_t gap_changed = ~std::uint64_t{0};
/// Checks the buffer after a read, and refills it with the filler. Returns the file offset of the
/// first wrong byte, gap_changed, or nullopt if all bytes are right.
std::optional<std::uint64_t> first_wrong_in_buffer(Buffer& buffer, const Access& access,
                                                   std::uint64_t key);

/// The part of the file that a rank makes and checks. The slices of all ranks, in rank order, cover
/// [0, size).
struct Slice {
    std::uint64_t begin;
    std::uint64_t end;
};
Slice slice_of(std::uint64_t size, Place place);

/// Writes this rank's slice of the expected file with pwrite; returns false on an I/O error.
bool write_image(const char* path, std::uint64_t size, Place place, std::uint64_t key,
                 const Holes& holes);

/// The result of checking a slice of a file. A hole of a new file that doesn't read as zero is not
/// wrong data: the MPI standard doesn't say what an MPI-IO leaves there.
struct FileCheck {
    std::optional<std::uint64_t> wrong_at;  ///< first wrong byte outside the holes
    bool holes_kept = true;
};

/// Reads this rank's slice with pread and checks it. If only the file's size is wrong, its expected
/// end counts as the wrong byte.
FileCheck check_file(const char* path, std::uint64_t size, Place place, std::uint64_t key,
                     const Holes& holes);

/// Writes or reads all bytes at `offset`, and continues after short transfers. Returns false on an
/// I/O error or an early end of the file.
bool pwrite_all(int fd, const std::byte* from, std::size_t bytes, std::uint64_t offset);
bool pread_all(int fd, std::byte* to, std::size_t bytes, std::uint64_t offset);

}  // namespace bench
