// SPDX-License-Identifier: BSD-3-Clause
// The state of an open file. Private to src/file.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "comm/agreed.hpp"
#include "comm/flush_status.hpp"
#include "data_shipping/remote_agents.hpp"
#include "data_shipping/server.hpp"
#include "file/file.hpp"
#include "file/path.hpp"
#include "file/tracing.hpp"
#include "file/user_messages.hpp"
#include "file/write_behind.hpp"
#include "memory/reserve.hpp"
#include "memory/shared_memory.hpp"
#include "store/striping.hpp"
#include "store/transfer.hpp"

namespace oratorio {

/// What one rank found out about a file's locks when it opened the file.
struct LockSight {
    bool others = false;  ///< its process has other writable handles on the file
    bool filler = false;  ///< one of those may fill holes under the job's locks
    bool looked = false;  ///< from another node, for the byte that rank 0 holds locked
    bool seen = false;    ///< that byte is locked
};

/// What all ranks found out, with rank 0's offer.
struct LockAnswers {
    LockOffer offer;
    bool sole = true;      ///< no other handle was seen by the file system's locks
    bool lockable = true;  ///< the file system's locks could be taken
    bool others = false;   ///< some rank's LockSight says so
    bool filler = false;
    bool tested = false;  ///< another node has looked for the byte that rank 0 held locked
    bool seen = false;    ///< each node that has looked saw it locked
};

struct Opening;

/// An access with its place in the file.
struct File::Placed {
    Access access;
    Offset etypes = 0;                   ///< how far the access moves its file pointer
    std::optional<DeviceMemory> device;  ///< the user's; the memory of `access` is only as long
    bool looked = false;                 ///< for drivers that were loaded up to now
    bool may_move = false;               ///< the caller waits for it, and nothing is converted
    std::optional<Outcome> moved;        ///< set if the access is done already
};

struct File::State final : PlanObserver {
    /// What the ranks found out when they opened the file.
    struct Found {
        StoreChoice store = StoreChoice::posix;
        bool holes_readable = true;  ///< every rank's store can also be read, so writes may fill
                                     ///< holes by reading them
        bool mappable = false;       ///< every rank's store can map the file
        bool account = false;        ///< the accesses' costs are reported at close
        bool traced = false;         ///< a trace of the accesses is written at close
        long file_system = 0;        ///< f_type
        Striping striping;           ///< as the file system reports it
        Costs costs;
        /// The first rank of each node holds a lock (kPresence) that shows other handles that this
        /// one is open. The lock goes when that rank closes the file.
        bool shown_for_others = false;
        bool shown = false;     ///< each rank that asks the system for the file takes that lock
        bool deferred = false;  ///< lazy open: ranks open the file when they need it
        FileNumber number;      ///< rank 0's
        /// A node keeps an old size of the file until it changes the size itself.
        bool keeps_old_size = false;
    };
    /// The file that was opened.
    struct Opened {
        std::string path;    ///< as the program gave it: for messages
        FixedPath location;  ///< the same file, wherever the program goes: for the system
        AccessMode mode;
        OpenStoreOf open_store;  ///< the one of the OpenCall; may be empty
        Agreed<Found> found = agreed_from([] { return Found{}; });
        bool explain = false;
        UserMessages messages;
        Devices* devices = nullptr;
    };
    /// This rank's view, and its position there.
    struct Place {
        View view = View::bytes();
        Offset position = 0;  ///< individual file pointer, in etypes
    };
    /// What accesses leave for the next ones.
    struct Engine {
        explicit Engine(Workspace& workspace)
            : buffers(workspace.buffers),
              collectives(workspace.collectives),
              node(workspace.node) {}
        BufferPool& buffers;
        unsigned& collectives;
        NodeMemory& node;
        Stats stats;
        PlanCache plans;
        IoThread io_thread;
        LockPolicy lock_policy;
        JobLocksOfFile job_locks;  ///< used if `exclusion.job` points to it
        UndeliveredErrors undelivered;
    };
    explicit State(std::shared_ptr<Workspace> lent)
        : workspace(std::move(lent)),
          transport(workspace->transport.get()),
          engine(*workspace),
          flushes(*transport) {}

    /// Operations that were started and aren't done. The first of each queue is being worked on.
    struct Queues {
        std::deque<OperationPtr> collective;
        std::deque<OperationPtr> independent;
    };
    /// A split collective between its begin and its end.
    struct Split {
        OperationPtr operation;
        Direction direction = Direction::read;
        Positioning at = Positioning::individual;
        const std::byte* buffer = nullptr;
    };

    std::shared_ptr<Workspace> workspace;
    Transport* transport;  ///< the workspace's
    std::unique_ptr<Store> store;
    Opened opened;
    JobLocks::Listing listing;  ///< this handle's entry in the process's list; none if it only
                                ///< reads
    Agreed<Hints> hints = agreed_from([] { return Hints{}; });
    std::shared_ptr<const Agreed<PlanConfig>> terms;  ///< null after a change of hints
    Place place;
    Engine engine;
    std::unique_ptr<Tracing> tracing;  ///< null: no trace
    FlushStatus flushes;               ///< this rank's
    Queues queues;
    std::optional<Split> split;
    std::unique_ptr<WriteBehind> write_behind;  ///< null: records are written at once
    Agreed<AgentFacts> agent_facts = agreed_from([] { return AgentFacts{}; });
    SharedMemory agent_memory;  ///< this node's, for requests; empty if they are sent
    std::unique_ptr<AgentServer> agent_server;  ///< set on a rank that is an agent
    std::unique_ptr<Agents> agents;             ///< null: no agents
    bool written_together = false;  ///< by a collective write since all ranks flushed together
    bool written_apart = false;  ///< by a sparse write since all ranks met: some may not have heard
                                 ///< that it failed; equal on all ranks

