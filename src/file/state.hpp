// SPDX-License-Identifier: BSD-3-Clause
// What an open file consists of. Private to src/file.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "agent/remote_agents.hpp"
#include "agent/server.hpp"
#include "base/agreed.hpp"
#include "base/reserve.hpp"
#include "base/shared_memory.hpp"
#include "base/shared_outcome.hpp"
#include "file/file.hpp"
#include "file/path.hpp"
#include "file/tracing.hpp"
#include "file/voice.hpp"
#include "file/write_behind.hpp"
#include "store/striping.hpp"
#include "store/transfer.hpp"

namespace oratorio {

/// What one rank has found of a file's locks when it opened it.
struct LockSight {
    bool others = false;  ///< its process has other writable handles on the file
    bool filler = false;  ///< one of those may fill holes under the job's locks
    bool looked = false;  ///< for the byte that rank 0 holds locked, from another node
    bool seen = false;    ///< and it is locked
};

/// What all have found, together with rank 0's offer.
struct LockAnswers {
    LockOffer offer;
    bool sole = true;      ///< no other handle was seen by the file system's locks
    bool lockable = true;  ///< those could be taken
    bool others = false;   ///< of some rank, as above
    bool filler = false;
    bool tested = false;  ///< another node has looked for the byte that rank 0 held locked
    bool seen = false;    ///< and each node that has looked saw it locked
};

struct Opening;

/// An access with its place in the file.
struct File::Placed {
    Access access;
    Offset etypes = 0;                   ///< how far it moves its file pointer
    std::optional<DeviceMemory> device;  ///< the user's; the memory of `access` has its length only
    bool looked = false;                 ///< for drivers that were loaded by now
    bool may_move = false;         ///< the caller waits for it, and nothing is to be converted
    std::optional<Outcome> moved;  ///< it is done already
};

struct File::State final : Witness {
    /// What the ranks have found when they opened it.
    struct Found {
        StoreChoice store = StoreChoice::posix;
        bool holes_readable = true;  ///< every rank's store can also be read, so writes may fill
                                     ///< holes by reading them
        bool mappable = false;       ///< every rank's store can map the file
        bool account = false;        ///< what the accesses took is told at the end
        bool traced = false;         ///< what they did is written then
        long file_system = 0;        ///< f_type
        Striping striping;           ///< as the file system tells it
        Costs costs;
        /// Other handles see that this one is open by a lock of each node's first rank, which goes
        /// when that closes it.
        bool shown_for_others = false;
        bool shown = false;     ///< each rank that opens the file is to show it so
        bool deferred = false;  ///< ranks open the file when they need it
        FileNumber number;      ///< rank 0's
        /// A node keeps an old size of the file until it is asked to change it itself.
        bool keeps_old_size = false;
    };
    /// What was opened.
    struct Opened {
        std::string path;    ///< as the program gave it: for messages
        FixedPath location;  ///< the same file, wherever the program goes: for the system
        AccessMode mode;
        OpenStoreOf open_store;  ///< the call's; may be empty
        Agreed<Found> found = agreed_from([] { return Found{}; });
        bool explain = false;
        Voice voice;
        Devices* devices = nullptr;
    };
    /// Where this rank is.
    struct Place {
        View view = View::bytes();
        Offset position = 0;  ///< individual pointer, etypes
    };
    /// What goes from access to access.
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
        Exclusion exclusion;
        JobLocksOfFile job_locks;  ///< where `exclusion` says so
        Unheard unheard;
    };
    explicit State(std::shared_ptr<Workspace> lent)
        : workspace(std::move(lent)),
          transport(workspace->transport.get()),
          engine(*workspace),
          flushes(*transport) {}

    /// What was started and isn't done; the first of each queue is being worked on.
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
    JobLocks::Listing listing;  ///< of this handle among the process's; none of one that only reads
    Agreed<Hints> hints = agreed_from([] { return Hints{}; });
    std::shared_ptr<const Agreed<Terms>> terms;  ///< null after a change of hints
    Place place;
    Engine engine;
    std::unique_ptr<Tracing> tracing;  ///< null: nobody traces
    Turns flushes;                     ///< of this rank
    Queues queues;
    std::optional<Split> split;
    std::unique_ptr<WriteBehind> write_behind;  ///< null: records are written at once
    Agreed<AgentFacts> agent_facts = agreed_from([] { return AgentFacts{}; });
    SharedMemory agent_memory;  ///< of this node, for requests; empty where they are sent
    std::unique_ptr<AgentServer> agent_server;  ///< of a rank that is an agent
    std::unique_ptr<Agents> agents;             ///< null: there are none
    bool written_together = false;  ///< by a collective write since all ranks flushed together
    bool written_apart = false;  ///< and not all ranks may have heard whether it failed; the same
                                 ///< on all

