// SPDX-License-Identifier: BSD-3-Clause
// Run: one access being done, as a resumable state machine over a plan. Blocking calls step it
// until done; nonblocking ones keep it. Collective runs must be made on all ranks in the same
// order. Stepped by one thread at a time.
//
// Collective: plan -> [turn] -> work -> end [-> plan anew]. Independent: plan -> work.
#pragma once

#include <climits>
#include <memory>
#include <optional>

#include "run/ending.hpp"
#include "run/extension.hpp"
#include "run/planning.hpp"
#include "run/run_memory.hpp"
#include "run/turn.hpp"
#include "run/work.hpp"
#include "stats/recorder.hpp"

namespace oratorio {

/// What a data access did: `bytes` were truly moved, also when `error` is set.
struct Outcome {
    Bytes bytes = 0;
    Error error;
};

class Run {
  public:
    Run(const RunContext& context, Access access, bool collective);
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    /// Moves on as far as it can without waiting, at most so many moves of its work; true when
    /// done.
    bool step(int moves = INT_MAX);
    /// After a step that didn't end it: what another waits for; nothing while more moves can be
    /// made at once.
    [[nodiscard]] std::optional<Rest> waits_for() const;
    /// Its plan needs messages of the host MPI between rounds.
    [[nodiscard]] bool sends_messages() const;
    /// Valid when done. Collective: the error kind is the same on all ranks that must hear of each
    /// other (run/ending.hpp); bytes are this rank's.
    [[nodiscard]] const Outcome& outcome() const { return outcome_; }
    /// Collective, when done, the same on all ranks: some rank's data goes on, so all make another
    /// run.
    [[nodiscard]] bool goes_on() const {
        return outcome_.error.kind == ErrorKind::none && ending_ != nullptr && ending_->goes_on();
    }

  private:
    enum class Phase {
        planning,
        planned,
        awaiting_turn,
        extending,
        working,
        passing_turn,
        ending,
        done
    };

    void enter(Phase phase);
    bool step_phase();
    bool reserve_memory();
    void begin(bool may_recall);
    bool planning_done();
    bool turn_come();
    [[nodiscard]] bool extends_first() const;
    bool file_extended();
    void start_work();
    [[nodiscard]] bool uses_store() const;
    void make_work();
    void number_attempt();
    /// Of this attempt; equal on all ranks.
    [[nodiscard]] unsigned number() const { return 2 * sequence_ + (again_ ? 1 : 0); }
    bool work_done();
    bool turn_passed();
    bool ending_done();
    void leave();
    [[nodiscard]] Bytes bytes_moved() const;
    void unlock();
    void note(const Error& error);
    bool fail(const Error& transport_error);
    void finish(const Error& error, Bytes bytes);
    [[nodiscard]] const Plan& plan() const { return planning_.plan(); }
    /// What this rank does of its access by the plan.
    [[nodiscard]] const Access& worked() const { return without_data_ ? *without_data_ : access_; }

    RunContext context_;  ///< of this attempt
    unsigned sequence_;   ///< of this access
    Access access_;
    bool collective_;
    Rank rank_;
    RunMemory memory_;
    Planning planning_;
    Extension extension_;
    bool maps_ = true;  ///< false: the file can't be made longer for mappings; equal on all ranks
    Turn turn_;
    Phase phase_ = Phase::planning;
    Track track_;         ///< of the phases
    bool again_ = false;  ///< the kept plan didn't do, the access is made a second time
    std::optional<Access> without_data_;  ///< where this rank is absent from the kept plan
    RangeLock locked_;                    ///< atomic mode; kept until the work is gone
    std::unique_ptr<Work> work_;
    int moves_left_ = 0;              ///< of this step
    Error error_;                     ///< this rank's own failure
    std::unique_ptr<Ending> ending_;  ///< of a collective access
    Outcome outcome_;
};

/// Steps until done.
Outcome run_access(const RunContext& context, const Access& access, bool collective);

}  // namespace oratorio
