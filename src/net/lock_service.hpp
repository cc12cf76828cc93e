// SPDX-License-Identifier: BSD-3-Clause
// LockService: locks on byte ranges among the processes of a job, for files whose file system's
// locks don't suffice (file/job_locks), for example because they are visible on one node only. It
// is implemented by lock_client, which asks a thread of one process (lock_server); simulated ranks
// in tests have other implementations.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>

#include "base/extent.hpp"
#include "base/result.hpp"
#include "net/job_listener.hpp"

namespace oratorio {

/// Identifies a file to the service. All processes that lock a file must use the same key. Two
/// files with the same key exclude each other needlessly, which costs time but is never wrong.
struct LockKey {
    std::uint64_t file = 0;         ///< the file's number in its file system (st_ino)
    std::uint64_t file_system = 0;  ///< type of the file system (f_type of statfs)
    auto operator<=>(const LockKey&) const = default;
};

/// Identifies one lock that is held.
using LockId = std::uint64_t;

/// Thread-safe. Each acquire() makes a separate lock. Two locks that overlap exclude each other,
/// even within one process, unless both are shared. REQUIRES: a holder waits neither for another
/// rank nor for a second lock, so that waits never form a cycle.
class LockService {
  public:
    virtual ~LockService() = default;
    LockService() = default;
    LockService(const LockService&) = delete;
    LockService& operator=(const LockService&) = delete;

    /// Acquires a lock on `range`. Waits for conflicting locks on any part of the range, and for
    /// conflicting requests that arrived earlier. Waits without limit while the service answers; an
    /// error means that the service can't be reached or no longer answers.
    virtual Result<LockId> acquire(const LockKey& file, Extent range, bool exclusive) = 0;
    /// Releases a lock. REQUIRES: acquire() returned it, and it was not released.
    virtual Result<void> release(LockId lock) = 0;
};

/// Offers a lock service to the job, and reaches the service of another process. Thread-safe.
class LockServices {
  public:
    virtual ~LockServices() = default;
    LockServices() = default;
    LockServices(const LockServices&) = delete;
    LockServices& operator=(const LockServices&) = delete;

    /// Offers the service of this process, and starts it if necessary. Every call offers the same
    /// service.
    virtual Result<ServiceAddress> serve() = 0;
    /// Takes back one offer, which is one call of serve(). The service ends with its last offer.
    /// REQUIRES: serve() succeeded more often than withdraw() was called.
    virtual void withdraw() = 0;
    virtual std::shared_ptr<LockService> reach(const ServiceAddress& address) = 0;
};

}  // namespace oratorio
