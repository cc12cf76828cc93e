// SPDX-License-Identifier: BSD-3-Clause
// Store: moves bytes between memory and one open file, independently of ranks. A backend reports
// what the system reported (short counts, errno); transfer.hpp completes short transfers, retries
// and splits, once for all backends. The hint oratorio_store selects the backend.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/direction.hpp"
#include "base/result.hpp"
#include "store/disk_map.hpp"
#include "store/mapped.hpp"
#include "store/prefetch.hpp"

namespace oratorio {

class Store;

/// A sequence of store calls that runs as one request, such as a read-modify-write. The thread that
/// performs the store's requests runs it.
class StoreJob {
  public:
    /// Makes the calls on `store`, which no other thread uses at the same time. The job itself
    /// keeps the outcome.
    virtual void perform(Store& store) = 0;

  protected:
    ~StoreJob() = default;
};

/// When a write must have reached the server, on a file system whose client keeps writes until it
/// flushes them. Elsewhere, both mean the same.
enum class Flush {
    at_once,       ///< when the request completes
    end_of_series  ///< when the series ends to which the caller adds the write (WriteSeries)
};

/// A request for one contiguous range of the file, scattered over memory. The caller owns the
/// iovecs and the memory, which must stay valid until the request is reaped.
struct IoRequest {
    Direction direction = Direction::read;
    Offset offset = 0;
    std::span<const iovec> memory;
    std::uint64_t token = 0;  ///< chosen by the caller; returned in the completion
    /// Performed in place of a transfer, if not null. REQUIRES: limits().performs_jobs.
    StoreJob* job = nullptr;
    Flush flush = Flush::at_once;
};

struct IoCompletion {
    std::uint64_t token = 0;
    Bytes bytes = 0;       ///< bytes moved; may be short; 0 for a read at or past the end
    int system_errno = 0;  ///< 0: success; may be kInvalidResult
};

/// Returns the total length of the pieces.
[[nodiscard]] inline Bytes length_of(std::span<const iovec> memory) {
    Bytes sum = 0;
    for (const iovec& piece : memory) sum += static_cast<Bytes>(piece.iov_len);
    return sum;
}

enum class Submitted { done, queued, full };  ///< full: reap before submitting again

/// The alignment that a request needs to bypass the page cache (O_DIRECT). Its file offset and
/// length are multiples of `file`, and its iovecs begin and end at multiples of `memory`.
struct DirectAlignment {
    Bytes file = 0;  ///< 0: no request of this direction bypasses the page cache
    Bytes memory = 0;
};

struct StoreLimits {
    int queue_depth = 1;         ///< requests that may be outstanding
    int iovecs_max = 1024;       ///< per request
    Bytes bytes_max = 1 << 30;   ///< per request
    Bytes block_bytes = 4096;    ///< preferred block of the file system (st_blksize)
    bool asynchronous = false;   ///< `queued` requests progress while the caller does other work
    bool performs_jobs = false;  ///< requests may be jobs, which progress like other requests
    bool mappable = false;       ///< map() works
    /// True if other nodes might have extended the file without this machine knowing.
    bool size_may_be_old = false;
    /// True if writes under a lock must be flushed before the lock is released, because other
    /// machines would not see them.
    bool flush_before_unlock = false;
    DirectAlignment direct_read = {};
    DirectAlignment direct_write = {};
    std::string remark = {};  ///< message for the user: a requested feature that is not available

