// SPDX-License-Identifier: BSD-3-Clause
// The stores for file systems with incoherent client caches
// (docs/internals/decisions/network-file-systems.md). Two clients of NFS that share a page each
// write back the whole page and so undo each other's writes, and each reads from its own cache.
// With both stores exactly the written bytes are sent, and are on the server when submit returns or
// when their series ends. The store `uncached` bypasses the cache, so each read asks the server.
// The store `cached_reads` is for a file that only one client uses until the next sync: it reads
// small pieces from the page cache. Linux drops the pages that a direct write changes.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "store/descriptor_store.hpp"

namespace oratorio {
namespace {

/// The maximum size of a request. Scattered memory is gathered into one buffer, because each piece
/// would otherwise be a message to the server.
constexpr Bytes kGatheredMax = 4 << 20;
/// The store cached_reads reads larger pieces by direct I/O: then one request has more bytes, and
/// none are copied. Linux reads at most this far ahead by default.
constexpr std::size_t kCachedMost = 128 << 10;
/// The byte that readable stores lock, beyond all data and apart from this library's other locks.
/// An NFS client that holds a lock on a file sends the bytes that were written, not the pages that
/// contain them.
constexpr Extent kPresence{kOffsetLimit + 64, kOffsetLimit + 65};

/// Returns the byte that a store of this kind locks while it uses the page cache. The system allows
/// only exclusive locks on a write-only descriptor, so such a store locks a random byte, for which
/// no other store waits. Returns an empty range if that lock would cover the whole file, or if the
/// system has no random number.
Extent byte_to_lock(const OpenMode& mode, const FileKind& kind) {
    constexpr std::uint64_t kBytes = std::uint64_t{1} << 60;
    if (mode.read) return kPresence;
    std::uint64_t random = 0;
    const bool found = ::getrandom(&random, sizeof random, GRND_NONBLOCK) == sizeof random;
    if (kind.whole_file_locks || !found) return {};
    const Offset at = kPresence.end + static_cast<Offset>(random % kBytes);
    return {at, at + 1};
}

/// Returns true if a write fails with this number because of its own arguments or because it was
/// interrupted, not because an earlier write was lost.
bool is_about_this_call(int error_number) {
    return error_number == EINVAL || error_number == EFAULT || error_number == EINTR ||
           error_number == EAGAIN;
}

/// Clears the flags that request a second descriptor for direct I/O: this store has only one.
OpenMode plain(OpenMode mode) {
    mode.direct_read = mode.direct_write = false;
    return mode;
}

/// How a store uses the page cache of its client.
enum class Caching {
    none,  ///< pages are used only where the system refuses direct I/O, and dropped before each
           ///< read
    small_reads  ///< reads of small pieces only; pages are dropped at open and sync only
};

Result<std::unique_ptr<Store>> open_with(Caching caching, const std::string& path,
                                         const OpenMode& mode);

class UncachedStore final : public DescriptorStore {
  public:
    UncachedStore(OpenedDescriptor file, const OpenMode& mode, Caching caching, bool direct)
        : DescriptorStore(std::move(file), plain(mode), {.bytes_max = kGatheredMax}),
          sends_at_once_(kind().file_system == NFS_SUPER_MAGIC),
          locked_(byte_to_lock(mode, kind())),
          caching_(caching) {
        leave_page_cache(caching == Caching::none);
        if (!direct) use_cache();
        if (caching == Caching::small_reads) forget_pages();
    }

    Submitted submit(const IoRequest& request) override {
        if (waiting_) return Submitted::full;
        // A write that a mandatory lock denies is repeated under a lock of its own (past_locks),
        // which must not be released before the write is flushed.
        in_series_ = request.flush == Flush::end_of_series && !kind().mandatory_locks;
        completion_ = completion_of(request, past_locks(request, [&] {
                                        return request.memory.size() == 1
                                                   ? whole(request, request.memory.front())
                                                   : gathered(request);
                                    }));
        waiting_ = true;
        return Submitted::done;
    }

    std::size_t reap(std::span<IoCompletion> out, bool) override {
        if (!waiting_ || out.empty()) return 0;
        out[0] = completion_;
        waiting_ = false;
        return 1;
    }

    [[nodiscard]] std::uint64_t lost_writes() const override { return lost_writes_; }

    Result<void> flush_series(std::uint64_t lost_before) override {
        if (unflushed_) (void)flush();
        if (lost_writes_ == lost_before) return {};
        return Error::of_errno("write", lost_errno_);
    }

    /// Returns the file size on the server. Flushes first, because some clients ask the server only
    /// after a flush. If the server lacks the last byte of that size, finds the size by reading.
    Result<Bytes> size() override {
        // Read-only file systems and /proc can't flush, and a handle that only reads needn't.
        const auto flushed = flush_file();
        const int refused = flushed ? 0 : flushed.error().system_errno;
        const bool needless = !mode().write && (refused == EINVAL || refused == EROFS);
        if (!flushed && !needless) return flushed.error();
        const auto told = DescriptorStore::size();
        const bool one_client = caching_ == Caching::small_reads;
        if (!told || *told == 0 || one_client || !direct_ || sends_at_once_ || has_byte(*told - 1))
            return told;
        return size_by_reading(*told);
    }

