// SPDX-License-Identifier: BSD-3-Clause
// MemoryStore: a store of a file in memory that any number of ranks open, with faults drawn from a
// seed. REQUIRES: one thread at a time uses a store; stores of the same disk may be used by several
// threads at once.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "store/store.hpp"
#include "support/random.hpp"

namespace oratorio::test {

/// Counts of the calls of all stores on one disk.
struct DiskCounters {
    std::uint64_t reads = 0;  ///< read requests, including failed ones
    std::uint64_t writes = 0;
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
    std::uint64_t resizes = 0;
    std::uint64_t syncs = 0;
    std::uint64_t locks = 0;  ///< locks taken
    std::uint64_t maps = 0;
    std::uint64_t populating_maps = 0;  ///< those with Populate::yes
    /// Number of times that map() made the file longer after data had been written through a
    /// mapping.
    std::uint64_t late_extensions = 0;
};

/// The bytes of one file. Pages that were never written take no memory, so that offsets may be
/// large.
class MemoryDisk {
  public:
    /// Makes an empty file that holds at most `capacity` bytes. A write across that end is short; a
    /// write that begins there or beyond fails with ENOSPC.
    explicit MemoryDisk(Bytes capacity = std::numeric_limits<Bytes>::max()) : capacity_(capacity) {}

    [[nodiscard]] Bytes size() const {
        const std::lock_guard alone(*mutex_);
        return size_;
    }
    [[nodiscard]] Bytes capacity() const { return capacity_; }
    void resize(Bytes bytes);
    /// Reads bytes; those that were never written, also past the file's end, are zeros.
    void read(Offset offset, std::span<std::byte> into) const;
    void write(Offset offset, std::span<const std::byte> from);
    /// Returns the whole file, or a range of it, without counting as a read.
    [[nodiscard]] std::vector<std::byte> contents() const { return contents({0, size_}); }
    [[nodiscard]] std::vector<std::byte> contents(Extent range) const;
    [[nodiscard]] const DiskCounters& counters() const { return counters_; }

  private:
    friend class MemoryStore;
    friend class MemoryWindow;
    struct Lock {
        const void* owner;
        Extent range;
        bool exclusive;
        int node;
    };
    Bytes capacity_;
    // Locked even though ranks run one at a time, because their I/O threads run concurrently.
    std::unique_ptr<std::recursive_mutex> mutex_ = std::make_unique<std::recursive_mutex>();
    Bytes size_ = 0;
    std::map<Offset, std::vector<std::byte>> pages_;  // key: page number
    std::vector<Lock> locks_;
    bool mapped_writes_ = false;  ///< data was written through a mapping
    DiskCounters counters_;
};

struct MemoryStoreOptions {
    OpenMode mode = {.read = true, .write = true};  ///< a transfer in a direction that is not open
                                                    ///< fails with EBADF
    std::uint64_t seed = 1;
    /// Reads of this range fail with EIO, after the bytes before the range have been transferred.
    Extent bad_reads = {};
    Extent bad_writes = {};
    int short_percent = 0;        ///< chance of a short transfer, of at least 1 byte
    int interrupted_percent = 0;  ///< chance that a request fails with EINTR
    int again_percent = 0;        ///< chance that a request fails with EAGAIN
    /// Requests transfer their bytes in a later reap, in any order.
    bool asynchronous = false;
    /// If not asynchronous, each request first calls `while_locked`, so that other ranks may run.
    bool yields = false;
    /// If asynchronous, the chance at each completion that a reap returns without it and the later
    /// ones. A reap that waits always returns one.
    int late_percent = 50;
    int queue_depth = 8;  ///< a store that is not asynchronous has 1
    int iovecs_max = 1024;
    Bytes bytes_max = 1 << 30;
    std::vector<DiskExtent> places =
        {};                        ///< where the file's bytes are reported to lie; empty: unknown
    Prefetch* prefetch = nullptr;  ///< owned by the caller
    int node = 0;                  ///< the node of the caller; locks of other nodes are ignored
    FileNumber number = {};
    /// An exclusive lock forbids all transfers of other owners, a shared lock all writes (EACCES),
    /// as on an SMB server.
    bool mandatory_locks = false;
    int resize_errno = 0;  ///< errno with which resize() fails; 0: it succeeds
    int sync_errno = 0;
    int close_errno = 0;
};

/// A disk map that returns the places in a list.
class GivenPlaces final : public DiskMap {
  public:
    explicit GivenPlaces(std::vector<DiskExtent> all) : all_(std::move(all)) {}
    [[nodiscard]] std::vector<DiskExtent> places(Extent range, std::size_t most) const override;

  private:
    std::vector<DiskExtent> all_;
};

class MemoryStore : public Store {
  public:
    /// Opens the disk's file. While another store holds a conflicting lock, lock() calls
    /// `while_locked`, so that other ranks can run. Without `while_locked` it fails.
    explicit MemoryStore(MemoryDisk& disk, const MemoryStoreOptions& options = {},
                         std::function<void()> while_locked = {});
    ~MemoryStore() override;

    [[nodiscard]] const StoreFacts& facts() const override { return facts_; }
    Submitted submit(const IoRequest& request) override;
    std::size_t reap(std::span<IoCompletion> out, bool wait) override;
    Result<Bytes> size() override { return disk_.size(); }
    Result<void> resize(Bytes bytes, bool allocate) override;
    Result<void> sync() override;
    Result<void> lock(Extent range, bool lock, bool exclusive) override;
    Result<bool> is_locked_elsewhere(Extent range) override { return conflicts(range, true); }
    /// Maps a copy of the bytes. The end of a guarded copy and the end of the mapping write back
    /// only the bytes that changed, so that bytes which others have written since the copy was made
    /// stay. The guarded copy fails on a full disk and in bad ranges; its bytes before the fault
    /// are kept.
    Result<Mapped> map(Extent range, Direction direction, Populate populate) override;
    /// Returns a store on the same disk that draws the same faults from the start again. The two
    /// own their locks together, as duplicated descriptors do. Requests of the duplicate do not let
    /// other ranks run, because a thread that isn't a rank makes them.
    Result<std::unique_ptr<Store>> duplicate() override;
    Result<void> close() override;

  private:
    IoCompletion perform(const IoRequest& request);
    [[nodiscard]] bool try_lock(Extent range, bool exclusive);
    [[nodiscard]] bool conflicts(Extent range, bool exclusive) const;
    [[nodiscard]] bool is_denied(Extent range, bool writes) const;
    void unlock(Extent range);

    MemoryDisk& disk_;
    MemoryStoreOptions options_;
    GivenPlaces places_;
    StoreFacts facts_;
    std::function<void()> while_locked_;
    /// Owner of the locks; its address identifies it.
    std::shared_ptr<char> owner_ = std::make_shared<char>();
    Random random_;
    std::vector<IoRequest> queued_;
    std::deque<IoCompletion> done_;
};

}  // namespace oratorio::test
