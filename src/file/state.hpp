// SPDX-License-Identifier: BSD-3-Clause
// The state of an open file: one object for each subject (hints, locks, trace ...), which does the
// work on that subject. Private to src/file.
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
    /// This rank's view and individual file pointer.
    struct Place {
        View view = View::bytes();
        Offset position = 0;  ///< individual file pointer, in etypes
    };
    /// Started operations that aren't done. Only the first operation of each queue is stepped.
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
    LearnedFile* learned_file = nullptr;  ///< null: the times that `auto` learns aren't saved
    IoThread io_thread;
    FileTrace trace;
    DeviceStaging staging;
    UnsyncedWrites unsynced;
    FlushStatus flushes;                ///< shares the outcomes of this rank's flushes
    std::optional<FileContext> shared;  ///< what all accesses share; empty before the file is open
    LateAgreement late;
    Queues queues;
    std::optional<Split> split;
    GatheredRecords records;
    FileAgents agents;

    /// Returns an error if this rank has too little memory for a collective call. Called before the
    /// call's first message, so that all ranks can agree on the error.
    [[nodiscard]] Error ready() const { return ready_for_collective(transport.topology().size); }
    /// Collective. Opens this rank's store (with lazy open, only rank 0's and the aggregators'),
    /// chooses the file's locks, and agrees on the FileFindings.
    Result<void> open_stores(const OpenCall& call);
    /// Collective. Applies rank 0's hints over those in use, and updates what depends on hints: the
    /// lock policy, the kept plans and the memory for gathered records. `learned` is the result of
    /// times_to_tell(); rank 0's goes to all ranks.
    Result<void> take_hints(const HintMap& mine, const HintOrigins& origins,
                            const std::string& learned = "");
    /// Returns the access times that earlier jobs saved, as text for take_hints(). Returns "" on
    /// other ranks than 0, without a LearnedFile, if the workspace already has learned times, or if
    /// the hint oratorio_learn has another value than `keep`.
    [[nodiscard]] std::string times_to_tell(const OpenCall& call, const HintMap& mine);
    /// Saves the access times that `auto` learned in this job, so that later jobs can use them.
    /// Does nothing on ranks other than 0.
    void keep_times();
    /// Does what take_hints() does, with the hints of an info object.
    Result<void> take_info(const HintMap& info) {
        return take_hints(info, hint_origins({}, info, ""));
    }
    /// Collective. At close, reports repeated accesses to the user; if FileFindings::account is
    /// set, also the striping advice, and the counts and times of all ranks added up.
    Result<void> tell_account();
    /// Tells the user about a new file that has too few storage targets (striping_advice()). Does
    /// nothing on ranks other than 0.
    void tell_striping() const;
    [[nodiscard]] bool flushes_together() const;
    [[nodiscard]] bool resizes_for_node() const;
    /// Returns true if this rank may move an access at once, without a plan: no independent access
    /// is queued, which it would overtake, and neither atomic mode nor a method that a hint names
    /// needs a plan.
    [[nodiscard]] bool may_skip_plan() const {
        return queues.independent.empty() && hints->plan.method == nullptr && !hints->plan.atomic;
    }
    /// Returns true if an independent access that is one contiguous range of the file may be one
    /// storage call and nothing else: it needs no plan, no records are gathered, accesses are
    /// neither traced nor explained, and no device driver is loaded.
    [[nodiscard]] bool may_move_now() const {
        return may_skip_plan() && !records.on() && !trace.started() && !messages.explains() &&
               !staging.has_drivers();
    }
    /// Reads or writes one contiguous range of the file on this rank alone, as move_range() does.
    Transferred move_now(Direction direction, Offset offset, std::span<const iovec> memory) {
        return move_range(*store, stats, locks.policy(), direction, offset, memory);
    }
    /// Tries to do the same with one piece of memory by a single system call, which takes less time
    /// than move_now(). Returns true if the whole piece was moved, false if move_now() must be
    /// called for the piece.
    [[nodiscard]] bool move_piece(Direction direction, Offset offset, const iovec& piece) {
        const bool reads = direction == Direction::read;
        if (!reads && locks.policy().shares(false)) return false;
        const Timing timing(&stats, &Stats::storage_time);
        if (!store->move_piece(direction, offset, piece)) return false;
        ++stats.storage_calls;
        (reads ? stats.bytes_loaded : stats.bytes_stored) += piece.iov_len;
        return true;
    }
};

/// Returns the aggregators of a large access in which all ranks take part, in rank order.
[[nodiscard]] std::vector<Rank> aggregators_of(const Nodes& topology, const PlanOptions& options);

}  // namespace oratorio