    Result<void> resize(Bytes bytes, bool allocate) override {
        const auto resized = DescriptorStore::resize(bytes, allocate);
        return resized && allocate ? flush_file() : resized;
    }

    Result<void> sync() override {
        auto flushed = flush_file();
        caching_ == Caching::small_reads ? forget_pages() : drop_pages();
        return flushed;
    }

    Result<void> close() override {
        if (caching_ == Caching::none) drop_pages();
        return DescriptorStore::close();
    }

    Result<Mapped> map(Extent, Direction, Populate) override {
        return Error::make(ErrorKind::unsupported_operation,
                           "map: the file system's clients don't see each other's pages");
    }

    /// Opens the file again, because duplicates of a descriptor share the flag O_DIRECT, which
    /// use_cache() may clear.
    Result<std::unique_ptr<Store>> duplicate() override {
        if (kind().mandatory_locks)
            return Error::make(ErrorKind::unsupported_operation,
                               "this file system's locks would block a second descriptor");
        OpenMode again = mode();
        again.create = false;
        again.known = kind();
        return open_with(caching_, "/proc/self/fd/" + std::to_string(descriptor()), again);
    }

  private:
    Answer whole(const IoRequest& request, iovec memory) {
        if (caching_ == Caching::small_reads)
            set_direct(request.direction == Direction::write || memory.iov_len > kCachedMost);
        const Answer moved = request.direction == Direction::write ? write(memory, request.offset)
                                                                   : read(memory, request.offset);
        if (moved.error_number != EINVAL || !direct_) return moved;
        use_cache();
        return whole(request, memory);
    }

    Answer gathered(const IoRequest& request) {
        const auto length = static_cast<std::size_t>(length_of(request.memory));
        if (gathered_ == nullptr) gathered_.reset(new (std::nothrow) std::byte[kGatheredMax]);
        if (gathered_ == nullptr) return {-1, ENOMEM};
        std::byte* at = gathered_.get();
        const bool writes = request.direction == Direction::write;
        for (const iovec& piece : request.memory) {
            if (!writes) break;
            std::memcpy(at, piece.iov_base, piece.iov_len);
            at += piece.iov_len;
        }
        const Answer moved = whole(request, {gathered_.get(), length});
        auto left = writes || moved.failed() ? 0 : static_cast<std::size_t>(moved.result);
        at = gathered_.get();
        for (const iovec& piece : request.memory) {
            const std::size_t taken = std::min(left, piece.iov_len);
            if (taken == 0) break;
            std::memcpy(piece.iov_base, at, taken);
            at += taken;
            left -= taken;
        }
        return moved;
    }

    /// Returns true if the server has this byte, or if reading the byte fails.
    [[nodiscard]] bool has_byte(Offset at) const {
        std::byte byte{};
        Answer got{-1, EAGAIN};
        for (int tries = 0; got.error_number == EAGAIN && tries < kRetriesMax; ++tries)
            got = uninterrupted([&] { return ::pread(descriptor(), &byte, 1, at); });
        return got.result != 0;
    }

    /// Returns the size of a file that another client has truncated to less than `old`. Reads by
    /// direct I/O, because clients of SMB and MooseFS report the old size as long as the file is
    /// open for writing, but such reads get their bytes from the server.
    [[nodiscard]] Bytes size_by_reading(Bytes old) const {
        Bytes least = 0;  // the server has all bytes before it, and none from `old` on
        while (least < old) {
            const Bytes middle = least + (old - least) / 2;
            has_byte(middle) ? least = middle + 1 : old = middle;
        }
        return least;
    }

    Answer write(iovec memory, Offset offset) {
        const Answer moved =
            answer_of(::pwrite(descriptor(), memory.iov_base, memory.iov_len, offset));
        if (moved.failed() && !is_about_this_call(moved.error_number))
            note_failure(moved.error_number);
        if (moved.result <= 0 || (direct_ && sends_at_once_)) return moved;
        unflushed_ = unflushed_ || in_series_;
        if (in_series_) return moved;
        const Answer flushed = flush();
        return flushed.failed() ? flushed : moved;
    }

    /// Flushes the data of all writes so far.
    Answer flush() {
        const Answer flushed = uninterrupted([&] { return ::fdatasync(descriptor()); });
        if (flushed.failed()) note_failure(flushed.error_number);
        unflushed_ = false;
        return flushed;
    }

    /// Flushes the data and the attributes of the file.
    Result<void> flush_file() {
        auto flushed = DescriptorStore::sync();
        if (!flushed) note_failure(flushed.error().system_errno);
        unflushed_ = false;
        return flushed;
    }

