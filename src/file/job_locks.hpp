// SPDX-License-Identifier: BSD-3-Clause
// JobLocks: what one process knows about locks between nodes. For each mount it knows whether a
// lock taken on one node was seen on another. For each file that the process has open for writing
// it lists the handles, and which of them may fill holes under the job's locks.
//
// A handle fills holes under the job's locks only if its communicator has all processes of the job,
// and no process had another writable handle on the file (or if MPI_MODE_UNIQUE_OPEN promises that
// there is no other handle). So each process knows from its own list, without a message, whether
// another handle may be filling holes (docs/internals/decisions/holes-and-locks.md).
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "hints/hints.hpp"
#include "net/lock_service.hpp"
#include "store/store.hpp"

namespace oratorio {

/// Why a handle uses the file system's locks, or the job's.
enum class LockReason {
    unknown,
    asked_for_file,   ///< hint oratorio_locks=file
    asked_for_job,    ///< hint oratorio_locks=job
    one_node,         ///< all ranks of the handle share a kernel
    one_machine,      ///< the file system belongs to one machine: its kernel knows all locks
    seen,             ///< a lock was seen on another node
    unseen,           ///< a lock was not seen on another node
    no_locks,         ///< the file system has no locks
    mandatory,        ///< locks are mandatory and also block their owner's accesses
    whole_file,       ///< a lock on a range holds the whole file
    filled_by_other,  ///< another handle of the job fills holes under the job's locks
    untested,  ///< no other node has looked for a lock, because the file is open on one node only
    count
};

/// The choice of a handle's locks, which rank 0 makes right after opening the file. Fits in a
/// message.
struct LockOffer {
    LockReason reason = LockReason::unknown;
    bool job = false;   ///< use the job's locks
    Offset probe = 0;   ///< 0, or a byte that rank 0 holds locked: the job's locks are used unless
                        ///< other nodes see that lock
    bool fills = true;  ///< the handle may fill holes under the file system's locks
    bool covers_job = false;  ///< the handle has all processes of the job
    bool one_node = false;    ///< all ranks of the handle are on one node
    LockKey file;
    ServiceAddress place;   ///< address of the job's locks; no address: they aren't available
    int refused_errno = 0;  ///< why the job's locks aren't available
};

/// The facts on which rank 0 bases its decision.
struct LockSituation {
    FileNumber number;
    long file_system = 0;  ///< type of the file system: f_type of statfs(2)
    LockChoice wanted = LockChoice::automatic;
    bool one_node = true;     ///< all ranks of the handle are on one node
    bool one_machine = true;  ///< all nodes of the handle's ranks share a kernel
    bool covers_job = true;
};

/// Returns the choice as text: "ocfs2: locks are visible on one node only; using the job's locks".
/// `lockable`: the chosen locks can be taken.
[[nodiscard]] std::string describe_locks(const LockOffer& offer, bool lockable);

/// Chooses the locks of the process's handles. Thread-safe.
class JobLocks {
  public:
    explicit JobLocks(LockServices& services) : services_(services) {}

    /// The entry of a writable handle in the process's list. The destructor removes the entry.
    class Listing {
      public:
        Listing() = default;
        Listing(Listing&& other) noexcept { swap(other); }
        Listing& operator=(Listing&& other) noexcept {
            swap(other);
            return *this;
        }
        ~Listing();
        /// Returns true if the process had other writable handles on the file before this one.
        [[nodiscard]] bool others() const { return others_; }
        /// Returns true if one of those handles may fill holes under the job's locks.
        [[nodiscard]] bool filler() const { return filler_; }
        /// Records the decision about the handle's locks. Until then, a handle that may get the
        /// job's locks counts as one that may fill holes under them. The service that the handle
        /// offers is withdrawn if the decision is against the job's locks, or if the entry is
        /// removed before the decision.
        void settle(bool job, bool fills);

      private:
        friend class JobLocks;
        void swap(Listing& other) noexcept;
        JobLocks* of_ = nullptr;
        std::uint64_t id_ = 0;
        bool others_ = false;
        bool filler_ = false;
        bool offers_ = false;  ///< this handle offers a service, and its locks aren't decided yet
    };

    /// Adds the handle to the list and decides on its locks, in one step. Called by rank 0.
    [[nodiscard]] LockOffer offer(const LockSituation& situation, Listing& listing);
    /// Adds the handle to the list. Called by all ranks but rank 0. `number` is the file's number
    /// on this node.
    [[nodiscard]] Listing list(const FileNumber& number, const LockOffer& offer);

    /// Records whether another node saw a lock in a test of the file's mount.
    void remember(const FileNumber& number, bool seen);
    /// Returns the service of the job's locks; null if they aren't available.
    [[nodiscard]] std::shared_ptr<LockService> reach(const LockOffer& offer);

  private:
    struct Entry {
        std::uint64_t number;
        bool may_fill;  ///< the handle may fill holes under the job's locks
        LockKey file;
        ServiceAddress place;
    };
    [[nodiscard]] bool decide(const LockSituation& situation, LockOffer& offer);
    [[nodiscard]] bool serve(LockOffer& offer);
    [[nodiscard]] Listing add(const FileNumber& number, const LockOffer& offer);

    LockServices& services_;
    std::mutex mutex_;                     ///< guards all members below
    std::map<std::uint64_t, bool> seen_;   ///< for each device, whether another node saw a lock
    bool job_has_one_node_ = false;        ///< a handle of all the job's processes was on one node
    std::optional<ServiceAddress> known_;  ///< a service that a handle of this process has used
    std::map<std::uint64_t, Entry> entries_;
    std::uint64_t last_ = 0;
};

}  // namespace oratorio
