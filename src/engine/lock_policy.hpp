// SPDX-License-Identifier: BSD-3-Clause
// LockPolicy: which locks an open file needs so that read-modify-write (data sieving, hole filling)
// never overwrites another writer's data in the holes. See
// docs/internals/decisions/holes-and-locks.md.
#pragma once

#include "store/range_lock.hpp"
#include "store/threaded.hpp"

namespace oratorio {

struct LockPolicy {
    /// No other handle can be filling holes of the file: when this one was opened, no other handle
    /// that may do so was open (or MPI_MODE_UNIQUE_OPEN promises that), and handles opened later
    /// know of this one. Also false if the handle can't read holes and has no job locks. Equal on
    /// all ranks until a rank opens the file late (open_late): the value becomes false on that rank
    /// alone if it can't read holes or can't show other handles that it has the file open.
    bool sole = true;
    /// This handle may fill holes if it is `sole`. False if its locks might not exclude all other
    /// writers, because other nodes might not see the locks, or other handles might not know of
    /// this one. Equal on all ranks.
    bool fills = true;
    /// Locks can be taken: the job's if `job` is set, otherwise the file system's. If false, no
    /// handle fills holes under these locks. Equal on all ranks.
    bool lockable = true;
    /// The MPI job's locks on this file; null: locks come from the file system.
    const JobLocksOfFile* job = nullptr;
    /// Shared locks come from the file system, though `job` is set: other handles that fill holes
    /// take only file-system locks.
    bool shares_in_file = false;
    /// The thread that may perform store jobs under this handle's locks; null: there is no such
    /// thread.
    IoThread* io_thread = nullptr;
    /// Independent accesses of this handle may fill holes (data sieving). Equal on all ranks.
    bool sieves = false;
    /// Collective writes and resizes that this rank has begun and not ended; during them, any rank
    /// may be filling holes.
    int collective_writes = 0;
    /// This rank finished a sparse write early (engine/completion.hpp) and has not since joined an
    /// access that all ranks enter.
    bool left_first = false;

    [[nodiscard]] bool may_fill() const { return sole && fills; }
    /// Returns true if a write without filling needs a shared lock on its range, because others may
    /// be filling holes there under an exclusive lock.
    [[nodiscard]] bool shares(bool collective) const {
        const bool beside = left_first || (!collective && collective_writes > 0);
        return (lockable || shares_in_file) && (!sole || (fills && (sieves || beside)));
    }
    /// Waits for the lock and takes it. First waits until no store job is under way: file-system
    /// locks of one handle don't exclude each other, and a store job that waits for a lock of the
    /// MPI job would block the requests queued behind it. REQUIRES: the caller holds no other lock,
    /// and waits for no rank before it releases this lock.
    [[nodiscard]] Result<RangeLock> take(Store& store, Extent range, bool exclusive) const {
        return take_from(job, store, range, exclusive);
    }
    /// Takes the shared lock for a write without filling; returns an empty lock if none is needed.
    /// REQUIRES: as take().
    [[nodiscard]] Result<RangeLock> share(Store& store, Extent range, bool collective) const {
        if (!shares(collective)) return RangeLock();
        return take_from(shares_in_file ? nullptr : job, store, range, false);
    }

  private:
    [[nodiscard]] Result<RangeLock> take_from(const JobLocksOfFile* of_job, Store& store,
                                              Extent range, bool exclusive) const {
        if (io_thread != nullptr) io_thread->wait_until_idle();
        store.finish_jobs();
        return RangeLock::take(store, of_job, range, exclusive);
    }
};

/// Counts a collective write or resize in the policy while this object lives. REQUIRES: the policy
/// outlives the object.
class CollectiveWrite {
  public:
    explicit CollectiveWrite(LockPolicy& lock_policy) : policy_(lock_policy) {
        ++policy_.collective_writes;
    }
    ~CollectiveWrite() { --policy_.collective_writes; }
    CollectiveWrite(const CollectiveWrite&) = delete;
    CollectiveWrite& operator=(const CollectiveWrite&) = delete;

  private:
    LockPolicy& policy_;
};

}  // namespace oratorio
