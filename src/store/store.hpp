// SPDX-License-Identifier: BSD-3-Clause
// Store: how bytes move between memory and one open file. Knows nothing of ranks.
// Backends answer what the system answered (short counts, errno); transfer.hpp completes short
// transfers, retries and splits, once for all backends. Chosen by the hint oratorio_store.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/direction.hpp"
#include "base/result.hpp"
#include "store/disk_map.hpp"
#include "store/mapped.hpp"
#include "store/prefetch.hpp"

namespace oratorio {

/// One contiguous range of the file, scattered over memory. The iovecs and the memory stay the
/// caller's until it is reaped.
struct IoRequest {
    Direction direction = Direction::read;
    Offset offset = 0;
    std::span<const iovec> memory;
    std::uint64_t token = 0;  ///< the caller's, comes back in the completion
};

struct IoCompletion {
    std::uint64_t token = 0;
    Bytes bytes = 0;       ///< moved; may be short; 0 for a read at or past the end
    int system_errno = 0;  ///< 0 = success; kInvalidResult
};

/// Bytes of all pieces.
[[nodiscard]] inline Bytes length_of(std::span<const iovec> memory) {
    Bytes sum = 0;
    for (const iovec& piece : memory) sum += static_cast<Bytes>(piece.iov_len);
    return sum;
}

enum class Submitted { done, queued, full };  ///< full: reap first, then submit again

/// What a request must keep to if it shall go past the page cache (O_DIRECT). Its file offset and
/// length are multiples of `file`, its iovecs begin and end at multiples of `memory`.
struct DirectAlignment {
    Bytes file = 0;  ///< 0: no request of this direction goes past the page cache
    Bytes memory = 0;
};

struct StoreLimits {
    int queue_depth = 1;        ///< requests that may be outstanding
    int iovecs_max = 1024;      ///< per request
    Bytes bytes_max = 1 << 30;  ///< per request
    Bytes block_bytes = 4096;   ///< preferred block of the file system (st_blksize)
    bool asynchronous = false;  ///< `queued` requests progress while the caller does other things
    bool mappable = false;      ///< map works
    /// Other nodes may have made the file longer without this machine's knowing.
    bool size_may_be_old = false;
    DirectAlignment direct_read;
    DirectAlignment direct_write;
    std::string remark;  ///< what the user should know: something asked for that isn't to be had

    [[nodiscard]] const DirectAlignment& direct(Direction direction) const {
        return direction == Direction::read ? direct_read : direct_write;
    }
};

/// What is the same for all who have the file open on one machine.
struct FileKind {
    long file_system = 0;      ///< f_type; 0: not known
    Bytes block_bytes = 4096;  ///< preferred block of the file system (st_blksize)
    bool mappable = false;
    bool one_machine = true;       ///< no other machine has the file system
    bool mandatory_locks = false;  ///< a lock denies accesses of all others
    bool slow_locks = false;       ///< waiting for a lock takes up to half a minute
};

/// Which file it is; zeros where that isn't known. The number is the file system's.
struct FileNumber {
    std::uint64_t device = 0;  ///< of this machine
    std::uint64_t number = 0;
    bool operator==(const FileNumber&) const = default;
};

/// How a file is opened; made from the MPI amode and the hints by file/.
struct OpenMode {
    bool read = false;
    bool write = false;
    bool create = false;
    bool exclusive = false;
    int permissions = 0666;     ///< of a created file, before umask (hint file_perm)
    bool direct_read = false;   ///< past the page cache where the alignment allows it
    bool direct_write = false;  ///< the same; where the system refuses it, `remark` says so
    /// As another store of the file on this machine has found it: it isn't asked again.
    std::optional<FileKind> known = {};
};

class Store {
  public:
    virtual ~Store() = default;
    Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    /// Comes before requests and limits(). A store that opens its file late (store/late) opens it
    /// now, or tells why it can't.
    virtual Result<void> prepare() { return {}; }
    [[nodiscard]] bool is_open() const { return open_; }

