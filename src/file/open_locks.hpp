// SPDX-License-Identifier: BSD-3-Clause
// OpenLocks: the locks of one open file. They are chosen when the file is opened, in the messages
// that an open sends anyway, and apply to all later accesses:
//
//   rank 0      offer()   decides, or holds a byte locked that other nodes must look for
//   each rank   look()    lists the handle in its process; another node looks for that byte
//   each rank   choose()  completes the decision from what all ranks found
//
// Private to src/file.
#pragma once

#include <optional>
#include <string>

#include "engine/lock_policy.hpp"
#include "file/job_locks.hpp"
#include "file/opening.hpp"
#include "file/user_messages.hpp"

namespace oratorio {

/// What one rank found out about a file's locks when it opened the file.
struct LockSight {
    bool others = false;  ///< the rank's process has other writable handles on the file
    bool filler = false;  ///< one of those handles may fill holes under the job's locks
    /// This rank, on another node than rank 0, looked for the byte that rank 0 holds locked.
    bool looked = false;
    bool seen = false;  ///< `looked`, and that byte was locked
};

/// What all ranks found out about a file's locks, with rank 0's offer. Equal on all ranks.
struct LockAnswers {
    LockOffer offer;
    bool sole = true;      ///< rank 0 found no other handle by the file system's locks
    bool lockable = true;  ///< false: rank 0 couldn't take or test the file system's locks
    bool others = false;   ///< the process of some rank has other writable handles on the file
    bool filler = false;   ///< one of those handles may fill holes under the job's locks
    bool tested = false;   ///< another node has looked for the byte that rank 0 held locked
    bool seen = false;     ///< `tested`, and all ranks that looked found the byte locked
    bool holes_readable = true;  ///< the value of FileFindings::holes_readable
    bool deferred = false;       ///< the value of FileFindings::deferred
};

class OpenLocks {
  public:
    /// `topology` outlives the locks.
    explicit OpenLocks(const Topology& topology) : topology_(topology) {}
    OpenLocks(const OpenLocks&) = delete;
    OpenLocks& operator=(const OpenLocks&) = delete;

    /// Returns which locks the handle should have. Keeps a byte locked if other nodes must test
    /// whether they see that lock. REQUIRES: called by rank 0, which has tried to open the file.
    [[nodiscard]] LockOffer offer(const OpenCall& call, const Opening& opening, long file_system,
                                  LockChoice wanted);
    /// Adds the handle to its process's list (offer() does that on rank 0). On another node than
    /// rank 0's, a rank that opened the file by itself (Opening::leads) also looks for the byte
    /// that rank 0 holds locked. Called by all ranks, after offer().
    [[nodiscard]] LockSight look(const OpenCall& call, const Opening& opening,
                                 const LockOffer& offer);
    /// Chooses the file system's locks or the job's, once all ranks have looked. The choice is the
    /// same on all ranks. Each process also remembers, for its own node's mount, what the test has
    /// found.
    void choose(const OpenCall& call, const Opening& opening, const LockAnswers& found);
    /// Tells the user which locks were chosen: in a warning if there are none, else in an
    /// explanation. Says nothing about a handle on one node that may fill holes under the file
    /// system's locks.
    void tell(const std::string& path, UserMessages& messages) const;

    /// Returns the rules by which accesses take locks.
    [[nodiscard]] LockPolicy& policy() { return policy_; }
    [[nodiscard]] bool are_of_job() const { return policy_.job != nullptr; }

  private:
    void use_job_locks(const OpenCall& call, const LockOffer& offer, const LockAnswers& found);

    const Topology& topology_;
    /// This handle's entry in the process's list; none if the handle only reads.
    JobLocks::Listing listing_;
    std::optional<LockOffer> chosen_;  ///< empty: the handle only reads, or there are no JobLocks
    JobLocksOfFile job_locks_;         ///< used if `policy_.job` points to it
    LockPolicy policy_;
};

}  // namespace oratorio
