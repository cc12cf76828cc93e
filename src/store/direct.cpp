// SPDX-License-Identifier: BSD-3-Clause
#include "store/direct.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace oratorio {
namespace {

constexpr Bytes kMemoryAlignmentMin = 512;
constexpr Bytes kMemoryAlignmentMax = 4096;  // also assumed where the system reports none

// Returns the alignment that the system reports for the file; 0 if it allows no direct I/O.
DirectAlignment alignment_of(int descriptor) {
    // The alignment is at least a page: otherwise direct and buffered requests for different bytes
    // could share a page.
    const Bytes page = std::max<Bytes>(::sysconf(_SC_PAGESIZE), 4096);
    DirectAlignment alignment{page, kMemoryAlignmentMax};
#ifdef STATX_DIOALIGN
    struct statx status {};
    const int result = ::statx(descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status);
    if (result == 0 && (status.stx_mask & STATX_DIOALIGN) != 0) {
        if (status.stx_dio_offset_align == 0) return {};
        alignment.file = std::max<Bytes>(page, status.stx_dio_offset_align);
        alignment.memory =
            std::clamp<Bytes>(status.stx_dio_mem_align, kMemoryAlignmentMin, kMemoryAlignmentMax);
    }
#endif
    return alignment;
}

}  // namespace

DirectFile open_direct(int descriptor) {
    // Opens the file by its descriptor number, to get the same file even if its name has changed.
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    const int access = ::fcntl(descriptor, F_GETFL) & O_ACCMODE;
    DirectFile direct;
    do {
        direct.file = Descriptor(::open(path.c_str(), access | O_DIRECT | O_CLOEXEC));
    } while (direct.file.number() < 0 && errno == EINTR);
    if (direct.file.number() < 0) {
        direct.refusal = "direct I/O: the system refuses to open the file with O_DIRECT (" +
                         std::generic_category().message(errno) + "); the page cache is used";
        return direct;
    }
    direct.alignment = alignment_of(direct.file.number());
    if (direct.alignment.file == 0)
        direct.refusal = "direct I/O: this file does not support it; the page cache is used";
    return direct;
}

bool is_aligned(const IoRequest& request, const DirectAlignment& alignment) {
    if (alignment.file == 0 || request.offset % alignment.file != 0) return false;
    const auto unit = static_cast<std::uintptr_t>(alignment.memory);
    Bytes bytes = 0;
    for (const iovec& piece : request.memory) {
        if ((reinterpret_cast<std::uintptr_t>(piece.iov_base) | piece.iov_len) % unit != 0)
            return false;
        bytes += static_cast<Bytes>(piece.iov_len);
    }
    return bytes > 0 && bytes % alignment.file == 0;
}

}  // namespace oratorio
