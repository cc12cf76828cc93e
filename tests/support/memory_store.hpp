// SPDX-License-Identifier: BSD-3-Clause
// MemoryStore: a file in memory that any number of ranks open, with faults drawn from a seed.
// REQUIRES: the ranks run one at a time, as those of sim_transport do.
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

/// Totals over all stores on one disk.
struct DiskCounters {
    std::uint64_t reads = 0;  ///< requests, including failed ones
    std::uint64_t writes = 0;
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
    std::uint64_t resizes = 0;
    std::uint64_t syncs = 0;
    std::uint64_t locks = 0;  ///< unlocks are not counted
    std::uint64_t maps = 0;
    std::uint64_t late_extensions = 0;  ///< by map(), after data was written through a mapping
};

/// The bytes of one file. They are stored sparsely, so that offsets may be large.
class MemoryDisk {
  public:
    /// A write stops at `capacity`: the bytes that fit are written, then it fails with ENOSPC.
    explicit MemoryDisk(Bytes capacity = std::numeric_limits<Bytes>::max()) : capacity_(capacity) {}

    [[nodiscard]] Bytes size() const {
        const std::lock_guard alone(*mutex_);
        return size_;
    }
    [[nodiscard]] Bytes capacity() const { return capacity_; }
    void resize(Bytes bytes);
    /// Returns zeros where nothing was written, also past the end.
    void read(Offset offset, std::span<std::byte> into) const;
    void write(Offset offset, std::span<const std::byte> from);
    /// Returns the whole file, or a range of it, for checking.
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
    // Ranks run one at a time, but their I/O threads do not.
    std::unique_ptr<std::recursive_mutex> mutex_ = std::make_unique<std::recursive_mutex>();
    Bytes size_ = 0;
    std::map<Offset, std::vector<std::byte>> pages_;  // by page number
    std::vector<Lock> locks_;
    bool mapped_writes_ = false;  ///< something was written through a mapping
    DiskCounters counters_;
};

struct MemoryStoreOptions {
    OpenMode mode = {.read = true, .write = true};  ///< the other direction fails with EBADF
    std::uint64_t seed = 1;
    Extent bad_reads = {};  ///< fails with EIO; the bytes before it are moved first
    Extent bad_writes = {};
    int short_percent = 0;        ///< chance of a short transfer (of at least 1 byte)
    int interrupted_percent = 0;  ///< chance of EINTR
    int again_percent = 0;        ///< chance of EAGAIN
    bool asynchronous = false;    ///< bytes move in a later reap, in any order
    bool yields = false;          ///< lets others run before each request, by `while_locked`
    /// If asynchronous: chance that a reap without waiting returns no further completion.
    int late_percent = 50;
    int queue_depth = 8;  ///< 1 if not asynchronous
    int iovecs_max = 1024;
    Bytes bytes_max = 1 << 30;
    std::vector<DiskExtent> places =
        {};                        ///< where the file's bytes are reported to lie; empty: unknown
    Prefetch* prefetch = nullptr;  ///< owned by the caller
    int node = 0;                  ///< locks of other nodes are neither seen nor waited for
    bool mandatory_locks = false;  ///< a lock denies transfers (EACCES), as on an SMB server
    int resize_errno = 0;          ///< these calls fail with it
    int sync_errno = 0;
    int close_errno = 0;
};

/// A disk map with fixed places.
class GivenPlaces final : public DiskMap {
  public:
    explicit GivenPlaces(std::vector<DiskExtent> all) : all_(std::move(all)) {}
    [[nodiscard]] std::vector<DiskExtent> places(Extent range, std::size_t most) const override;

  private:
    std::vector<DiskExtent> all_;
};

class MemoryStore : public Store {
  public:
    /// `while_locked` is called while another store holds a lock, so that other ranks can run.
    /// Without `while_locked` taking such a lock fails.
    explicit MemoryStore(MemoryDisk& disk, const MemoryStoreOptions& options = {},
                         std::function<void()> while_locked = {});
    ~MemoryStore() override;

    Submitted submit(const IoRequest& request) override;
    std::size_t reap(std::span<IoCompletion> out, bool wait) override;
    Result<Bytes> size() override { return disk_.size(); }
    Result<void> resize(Bytes bytes, bool allocate) override;
    Result<void> sync() override;
    Result<void> lock(Extent range, bool lock, bool exclusive) override;
    Result<bool> is_locked_elsewhere(Extent range) override { return conflicts(range, true); }
    /// Maps a copy of the bytes. The end of a guarded copy and the end of the mapping write back
    /// only bytes that changed, so that bytes written by others since then stay. A full disk and
    /// bad ranges fail the guarded copy; its bytes before the fault are kept.
    Result<Mapped> map(Extent range, Direction direction, Populate populate) override;
    /// Returns a store that draws its faults again from the same seed. No other rank runs before
    /// its requests, because they come from a thread that is no rank.
    Result<std::unique_ptr<Store>> duplicate() override {
        MemoryStoreOptions options = options_;
        options.yields = false;
        return std::unique_ptr<Store>(std::make_unique<MemoryStore>(disk_, options));
    }
    Result<void> close() override;

  private:
    IoCompletion perform(const IoRequest& request);
    [[nodiscard]] bool conflicts(Extent range, bool exclusive) const;
    [[nodiscard]] bool is_denied(Extent range, bool writes) const;
    void unlock(Extent range);

    MemoryDisk& disk_;
    MemoryStoreOptions options_;
    GivenPlaces places_;
    std::function<void()> while_locked_;
    Random random_;
    std::vector<IoRequest> queued_;
    std::deque<IoCompletion> done_;
};

}  // namespace oratorio::test
