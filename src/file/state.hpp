// SPDX-License-Identifier: BSD-3-Clause
// The state of an open file: owns one object for each subject, which does the work. Private to
// src/file.
#pragma once

#include <deque>

#include "comm/flush_status.hpp"
#include "engine/late_agreement.hpp"
#include "engine/tuning.hpp"
#include "file/agents.hpp"
#include "file/device_staging.hpp"
#include "file/file.hpp"
#include "file/file_hints.hpp"
#include "file/file_trace.hpp"
#include "file/gathered_records.hpp"
#include "file/open_locks.hpp"
#include "file/opened_file.hpp"
#include "file/unsynced_writes.hpp"
#include "file/user_messages.hpp"
#include "memory/reserve.hpp"

namespace oratorio {

struct File::State {
    /// This rank's view, and its position there.
    struct Place {
        View view = View::bytes();
        Offset position = 0;  ///< individual file pointer, in etypes
    };
    /// Operations that were started and aren't done. The first of each queue is being worked on.
    struct Queues {
        std::deque<OperationPtr> collective;
        std::deque<OperationPtr> independent;
    };
    /// A split collective that has begun and not ended.
    struct Split {
        OperationPtr operation;
        Direction direction = Direction::read;
        Positioning at = Positioning::individual;
        const std::byte* buffer = nullptr;
    };

    State(std::shared_ptr<Workspace> lent, const OpenCall& call);

    std::shared_ptr<Workspace> workspace;
    Transport& transport;          ///< owned by the workspace
    std::unique_ptr<Store> store;  ///< null before the file is open, and once it is closed
    OpenedFile opened;
    UserMessages messages;
    FileHints hints;
    Place place;
    OpenLocks locks;
    Stats stats;
    PlanCache plans;
    Tuning tuning;
    LearnedFile* learned_file = nullptr;  ///< null: times aren't kept
    IoThread io_thread;
    FileTrace trace;
    DeviceStaging staging;
    UnsyncedWrites unsynced;
    FlushStatus flushes;                ///< the flushes of this rank
    std::optional<FileContext> shared;  ///< what all accesses share; empty before the file is open
    LateAgreement late;
    Queues queues;
    std::optional<Split> split;
    GatheredRecords records;
    FileAgents agents;

    /// Returns an error if this rank has too little memory for a collective call. Called before the
    /// call's first message, so that the error becomes that of all ranks.
    [[nodiscard]] Error ready() const { return ready_for_collective(transport.topology().size); }
    /// Collective. Opens this rank's store, and agrees on what the ranks found out.
    Result<void> open_stores(const OpenCall& call);
    /// Collective. Applies rank 0's hints over those in use, and updates all that depends on hints.
    /// `learned` has rank 0's times of earlier jobs.
    Result<void> take_hints(const HintMap& mine, const HintOrigins& origins,
                            const std::string& learned = "");
    /// Returns rank 0's times of earlier jobs, for the other ranks; "" if they know times already.
    [[nodiscard]] std::string times_to_tell(const OpenCall& call, const HintMap& mine);
    /// On rank 0, saves the access times that `auto` learned in this job, so that later jobs can
    /// use them.
    void keep_times();
    /// Does what take_hints() does, with the hints of an info object.
    Result<void> take_info(const HintMap& info) {
        return take_hints(info, hint_origins({}, info, ""));
    }
    /// Collective. Reports to the user the counts and times of all ranks' accesses together.
    Result<void> tell_account();
    /// Reports on rank 0 how the file should have been striped, if it has too few targets.
    void tell_striping() const;
    [[nodiscard]] bool flushes_together() const;
    [[nodiscard]] bool resizes_for_node() const;
    /// Moves one contiguous range of the file by this rank alone, as move_range() does.
    Transferred move_now(Direction direction, Offset offset, std::span<const iovec> memory) {
        return move_range(*store, stats, locks.policy(), direction, offset, memory);
    }
};

/// Returns the aggregators of a large access in which all ranks take part, in rank order.
[[nodiscard]] std::vector<Rank> aggregators_of(const Nodes& topology, const PlanOptions& options);

}  // namespace oratorio