    /// Before a collective call's first message: too little memory is an error of all ranks then.
    [[nodiscard]] Error ready() const { return ready_for_collective(transport->topology().size); }
    [[nodiscard]] bool is_plain(const Access& access) const;
    [[nodiscard]] bool is_one_piece(const Access& access) const;
    [[nodiscard]] std::optional<Offset> place_of_one_piece(const Access& access) const;
    /// Collective. The place of this rank's data in an ordered access, in etypes. Small data of a
    /// write is on its way already if the ranks share memory: see Placed::moved.
    Result<Offset> claim_in_order(Placed& placed);
    /// Collective. Prepares for the hint's new value.
    Result<void> gather_records(Bytes before);
    /// The place of a record written with the shared pointer, in etypes. Where records are gathered
    /// it is with them already: see Placed::moved.
    Result<Offset> append(Placed& placed);
    [[nodiscard]] bool is_gathered(const AccessCall& call, const Placed& placed) const;
    /// Collective. This rank's store, and what the ranks have found.
    Result<void> open_stores(const OpenCall& call);
    /// For rank 0 while its store is open, as some file systems number a file anew once nobody has
    /// it open: an error if the path is no longer the opened file's, which must not be deleted
    /// then.
    [[nodiscard]] Error check_location() const;
    /// Rank 0's: which locks the handle is to have. Holds a byte locked where other nodes must
    /// look.
    [[nodiscard]] LockOffer offer_locks(const OpenCall& call, const Opening& opening,
                                        long file_system);
    /// Each rank's, when it has opened the file. Lists the handle with its process.
    [[nodiscard]] LockSight look_at_locks(const OpenCall& call, const Opening& opening,
                                          const LockOffer& offer);
    /// Decides, when all have.
    void choose_locks(const OpenCall& call, const Opening& opening, const LockAnswers& found);
    void use_job_locks(const OpenCall& call, const LockOffer& offer, const LockAnswers& found);
    void tell_locks(const LockOffer& offer);
    /// By this rank alone, when it needs the file for the first time.
    Result<std::unique_ptr<Store>> open_deferred();
    /// Collective, at open. Where they can't be had the user is told, and it is no error.
    Result<void> start_agents(const OpenCall& call);
    Result<void> share_with_agents(const AgentFacts& facts);
    void use_shared_memory(RemoteAgents& reached, const AgentFacts& facts) const;
    [[nodiscard]] Error start_server(const OpenCall& call, const AgentFacts& facts, int agent);
    Result<void> reach_agents(const OpenCall& call, const AgentFacts& facts);
    /// Collective, when nothing is under way any more. An error is this rank's or the transport's.
    Result<void> end_agents();
    /// Data of this rank may lie with another node's system.
    [[nodiscard]] bool ships_elsewhere() const {
        return agents != nullptr && !transport->topology().one_node();
    }
    /// Collective. Tells what the accesses of all ranks took together.
    Result<void> tell_account();
    /// The call begins; nobody's where nothing is traced.
    [[nodiscard]] TracedAccess trace(const AccessCall& call, bool started) {
        return tracing == nullptr ? TracedAccess() : record(call, started);
    }
    [[nodiscard]] TracedAccess record(const AccessCall& call, bool started);
    /// At open, where all ranks want it.
    void start_tracing(const TraceCall& call);
    [[nodiscard]] bool flushes_together() const;
    [[nodiscard]] bool resizes_for_node() const;
    [[nodiscard]] Error unheard_failure();
    /// Writes the records that were gathered, whoever made them.
    Result<void> write_gathered();
    /// Collective; the worst error of any rank.
    Result<void> write_gathered_together();
    [[nodiscard]] WriteBehind::Write record_writer();
    /// One contiguous range of the file, from its beginning to its end; a write leaves out nothing
    /// and shares the range with others where that is needed.
    Transferred move_now(Direction direction, Offset offset, std::span<const iovec> memory);
    [[nodiscard]] bool stage(AccessCall& call, Placed& placed);
    [[nodiscard]] bool stage_late(AccessCall& call, Placed& placed);
    /// False, and nothing done, when the access isn't that simple, or takes other ranks.
    [[nodiscard]] bool move_one_piece(const Access& access, bool collective, Outcome& outcome);
    [[nodiscard]] RunContext context(const TracedAccess& traced);
    void planned(const Plan& plan) override;
    void remark(const std::string& sentence) override;
    /// Of an access that needs no plan.
    void tell_moved_at_once(const Access& access, bool collective);
    /// Of the hints in use; made when they are first wanted.
    [[nodiscard]] std::shared_ptr<const Agreed<Terms>> current_terms();
    /// Collective. Root's over the hints in use; malformed values are warned about.
    Result<void> take_hints(const HintMap& mine, const HintOrigins& origins);
    /// The same with those of an info.
    Result<void> take_info(const HintMap& info) {
        return take_hints(info, hint_origins({}, info, ""));
    }
};

/// Those of a large access in which all ranks take part, in their order.
[[nodiscard]] std::vector<Rank> aggregators_of(const Nodes& topology, const PlanOptions& options);

/// Another store of the file that is open, as this rank's own.
[[nodiscard]] Result<std::unique_ptr<Store>> open_again(const OpenCall& call,
                                                        const std::string& path,
                                                        const Hints& hints);

}  // namespace oratorio
