// SPDX-License-Identifier: BSD-3-Clause
#include "store/bounce_buffer.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/byte_copy.hpp"

namespace oratorio {

namespace {

constexpr std::size_t kTried = 64;

/// Returns true if the first eight bytes of `memory` can be read. Passes them to rt_sigprocmask as
/// a signal set: where a plain read would crash the program, that call fails with EFAULT. It
/// changes nothing, because the requested operation is invalid, which the kernel checks after it
/// has read the set.
bool is_readable(const void* memory) {
    constexpr long kNothing = -1;
    constexpr std::size_t kSetBytes = 8;
    return ::syscall(SYS_rt_sigprocmask, kNothing, memory, nullptr, kSetBytes) == 0 ||
           errno != EFAULT;
}

/// Returns a position in `memory` that lies half a page from the file offset, modulo the page size.
/// So it also lies about half a page from the user's memory, which is_better() found close to the
/// offset.
std::byte* stage_for(std::byte* memory, Offset offset) {
    const std::uint64_t wanted = static_cast<std::uint64_t>(offset) + kPage / 2;
    return memory + (wanted - place_of(memory)) % kPage;
}

}  // namespace

bool BounceBuffer::is_better(Direction direction, std::span<const std::byte> memory,
                             Offset offset) {
    if (memory.size() < kLeast) return false;
    const std::uint64_t here = place_of(memory.data());
    const auto there = static_cast<std::uint64_t>(offset);
    const bool reads = direction == Direction::read;
    return lies_close_behind(reads ? here : there, reads ? there : here) && is_slow_close_behind();
}

bool BounceBuffer::prepare() {
    if (memory_ == nullptr) memory_.reset(new (std::nothrow) std::byte[kBytes + kPage]);
    return memory_ != nullptr;
}

Answer BounceBuffer::move(Direction direction, std::span<std::byte> memory, Offset offset,
                          int file) {
    const bool reads = direction == Direction::read;
    if (!reads && !is_readable(memory.data())) return {-1, EFAULT};
    std::size_t done = 0;
    while (done < memory.size()) {
        // The first read goes directly into the user's memory, so that the system returns EFAULT if
        // that memory isn't writable.
        const bool tries = reads && done == 0;
        const auto part =
            memory.subspan(done, std::min(tries ? kTried : kBytes, memory.size() - done));
        const auto at = offset + static_cast<Offset>(done);
        std::byte* const stage = tries ? part.data() : stage_for(memory_.get(), at);
        if (!reads) std::memcpy(stage, part.data(), part.size());
        const Answer moved = answer_of(reads ? ::pread(file, stage, part.size(), at)
                                             : ::pwrite(file, stage, part.size(), at));
        if (moved.failed() && done == 0) return moved;
        if (moved.failed()) break;
        const auto bytes = static_cast<std::size_t>(moved.result);
        if (reads && !tries) std::memcpy(part.data(), stage, bytes);
        done += bytes;
        if (bytes < part.size()) break;
    }
    return {static_cast<std::int64_t>(done), 0};
}

}  // namespace oratorio
