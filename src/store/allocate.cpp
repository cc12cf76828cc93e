// SPDX-License-Identifier: BSD-3-Clause
#include "store/allocate.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "store/transfer.hpp"

namespace oratorio {
namespace {

/// Rewrites a range under a lock: reads it and writes it back, with zeros past the end of the file.
Result<void> write_again(Store& store, const JobLocksOfFile* job, Extent range,
                         std::span<std::byte> memory) {
    auto held = RangeLock::take(store, job, range, true);
    if (!held) return held.error();
    const Transferred there = transfer(store, Direction::read, range.begin, memory);
    if (there.error.kind != ErrorKind::none) return there.error;
    std::fill(memory.begin() + there.bytes, memory.end(), std::byte{0});
    const Transferred put = transfer(store, Direction::write, range.begin, memory);
    if (put.error.kind != ErrorKind::none) return put.error;
    return held->give_back();
}

Result<void> allocate_by_writing(Store& store, Bytes bytes, const Allocator& allocator) {
    constexpr Bytes kChunk = 256 << 10;
    // Without read access, old bytes can't be rewritten, so only the part past the file's end is
    // allocated.
    Offset at = 0;
    if (!allocator.readable) {
        auto size = store.size();
        if (!size) return size.error();
        at = *size;
    }
    std::vector<std::byte> memory(static_cast<std::size_t>(std::min(kChunk, bytes)));
    for (; at < bytes; at += kChunk) {
        const Extent range{at, std::min(at + kChunk, bytes)};
        const auto part = std::span(memory).first(static_cast<std::size_t>(range.length()));
        if (allocator.readable) {
            if (auto put = write_again(store, allocator.job, range, part); !put) return put.error();
            continue;
        }
        const Transferred put = transfer(store, Direction::write, at, part);
        if (put.error.kind != ErrorKind::none) return put.error;
    }
    return {};
}

}  // namespace

Result<void> allocate(Store& store, Bytes bytes, const Allocator& allocator) {
    auto allocated = store.resize(bytes, true);
    if (allocated) return allocated;
    // A sandbox may forbid just this call (EPERM). If access to the file itself is denied, writing
    // fails as well.
    const Error& refused = allocated.error();
    if (refused.kind != ErrorKind::unsupported_operation && refused.system_errno != EPERM)
        return allocated;
    if (!allocator.may_fill) {
        return Error::make(
            ErrorKind::unsupported_operation,
            "preallocate: the file system can't allocate, and filling the file could overwrite "
            "writes of other handles; close those handles first",
            allocated.error().system_errno);
    }
    if (auto written = allocate_by_writing(store, bytes, allocator); !written) return written;
    return store.sync();
}

}  // namespace oratorio
