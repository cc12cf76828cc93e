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

constexpr Bytes kChunk = 256 << 10;

/// Appends zeros until the file has `bytes` bytes, under a lock: a handle that extends the file
/// waits, and what it has written before stays.
Result<void> append_zeros(Store& store, Bytes bytes, const JobLocksOfFile* job) {
    const auto end = [&] {
        store.forget_size();
        return store.size();
    };
    const auto before = end();
    if (!before) return before.error();
    auto held = RangeLock::take(store, job, {std::min(*before, bytes), bytes}, true);
    if (!held) return held.error();
    const auto size = end();
    if (!size) return size.error();
    std::vector<std::byte> zeros(static_cast<std::size_t>(std::min(kChunk, bytes)));
    for (Offset at = *size; at < bytes; at += kChunk) {
        const auto part =
            std::span(zeros).first(static_cast<std::size_t>(std::min(kChunk, bytes - at)));
        const Transferred put = transfer(store, Direction::write, at, part);
        if (put.error.kind != ErrorKind::none) return put.error;
    }
    return held->give_back();
}

Result<void> allocate_by_writing(Store& store, Bytes bytes, const Allocator& allocator) {
    // Without read access, old bytes can't be rewritten, so only the part past the file's end is
    // allocated.
    if (!allocator.readable) return append_zeros(store, bytes, allocator.job);
    std::vector<std::byte> memory(static_cast<std::size_t>(std::min(kChunk, bytes)));
    for (Offset at = 0; at < bytes; at += kChunk) {
        const Extent range{at, std::min(at + kChunk, bytes)};
        const auto part = std::span(memory).first(static_cast<std::size_t>(range.length()));
        if (auto put = write_again(store, allocator.job, range, part); !put) return put.error();
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