    /// Called before a collective call's first message: too little memory is then an error of all
    /// ranks.
    [[nodiscard]] Error ready() const { return ready_for_collective(transport->topology().size); }
    [[nodiscard]] bool is_plain(const Access& access) const;
    [[nodiscard]] bool is_one_piece(const Access& access) const;
    [[nodiscard]] std::optional<Offset> place_of_one_piece(const Access& access) const;
    /// Collective. Returns where this rank's data begins in an ordered access, in etypes. Small
    /// data of a write may be written already if the ranks share memory: see Placed::moved.
    Result<Offset> claim_in_order(Placed& placed);
    /// Collective. Starts, ends or resizes write-behind if its hint has changed; `before` is the
    /// old value.
    Result<void> gather_records(Bytes before);
    /// Returns where a record written with the shared file pointer begins, in etypes. The record
    /// may be among the gathered ones already: see Placed::moved.
    Result<Offset> append(Placed& placed);
    [[nodiscard]] bool is_gathered(const AccessCall& call, const Placed& placed) const;
    /// Collective. Opens this rank's store, and agrees on what the ranks found out.
    Result<void> open_stores(const OpenCall& call);
    /// Returns an error if the path is no longer the opened file's, which must not be deleted then.
    /// REQUIRES: called by rank 0 while its store is open, because some file systems give a file a
    /// new number once no process has it open.
    [[nodiscard]] Error check_location() const;
    /// Returns which locks the handle should have; for rank 0. Holds a byte locked if other nodes
    /// must look for it.
    [[nodiscard]] LockOffer offer_locks(const OpenCall& call, const Opening& opening,
                                        long file_system);
    /// Adds the handle to its process's list, and looks for rank 0's locked byte. Called by each
    /// rank when it has opened the file.
    [[nodiscard]] LockSight look_at_locks(const OpenCall& call, const Opening& opening,
                                          const LockOffer& offer);
    /// Decides on the locks, once all ranks have looked.
    void choose_locks(const OpenCall& call, const Opening& opening, const LockAnswers& found);
    void use_job_locks(const OpenCall& call, const LockOffer& offer, const LockAnswers& found);
    void tell_locks(const LockOffer& offer);
    /// Opens the file by this rank alone, when it needs the file for the first time (lazy open).
    Result<std::unique_ptr<Store>> open_deferred();
    /// Collective, at open. Starts the agents that hints ask for. A failure is a warning to the
    /// user and no error.
    Result<void> start_agents(const OpenCall& call);
    Result<void> share_with_agents(const AgentFacts& facts);
    void use_shared_memory(RemoteAgents& reached, const AgentFacts& facts) const;
    [[nodiscard]] Error start_server(const OpenCall& call, const AgentFacts& facts, int agent);
    Result<void> reach_agents(const OpenCall& call, const AgentFacts& facts);
    /// Collective, when no access is under way. An error is this rank's or the transport's.
    Result<void> end_agents();
    /// True if another node's system may hold data of this rank.
    [[nodiscard]] bool ships_elsewhere() const {
        return agents != nullptr && !transport->topology().one_node();
    }
    /// Collective. Reports to the user what the accesses of all ranks took together.
    Result<void> tell_account();
    /// Begins the record of a call; returns an empty one if there is no trace.
    [[nodiscard]] TracedAccess trace(const AccessCall& call, bool started) {
        return tracing == nullptr ? TracedAccess() : record(call, started);
    }
    [[nodiscard]] TracedAccess record(const AccessCall& call, bool started);
    /// Called at open, if all ranks want a trace.
    void start_tracing(const TraceCall& call);
    [[nodiscard]] bool flushes_together() const;
    [[nodiscard]] bool resizes_for_node() const;
    [[nodiscard]] Error unheard_failure();
    /// Writes the records that the ranks of this node have gathered.
    Result<void> write_gathered();
    /// Collective. Returns the worst error of any rank.
    Result<void> write_gathered_together();
    [[nodiscard]] WriteBehind::Write record_writer();
    /// Moves one contiguous range of the file, from its beginning to its end. A write has no holes,
    /// and takes a shared lock on the range if one is needed.
    Transferred move_now(Direction direction, Offset offset, std::span<const iovec> memory);
    [[nodiscard]] bool stage(AccessCall& call, Placed& placed);
    [[nodiscard]] bool stage_late(AccessCall& call, Placed& placed);
    /// Returns false, and does nothing, if the access isn't that simple or needs other ranks.
    [[nodiscard]] bool move_one_piece(const Access& access, bool collective, Outcome& outcome);
    [[nodiscard]] RunContext context(const TracedAccess& traced);
    void planned(const Plan& plan) override;
    void remark(const std::string& sentence) override;
    /// Explains an access that needs no plan.
    void tell_moved_at_once(const Access& access, bool collective);
    /// Returns the terms of the hints in use; made when they are first needed.
    [[nodiscard]] std::shared_ptr<const Agreed<PlanConfig>> current_config();
    /// Collective. Puts rank 0's hints over those in use; warns about malformed values.
    Result<void> take_hints(const HintMap& mine, const HintOrigins& origins);
    /// The same with the hints of an info.
    Result<void> take_info(const HintMap& info) {
        return take_hints(info, hint_origins({}, info, ""));
    }
};

/// Returns the aggregators of a large access in which all ranks take part, in rank order.
[[nodiscard]] std::vector<Rank> aggregators_of(const Nodes& topology, const PlanOptions& options);

/// Opens another store of the open file, for this rank alone.
[[nodiscard]] Result<std::unique_ptr<Store>> open_again(const OpenCall& call,
                                                        const std::string& path,
                                                        const Hints& hints);

}  // namespace oratorio
