// SPDX-License-Identifier: BSD-3-Clause
// Workspaces: lends a workspace (file/workspace) to each open file and keeps it for the next file
// of the same ranks. Thread-safe.
//
// A workspace is kept with the communicator that the file was opened on, until the communicator is
// freed. All communicators with the ranks of MPI_COMM_WORLD in the same order share one place for a
// workspace, which lasts until MPI_Finalize, and all communicators of one rank share another:
// libraries open each file on a new duplicate. One workspace is kept per place; more exist only
// while more files are open at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/switch_names.hpp"
#include "file/workspace.hpp"
#include "mpi/library_check.hpp"
#include "mpi/mpi_transport.hpp"
#include "net/served_counter.hpp"

namespace oratorio::bind {

/// Returns true if another job has started this process (MPI_Comm_spawn), or if MPI returns an
/// error. Local.
[[nodiscard]] bool may_be_spawned();

/// Returns true if the communicator has all processes of the job: those of MPI_COMM_WORLD, unless
/// another job has started them. Local.
[[nodiscard]] bool covers_job(MPI_Comm program);

/// Holds the workspaces of a communicator while no file uses them.
struct CacheSlot;

/// A workspace while a file uses it; empty when default-constructed.
struct LentWorkspace {
    std::shared_ptr<Workspace> workspace;
    MpiTransport* messages = nullptr;  ///< the MPI part of its transport
    std::uint64_t number = 0;          ///< identifies the workspace on all its ranks
    /// True if no rank of the workspace runs with MPI_THREAD_MULTIPLE. Then all of its ranks open
    /// and close files in the same order, and a rank that keeps the workspace knows that all do.
    bool ordered = false;
    std::weak_ptr<CacheSlot> home;

    [[nodiscard]] MPI_Comm comm() const { return messages->comm(); }
    [[nodiscard]] Rank rank() const { return messages->topology().rank; }
};

struct FoundNodes;

struct Lending {
    LentWorkspace workspace;  ///< empty if the library is off, or missing, on some rank
    std::string remark;       ///< a message for the user; set on one rank
    Error refused;            ///< set if a rank has no library, or if the check for that fails
};

class Workspaces {
  public:
    /// `chores` is what a rank does while it waits (MpiTransport). `switches`: see discover().
    explicit Workspaces(MpiTransport::Chores chores = nullptr, SwitchNames switches = {});
    /// Collective over `program`. Returns a kept workspace if all ranks have it, else a new one;
    /// its transport's counter is 0. Uses rank 0's `ranks_per_node`, see discover(). All ranks
    /// return the same error.
    Result<Lending> lend(MPI_Comm program, int ranks_per_node);
    /// Collective with the other ranks' lend(), for a rank on which the library is off. Returns an
    /// empty workspace.
    Lending stand_aside(MPI_Comm program);
    /// Collective over the workspace's ranks, when no file uses it any more. Keeps the workspace
    /// for the next file, unless on some rank the transport had an error or the place for a kept
    /// workspace is taken or gone. Does nothing for an empty one.
    void give_back(LentWorkspace lent);
    /// Frees the workspaces kept for the ranks of MPI_COMM_WORLD and for single ranks, and keeps no
    /// more. The others are freed with their communicators. Called at the beginning of
    /// MPI_Finalize. Local.
    void close();
    /// Ends the thread that serves counters, even if files that were never closed still have some.
    /// Called at the end of MPI_Finalize. Local.
    void stop_counters() { counters_.stop(); }
    /// Called when an MPI session ends: ends the thread that serves counters, unless a file or a
    /// kept workspace still has one. Local.
    void retire_counters() { counters_.retire(); }
    /// Forgets the keys of our attributes. Called after MPI has ended, which frees the keys.
    void forget_key();

  private:
    LentWorkspace take(MPI_Comm program);
    void put(LentWorkspace kept);
    std::shared_ptr<const FoundNodes> found_nodes(const std::weak_ptr<CacheSlot>& home);
    void keep_nodes(const std::weak_ptr<CacheSlot>& home, FoundNodes nodes);
    Result<Lending> make(Comm own, Topology topology, const Agreed<int>& nodes, int ranks_per_node,
                         std::weak_ptr<CacheSlot> home);
    LibraryCheck check_once(MPI_Comm program);
    bool reserve_place(const LentWorkspace& lent);
    void end_reservation(LentWorkspace& lent, bool kept);
    // REQUIRES, for the next two functions: mutex_ is held.
    std::shared_ptr<CacheSlot> slot_of(MPI_Comm program);
    std::shared_ptr<CacheSlot> slot_on(MPI_Comm program);

    MpiTransport::Chores chores_;
    SwitchNames switches_;
    std::atomic<std::uint64_t> last_number_;  ///< only makes numbers; publishes nothing
    CounterService counters_;
    std::mutex mutex_;  ///< guards all below and all cache slots
    std::shared_ptr<CacheSlot> of_world_;
    std::shared_ptr<CacheSlot> of_self_;
    int key_;  ///< key of the attribute that holds a communicator's cache slot
    /// Key of the attribute that marks communicators whose ranks all have the library.
    int checked_key_;
};

}  // namespace oratorio::bind
