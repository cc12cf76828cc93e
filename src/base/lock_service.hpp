// SPDX-License-Identifier: BSD-3-Clause
// LockService: locks of byte ranges that the processes of a job hold against each other, for file
// systems whose own locks are visible on one node only. The one between nodes is lock_client, whose
// requests a thread of one process answers (lock_server); simulated ranks have one of their own.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>

#include "base/door.hpp"
#include "base/extent.hpp"
#include "base/result.hpp"

namespace oratorio {

/// Names a file to the service. All processes that lock a file must use the same key. Two files
/// with one key exclude each other needlessly, which is slow and never wrong.
struct LockKey {
    std::uint64_t file = 0;         ///< its number in the file system (st_ino)
    std::uint64_t file_system = 0;  ///< f_type
    auto operator<=>(const LockKey&) const = default;
};

/// Names one lock that is held.
using LockId = std::uint64_t;

/// Thread-safe. Each acquire makes a lock of its own, which excludes all others that overlap it
/// unless both are shared, whoever holds them. REQUIRES: a holder waits neither for another rank
/// nor for a second lock, so that waiting never forms a circle.
class LockService {
  public:
    virtual ~LockService() = default;
    LockService() = default;
    LockService(const LockService&) = delete;
    LockService& operator=(const LockService&) = delete;

    /// Waits for the holders of any of `range`, and for those that asked before. There is no time
    /// limit while the service answers; an error says that it doesn't.
    virtual Result<LockId> acquire(const LockKey& file, Extent range, bool exclusive) = 0;
    virtual Result<void> release(LockId lock) = 0;
};

/// How one process offers a lock service to the job, and reaches that of another. Thread-safe.
class LockServices {
  public:
    virtual ~LockServices() = default;
    LockServices() = default;
    LockServices(const LockServices&) = delete;
    LockServices& operator=(const LockServices&) = delete;

    /// Offers a service of this process, the same one each time.
    virtual Result<ServicePlace> serve() = 0;
    /// Takes one offer back. The service ends with its last offer.
    virtual void withdraw() = 0;
    virtual std::shared_ptr<LockService> reach(const ServicePlace& place) = 0;
};

}  // namespace oratorio
