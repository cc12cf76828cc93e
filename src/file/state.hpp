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
    /// This rank, on another node than rank 0, looked for the byte that rank 0 holds locked.
    bool looked = false;
    bool seen = false;  ///< that byte is locked
};

/// What all ranks found out about a file's locks, with rank 0's offer.
struct LockAnswers {
    LockOffer offer;
    bool sole = true;      ///< no other handle was seen by the file system's locks
    bool lockable = true;  ///< the file system's locks could be taken
    bool others = false;   ///< the process of some rank has other writable handles on the file
    bool filler = false;
    bool tested = false;  ///< another node has looked for the byte that rank 0 held locked
    bool seen = false;    ///< each node that has looked saw it locked
};

struct Opening;

/// An access with its place in the file.
struct File::Placed {
    Access access;
    Offset etypes = 0;  ///< how far the access moves its file pointer
    /// The user's memory; `access` then has one run of that length.
    std::optional<DeviceMemory> device;
    bool looked = false;           ///< describe() has looked for device drivers
    bool may_move = false;         ///< it may be moved at once: the caller waits, no conversion
    std::optional<Outcome> moved;  ///< set if the access is done already
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
        /// True if the first rank of each node holds a lock (kPresence) for all of the node's
        /// ranks, which shows other handles that this handle is open. The lock goes when that rank
        /// closes the file.
        bool shown_for_others = false;
        bool shown = false;     ///< each rank that asks the system for the file takes that lock
        bool deferred = false;  ///< lazy open: ranks open the file when they need it
        FileNumber number;      ///< number of the file on rank 0's node
        /// Some node's client keeps an old size of the file until that node changes the size
        /// itself.
        bool keeps_old_size = false;
    };
    /// The file that was opened.
    struct Opened {
        std::string path;    ///< as the program gave it: for messages
        FixedPath location;  ///< the same file as an absolute path: for the system
        AccessMode mode;
        OpenStoreOf open_store;  ///< opens stores in place of src/store; may be empty
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
    /// State that an access leaves for later accesses.
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
        JobLocksOfFile job_locks;  ///< used if `lock_policy.job` points to it
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
    Transport* transport;  ///< owned by the workspace
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
    /// Memory of this node for requests to agents; empty if requests are sent as messages.
    SharedMemory agent_memory;
    std::unique_ptr<AgentServer> agent_server;  ///< set on a rank that is an agent
    std::unique_ptr<Agents> agents;             ///< null: no agents
    /// There was a collective write since all ranks flushed together.
    bool written_together = false;
    /// There was a sparse write since all ranks met; some ranks may not have heard that it failed.
    /// Equal on all ranks.
    bool written_apart = false;

    /// Returns an error if this rank has too little memory for a collective call. Called before the
    /// call's first message, so that the error becomes that of all ranks.
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
    /// Returns an error if the path now names another file, which must not be deleted. REQUIRES:
    /// called by rank 0 while its store is open, because some file systems give a file a new number
    /// once no process has it open.
    [[nodiscard]] Error check_location() const;
    /// Returns which locks the handle should have. Keeps a byte locked if other nodes must test
    /// whether they see that lock. Called by rank 0.
    [[nodiscard]] LockOffer offer_locks(const OpenCall& call, const Opening& opening,
                                        long file_system);
    /// Adds the handle to its process's list, and looks for rank 0's locked byte. Called by each
    /// rank when it has opened the file.
    [[nodiscard]] LockSight look_at_locks(const OpenCall& call, const Opening& opening,
                                          const LockOffer& offer);
    /// Decides on the locks, once all ranks have looked for rank 0's locked byte.
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
    /// Collective. Ends the agents. Returns an error of this rank or of the transport. REQUIRES: no
    /// access is under way.
    Result<void> end_agents();
    /// Returns true if another node's system may hold data of this rank, which was shipped there.
    [[nodiscard]] bool ships_elsewhere() const {
        return agents != nullptr && !transport->topology().one_node();
    }
    /// Collective. Reports to the user what the accesses of all ranks took together.
    Result<void> tell_account();
    /// Returns the record of a call that begins now; an empty one if there is no trace.
    [[nodiscard]] TracedAccess trace(const AccessCall& call, bool started) {
        return tracing == nullptr ? TracedAccess() : record(call, started);
    }
    [[nodiscard]] TracedAccess record(const AccessCall& call, bool started);
    /// Starts to record accesses for a trace. Called at open, if all ranks want a trace.
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
    /// Moves an access of one contiguous piece at once. Returns false, and does nothing, if the
    /// access has several pieces or needs a plan or other ranks.
    [[nodiscard]] bool move_one_piece(const Access& access, bool collective, Outcome& outcome);
    [[nodiscard]] RunContext context(const TracedAccess& traced);
    void planned(const Plan& plan) override;
    void remark(const std::string& sentence) override;
    /// Explains an access that needs no plan.
    void tell_moved_at_once(const Access& access, bool collective);
    /// Returns the planner's configuration for the hints in use, which is made when it is first
    /// needed.
    [[nodiscard]] std::shared_ptr<const Agreed<PlanConfig>> current_config();
    /// Collective. Puts rank 0's hints over those in use; warns about malformed values.
    Result<void> take_hints(const HintMap& mine, const HintOrigins& origins);
    /// Does what take_hints() does, with the hints of an info object.
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