    /// Counts a failed write or flush if there are unflushed writes of a series: a client may
    /// report the failure of an earlier write by a later call, and reports it only once.
    void note_failure(int error_number) {
        if (!unflushed_) return;
        ++lost_writes_;
        lost_errno_ = error_number;
    }

    /// Reads from the server. The client may know only an old file size, so after a read that fails
    /// or is short, asks the server for the size and reads the rest. If reading the rest fails, the
    /// result must not look like the end of the file.
    Answer read(iovec memory, Offset offset) {
        if (!direct_ && caching_ == Caching::none) forget_pages();
        const Answer first =
            answer_of(::pread(descriptor(), memory.iov_base, memory.iov_len, offset));
        const auto moved = first.failed() ? 0 : static_cast<std::size_t>(first.result);
        if (moved == memory.iov_len) return first;
        (void)flush_file();  // a failure to flush is reported by the writer's own flush
        const auto told = DescriptorStore::size();
        if (!told) return moved > 0 ? first : Answer{-1, told.error().system_errno};
        const Offset next = offset + static_cast<Bytes>(moved);
        if (*told <= next) return first;
        const Answer more =
            answer_of(::pread(descriptor(), static_cast<std::byte*>(memory.iov_base) + moved,
                              memory.iov_len - moved, next));
        if (more.failed()) return moved > 0 ? first : more;
        return {static_cast<Bytes>(moved) + more.result, 0};
    }

    /// Switches to the page cache, because the system refuses direct I/O for this file or for
    /// unaligned bytes. From then on, each write or series of writes is flushed, and each read
    /// first drops the cached pages.
    void use_cache() {
        takes_direct_ = false;
        set_direct(false);
        if (caching_ == Caching::small_reads) return;
        set_remark(
            "this file system's clients have their own caches, and it refuses direct I/O of "
            "unaligned bytes; each write is flushed, and pages are read again each time");
        // On a mount without locks, taking the lock fails, and flushing must suffice.
        (void)lock(locked_, true, false);
    }

    /// Switches between direct I/O and the page cache, if the system takes direct I/O.
    void set_direct(bool direct) {
        direct = direct && takes_direct_;
        if (direct == direct_) return;
        const int flags = ::fcntl(descriptor(), F_GETFL);
        const int wanted = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
        const bool done = ::fcntl(descriptor(), F_SETFL, wanted) == 0;
        direct_ = direct && done;
    }

    /// Discards cached pages. An NFS client does so when it takes a lock; other clients follow the
    /// advice of posix_fadvise.
    void forget_pages() {
        (void)lock(locked_, true, false);
        drop_pages();
    }

    /// Drops the pages that this node caches. Otherwise, programs that read the file by other means
    /// on this node would see pages from before the other nodes' writes: FUSE clients such as
    /// GlusterFS's keep the pages even if the file is opened again.
    void drop_pages() const { (void)::posix_fadvise(descriptor(), 0, 0, POSIX_FADV_DONTNEED); }

    /// True if a direct write is on the server when it returns. Clients other than NFS may have a
    /// cache of their own besides the page cache.
    const bool sends_at_once_;
    const Extent locked_;  ///< the byte that is locked while the store uses the page cache
    const Caching caching_;
    bool direct_ = true;             ///< the descriptor has the flag O_DIRECT
    bool takes_direct_ = true;       ///< the system has not refused direct I/O
    bool in_series_ = false;         ///< the current request's flush is delayed
    bool unflushed_ = false;         ///< writes are to be flushed at the end of their series
    std::uint64_t lost_writes_ = 0;  ///< failures that may have lost unflushed writes of a series
    int lost_errno_ = 0;             ///< the last of them
    std::unique_ptr<std::byte[]> gathered_;
    IoCompletion completion_;  // completion of the one request that may be outstanding
    bool waiting_ = false;
};

Result<std::unique_ptr<Store>> open_with(Caching caching, const std::string& path,
                                         const OpenMode& mode) {
    auto file = open_descriptor(path, mode, O_DIRECT);
    const bool direct = file.ok();
    if (!direct && file.error().system_errno == EINVAL) {
        // With O_EXCL, the first try may have created the file before it failed, so the second try
        // must accept an existing file.
        OpenMode again = mode;
        again.exclusive = false;
        file = open_descriptor(path, again);
    }
    if (!file) return file.error();
    return std::unique_ptr<Store>(
        std::make_unique<UncachedStore>(std::move(*file), mode, caching, direct));
}

}  // namespace

Result<std::unique_ptr<Store>> open_uncached(const std::string& path, const OpenMode& mode) {
    return open_with(Caching::none, path, mode);
}

Result<std::unique_ptr<Store>> open_cached_reads(const std::string& path, const OpenMode& mode) {
    return open_with(Caching::small_reads, path, mode);
}

}  // namespace oratorio
