// SPDX-License-Identifier: BSD-3-Clause
// RangeLock: a lock on a range of the file, held while this object lives. The lock is the file
// system's, or the MPI job's where the file system's locks don't suffice (for example because other
// nodes don't see them), or both.
// REQUIRES: a holder makes storage calls only. It waits neither for another rank nor for the
// program, and takes no second lock, except that take() itself takes the job's lock before the file
// system's. So waits never form a cycle (docs/internals/decisions/holes-and-locks.md).
#pragma once

#include <memory>

#include "net/lock_service.hpp"
#include "store/store.hpp"

namespace oratorio {

/// The MPI job's locks on one open file.
struct JobLocksOfFile {
    std::shared_ptr<LockService> service;  ///< null: not available, and `refused` says why
    LockKey file;
    Error refused;
    /// True if a holder of the job's lock also takes the file system's lock: either to make the
    /// client write back its dirty pages of the range and discard the cached ones, or because other
    /// handles may take only the file system's lock.
    bool with_file_lock = false;
};

class RangeLock {
  public:
    RangeLock() = default;  ///< holds nothing
    /// Takes the lock; waits for holders of any part of `range`. The lock is shared unless
    /// `exclusive`. If `job` is null, takes only the file system's lock.
    [[nodiscard]] static Result<RangeLock> take(Store& store, const JobLocksOfFile* job,
                                                Extent range, bool exclusive) {
        RangeLock lock;
        if (job != nullptr) {
            if (job->service == nullptr) return job->refused.at(range.begin, range.length());
            if (range.empty()) return lock;
            auto held = job->service->acquire(job->file, range, exclusive);
            if (!held) return held.error();
            lock.service_ = job->service;
            lock.held_ = *held;
            if (!job->with_file_lock) return lock;
        }
        if (auto locked = store.lock(range, true, exclusive); !locked) return locked.error();
        lock.store_ = &store;
        lock.range_ = range;
        return lock;
    }
    RangeLock(RangeLock&& other) noexcept { *this = std::move(other); }
    RangeLock& operator=(RangeLock&& other) noexcept {
        std::swap(store_, other.store_);
        std::swap(range_, other.range_);
        std::swap(service_, other.service_);
        std::swap(held_, other.held_);
        return *this;
    }
    ~RangeLock() { (void)give_back(); }

    [[nodiscard]] bool holds() const { return store_ != nullptr || service_ != nullptr; }
    /// Releases the lock. May fail, because some file systems write back the locked bytes only when
    /// the lock is released.
    Result<void> give_back() {
        Store* const store = std::exchange(store_, nullptr);
        auto given = store != nullptr ? store->lock(range_, false, true) : Result<void>();
        if (const auto service = std::exchange(service_, nullptr)) {
            const auto released = service->release(held_);
            if (given) given = released;
        }
        return given;
    }

  private:
    Store* store_ = nullptr;
    Extent range_;
    std::shared_ptr<LockService> service_;
    LockId held_ = 0;
};

}  // namespace oratorio