    /// `done`: a completion is ready to be reaped at once (also for failures of the transfer).
    virtual Submitted submit(const IoRequest& request) = 0;
    /// Completed requests, at most out.size(). Waits for one when `wait` and something is
    /// outstanding; else may give 0.
    virtual std::size_t reap(std::span<IoCompletion> out, bool wait) = 0;
    /// As the server has it, where other machines may make the file longer.
    virtual Result<Bytes> size() = 0;
    /// Truncates or extends; `allocate`: makes sure storage is there for [0, bytes) without
    /// shrinking or changing data.
    virtual Result<void> resize(Bytes bytes, bool allocate) = 0;
    virtual Result<void> sync() = 0;
    /// Locks the range against other writers (advisory, per open file); blocks. `lock == false`
    /// unlocks.
    virtual Result<void> lock(Extent range, bool lock, bool exclusive) = 0;
    /// Whether somebody else holds a lock on any of the range.
    virtual Result<bool> is_locked_elsewhere(Extent range) = 0;
    /// Requests will come from and go to this memory again and again, which stays where it is until
    /// the next call; with none, until now. A store may tell the system of it beforehand. All
    /// memory is good for requests, announced or not.
    virtual void announce(std::span<std::byte> /*memory*/) {}
    /// Gives the range as memory, until the result ends or the store closes. A read gets what the
    /// file has of it. A write makes the file as long as range.end first, if it is shorter: that
    /// never shrinks it nor changes a byte, whoever else extends it at the same time, and allocates
    /// the last byte's block only; no_space when there is no room for that. Whoever maps a file
    /// window by window does well to map its last byte first: where a file was long before, the
    /// system takes larger pages. unsupported_operation for what can't be mapped: special files,
    /// write-only ones, some file systems; and for a write that would make the file longer where
    /// the system has no call for that (fallocate).
    virtual Result<Mapped> map(Extent range, Direction direction, Populate populate) = 0;
    virtual Result<void> close() = 0;
    /// Another store of the same open file, whose requests are its own: for a thread beside, as one
    /// store is used by one thread at a time. This one's locks hold for its requests, too. Comes
    /// after prepare(). unsupported_operation where there is no such thing.
    virtual Result<std::unique_ptr<Store>> duplicate();
    /// To be called before a read up to `end`: asks for the size if the file may end before that
    /// as far as this machine knows, and other machines may have made it longer. A client that
    /// doesn't know of it may answer with nonsense
    /// (docs/decisions/0051-what-other-clients-know.md).
    void expect_size(Offset end);
    /// Another rank may have made the file shorter.
    void forget_size() { known_size_ = 0; }
    [[nodiscard]] const StoreLimits& limits() const { return limits_; }
    [[nodiscard]] const FileKind& kind() const { return kind_; }
    [[nodiscard]] const FileNumber& number() const { return number_; }
    /// Null: nobody knows. The store's.
    [[nodiscard]] const DiskMap* disk_map() const { return disk_map_; }
    /// Null: it fetches nothing ahead. The store's.
    [[nodiscard]] Prefetch* prefetch() const { return prefetch_; }

  protected:
    StoreLimits limits_;  ///< `remark` and the alignments may change when a transfer is refused
    FileKind kind_;
    FileNumber number_;
    bool open_ = true;
    const DiskMap* disk_map_ = nullptr;
    Prefetch* prefetch_ = nullptr;

  private:
    Bytes known_size_ = 0;  ///< as expect_size has found it last
};

inline void Store::expect_size(Offset end) {
    if (!limits_.size_may_be_old || end <= known_size_) return;
    if (const auto now = size(); now) known_size_ = *now;  // the read meets what is wrong
}

inline Result<std::unique_ptr<Store>> Store::duplicate() {
    return Error::make(ErrorKind::unsupported_operation, "this store is for one thread");
}

/// pread/pwrite family; completes inside submit.
Result<std::unique_ptr<Store>> open_posix(const std::string& path, const OpenMode& mode);
/// io_uring; fails with unsupported_operation where the kernel refuses (the caller falls back to
/// posix and says so).
Result<std::unique_ptr<Store>> open_uring(const std::string& path, const OpenMode& mode,
                                          int queue_depth);

/// posix behind a thread of its own: `queue_depth` requests progress while the caller does other
/// things.
Result<std::unique_ptr<Store>> open_threaded(const std::string& path, const OpenMode& mode,
                                             int queue_depth);

/// As posix, but past all that this machine keeps of the file: what is written is on the server
/// when submit returns, byte for byte, and what is read comes from there. For file systems whose
/// clients have caches that know nothing of each other; right on all, slow on those of one machine.
Result<std::unique_ptr<Store>> open_uncached(const std::string& path, const OpenMode& mode);

/// Which file `path` names now, or the file that its link leads to.
Result<FileNumber> number_of(const std::string& path);
/// Unlinks `path`.
Result<void> remove_file(const std::string& path);

}  // namespace oratorio