    [[nodiscard]] const DirectAlignment& direct(Direction direction) const {
        return direction == Direction::read ? direct_read : direct_write;
    }
};

/// Properties shared by all handles that open the file in the same way on one machine.
struct FileKind {
    long file_system = 0;      ///< f_type; 0: not known
    Bytes block_bytes = 4096;  ///< preferred block of the file system (st_blksize)
    bool mappable = false;
    bool one_machine = true;        ///< no other machine mounts the file system
    bool mandatory_locks = false;   ///< a lock denies conflicting accesses by other handles
    bool whole_file_locks = false;  ///< a lock on any range covers the whole file
};

/// Identifies a file; zeros if unknown. The number is the file system's.
struct FileNumber {
    std::uint64_t device = 0;  ///< device number on this machine
    std::uint64_t number = 0;
    bool operator==(const FileNumber&) const = default;
};

/// How a file is opened. src/file makes it from the MPI amode and the hints.
struct OpenMode {
    bool read = false;
    bool write = false;
    bool create = false;
    bool exclusive = false;
    int permissions = 0666;     ///< permissions of a created file, before umask (hint file_perm)
    bool direct_read = false;   ///< bypass the page cache where the alignment allows it
    bool direct_write = false;  ///< likewise; if the system refuses either, `remark` says so
    /// Properties that another store of the file on this machine has found; if set, the system
    /// isn't asked again.
    std::optional<FileKind> known = {};
};

/// What a store knows about its file and about its own abilities.
struct StoreFacts {
    StoreLimits limits;
    FileKind kind;
    FileNumber number;
    const DiskMap* disk_map = nullptr;  ///< owned by the store; null if there is none
    Prefetch* prefetch = nullptr;       ///< owned by the store; null if the store has none
};

class Store {
  public:
    virtual ~Store() = default;
    Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    /// Prepares the store for requests and for limits(); must be called before both. A lazily
    /// opened store (store/lazy_open) opens its file now, or returns why it can't.
    virtual Result<void> prepare() { return {}; }
    [[nodiscard]] virtual bool is_open() const { return true; }
    /// Returns what the store knows. The reference is valid until the next prepare(). A refused
    /// transfer may change `remark` and the alignments.
    [[nodiscard]] virtual const StoreFacts& facts() const;
    [[nodiscard]] const StoreLimits& limits() const { return facts().limits; }
    [[nodiscard]] const FileKind& kind() const { return facts().kind; }
    [[nodiscard]] const FileNumber& number() const { return facts().number; }
    [[nodiscard]] const DiskMap* disk_map() const { return facts().disk_map; }
    [[nodiscard]] Prefetch* prefetch() const { return facts().prefetch; }

    /// Tries to read or write one piece by a single system call. Returns true if the whole piece
    /// was moved. Otherwise a part of it may have been moved, and the caller must make a request
    /// for the whole piece, which also finds the error. Always returns false for a store that has
    /// to do more than make that call.
    [[nodiscard]] virtual bool move_piece(Direction /*direction*/, Offset /*offset*/,
                                          const iovec& /*piece*/) {
        return false;
    }
    /// Starts a request. After `done`, its completion can be reaped at once, even if the request
    /// failed.
    virtual Submitted submit(const IoRequest& request) = 0;
    /// Stores completions in `out` and returns their number. If `wait` is set and requests are
    /// outstanding, waits for at least one; otherwise may return 0.
    virtual std::size_t reap(std::span<IoCompletion> out, bool wait) = 0;
    /// Waits until no job is queued or being performed. Inside a job, returns at once.
    virtual void finish_jobs() {}
    /// Returns the number of times so far that writes of a series may have been lost.
    [[nodiscard]] virtual std::uint64_t lost_writes() const { return 0; }
    /// Flushes all writes that asked for Flush::end_of_series. Returns an error if lost_writes() is
    /// not `lost_before` afterwards.
    virtual Result<void> flush_series(std::uint64_t /*lost_before*/) { return {}; }
    /// Returns the file size, as the server has it if other machines may have extended the file.
    virtual Result<Bytes> size() = 0;
    /// Truncates or extends the file. With `allocate`, makes sure that [0, bytes) has storage,
    /// without shrinking the file or changing data.
    virtual Result<void> resize(Bytes bytes, bool allocate) = 0;
    virtual Result<void> sync() = 0;
    /// Waits for a lock on the range and takes it (against other handles; usually advisory).
    /// Returns an error instead of waiting where every lock covers the whole file. The lock is
    /// shared unless `exclusive` is set, the file is open for writing only or the file's locks are
    /// mandatory; if the file is open for reading only, it is always shared. With `lock == false`,
    /// unlocks the range.
    virtual Result<void> lock(Extent range, bool lock, bool exclusive) = 0;
    /// Returns true if another handle holds a lock on any part of the range.
    virtual Result<bool> is_locked_elsewhere(Extent range) = 0;
    /// Registers memory that requests will use repeatedly; empty memory ends the registration. The
    /// memory must stay valid until the next call. Requests may use any memory, registered or not.
    virtual void register_buffers(std::span<std::byte> /*memory*/) {}
    /// Maps a range of the file into memory, until the result is destroyed or the store closes. A
    /// mapping for reading covers the part of the range that the file has. A mapping for writing
    /// first extends a shorter file to range.end. Extending never shrinks the file or changes a
    /// byte, even if others extend the file at the same time, and allocates only the block of the
    /// last byte; without room for that block, returns no_space. Callers that map a file window by
    /// window should map its last byte first: the system uses larger pages if the file was already
    /// long. Returns unsupported_operation for what can't be mapped (special files, write-only
    /// files, some file systems), and if the file must be extended but the system refuses
    /// fallocate.
    virtual Result<Mapped> map(Extent range, Direction direction, Populate populate) = 0;
    virtual Result<void> close() = 0;
    /// Makes another store of the same file with its own requests, for use by another thread: only
    /// one thread at a time may use a store. Locks that this store holds also cover the requests of
    /// the duplicate. Returns unsupported_operation if the store can't be duplicated. REQUIRES:
    /// prepare() succeeded.
    virtual Result<std::unique_ptr<Store>> duplicate();
    /// Asks the server for the size if the known size is less than `end` and other machines may
    /// have extended the file. Called before a read up to `end`, because a client that doesn't know
    /// of the extension may return garbage (docs/internals/decisions/network-file-systems.md).
    void expect_size(Offset end);
    /// Discards the known size. Called when another rank may have truncated the file.
    void forget_size() { known_size_ = 0; }

