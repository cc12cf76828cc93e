// Store: how bytes move between memory and one open file. Knows nothing of ranks.
// Backends answer what the system answered (short counts, errno); transfer.hpp completes short
// transfers, retries and splits, once for all backends. Chosen by the hint oratorio_store.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/direction.hpp"
#include "base/result.hpp"

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
    int system_errno = 0;  ///< 0 = success
};

enum class Submitted { done, queued, full };  ///< full: reap first, then submit again

struct StoreLimits {
    int queue_depth = 1;        ///< requests that may be outstanding
    int iovecs_max = 1024;      ///< per request
    Bytes bytes_max = 1 << 30;  ///< per request
    Bytes block_bytes = 4096;   ///< preferred block of the file system (st_blksize)
    bool asynchronous = false;  ///< `queued` requests progress while the caller does other things
};

/// How a file is opened; made from the MPI amode and the hints by file/.
struct OpenMode {
    bool read = false;
    bool write = false;
    bool create = false;
    bool exclusive = false;
    int permissions = 0666;  ///< of a created file, before umask (hint file_perm)
};

class Store {
  public:
    virtual ~Store() = default;
    Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    /// `done`: a completion is ready to be reaped at once (also for failures of the transfer).
    virtual Submitted submit(const IoRequest& request) = 0;
    /// Completed requests, at most out.size(). Waits for one when `wait` and something is
    /// outstanding; else may give 0.
    virtual std::size_t reap(std::span<IoCompletion> out, bool wait) = 0;
    virtual Result<Bytes> size() = 0;
    /// Truncates or extends; `allocate`: makes sure storage is there for [0, bytes) without
    /// shrinking or changing data.
    virtual Result<void> resize(Bytes bytes, bool allocate) = 0;
    virtual Result<void> sync() = 0;
    /// Locks the range against other writers (advisory, per open file); blocks. `lock == false`
    /// unlocks.
    virtual Result<void> lock(Extent range, bool lock, bool exclusive) = 0;
    virtual Result<void> close() = 0;
    [[nodiscard]] virtual const StoreLimits& limits() const = 0;
};

/// pread/pwrite family; completes inside submit.
Result<std::unique_ptr<Store>> open_posix(const std::string& path, const OpenMode& mode);
/// io_uring; fails with unsupported_operation where the kernel refuses (the caller falls back to
/// posix and says so).
Result<std::unique_ptr<Store>> open_uring(const std::string& path, const OpenMode& mode,
                                          int queue_depth);

/// Unlinks `path`.
Result<void> remove_file(const std::string& path);

}  // namespace oratorio