  private:
    Bytes known_size_ = 0;  ///< size that expect_size() last received; 0: unknown
};

/// A series of writes: those requests with Flush::end_of_series that complete while this object
/// lives. Its end flushes them all together. Several series of one store may overlap; a failed
/// flush fails each of them, because the system reports a failure only once. REQUIRES: the series
/// ends before another rank or the program learns of the writes, and before a lock on the written
/// range is released if limits().flush_before_unlock.
class WriteSeries {
  public:
    /// Ends a series after this many bytes: if its flush fails, no byte of it counts as stored.
    static constexpr Bytes kBytesMost = 32 << 20;

    explicit WriteSeries(Store& store) : store_(&store), lost_before_(store.lost_writes()) {}
    ~WriteSeries() { (void)end(); }
    WriteSeries(const WriteSeries&) = delete;
    WriteSeries& operator=(const WriteSeries&) = delete;
    /// Returns an error if any of the writes may not have reached the server.
    Result<void> end() {
        Store* const store = std::exchange(store_, nullptr);
        return store != nullptr ? store->flush_series(lost_before_) : Result<void>();
    }

  private:
    Store* store_;
    std::uint64_t lost_before_;
};

inline const StoreFacts& Store::facts() const {
    static const StoreFacts usual;
    return usual;
}

inline void Store::expect_size(Offset end) {
    if (!limits().size_may_be_old || end <= known_size_) return;
    // If size() fails, the read itself reports the error.
    if (const auto now = size(); now) known_size_ = *now;
}

inline Result<std::unique_ptr<Store>> Store::duplicate() {
    return Error::make(ErrorKind::unsupported_operation,
                       "this kind of store can't be duplicated for a second thread");
}

/// Opens a store over the pread/pwrite family; requests complete inside submit.
Result<std::unique_ptr<Store>> open_posix(const std::string& path, const OpenMode& mode);
/// Opens a store over io_uring. Returns unsupported_operation if the kernel refuses; the caller
/// then uses posix and reports it.
Result<std::unique_ptr<Store>> open_uring(const std::string& path, const OpenMode& mode,
                                          int queue_depth);

/// Opens a posix store with an I/O thread of its own: up to `queue_depth` requests progress while
/// the caller does other work.
Result<std::unique_ptr<Store>> open_threaded(const std::string& path, const OpenMode& mode,
                                             int queue_depth);

/// Opens a store like posix for file systems with incoherent client caches: it bypasses everything
/// that this machine caches of the file. Reads ask the server. Exactly the written bytes, and no
/// whole pages, are on the server when submit returns, or when the series of writes ends. The store
/// is correct on all file systems, but slow on local ones.
Result<std::unique_ptr<Store>> open_uncached(const std::string& path, const OpenMode& mode);

/// Opens a store like uncached for a file that only this client uses from an open or sync to the
/// next sync. Writes are the same as with uncached, but small reads may come from the page cache,
/// which is dropped at open and at sync.
Result<std::unique_ptr<Store>> open_cached_reads(const std::string& path, const OpenMode& mode);

/// Returns the identity of the file that `path` currently names, following links.
Result<FileNumber> number_of(const std::string& path);
/// Unlinks `path`.
Result<void> remove_file(const std::string& path);

}  // namespace oratorio
