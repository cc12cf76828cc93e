// SPDX-License-Identifier: BSD-3-Clause
// Run: one data access as a resumable state machine over a plan. A blocking call steps it until it
// is done; a nonblocking call keeps it and steps it later. No step waits for another rank.
//
// A collective run passes these phases: [settle] -> plan -> [token, or extend the file] -> work ->
// [pass the token] -> end [-> plan again]. An independent run passes plan -> work. Settling
// completes the agreement of an earlier read (engine/late_agreement); in the end phase, a rank
// learns the outcome on the other ranks (engine/completion). A read that ends late has no end
// phase.
//
// REQUIRES: collective runs are made in the same order on all ranks; one thread at a time steps a
// run.
#pragma once

#include <climits>
#include <memory>
#include <optional>

#include "engine/completion.hpp"
#include "engine/planning.hpp"
#include "engine/pre_extend.hpp"
#include "engine/run_memory.hpp"
#include "engine/token.hpp"
#include "engine/work.hpp"
#include "stats/recorder.hpp"

namespace oratorio {

/// The result of a data access. `bytes` bytes were really moved, even if `error` is set.
struct Outcome {
    Bytes bytes = 0;
    Error error;
};

class Run {
  public:
    Run(const RunContext& context, Access access, bool collective);
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    /// Makes progress without waiting for other ranks, with at most `moves` steps of its work
    /// (under the lock of atomic mode, without a limit). Returns true when the run is done.
    bool step(int moves = INT_MAX);
    /// Returns what to wait for before the next step, or nothing if the next step can make progress
    /// at once. REQUIRES: step() returned false.
    [[nodiscard]] std::optional<WaitHint> waits_for() const;
    /// Returns true if the run's current phase may exchange messages of the host MPI, other than
    /// reductions and gatherings of one entry per rank.
    [[nodiscard]] bool sends_messages() const;
    /// Returns the outcome. The bytes are this rank's. In a collective access all ranks see the
    /// same error kind, unless aggregators reported it (engine/completion.hpp) or ends_late() is
    /// true. REQUIRES: the run is done.
    [[nodiscard]] const Outcome& outcome() const { return outcome_; }
    /// Returns true if some rank has more data: all ranks must then make another run. Equal on all
    /// ranks. REQUIRES: collective, and the run is done.
    [[nodiscard]] bool goes_on() const {
        return outcome_.error.kind == ErrorKind::none && completion_ != nullptr &&
               completion_->goes_on();
    }

    /// Returns true if the run ends before the ranks have agreed (engine/late_agreement.hpp):
    /// outcome() is then this rank's alone. REQUIRES: collective, and the plan is ready.
    [[nodiscard]] bool ends_late() const {
        return planning_.mismatched() || plan().ending() == Ending::late;
    }

  private:
    enum class Phase {
        settling,
        planning,
        planned,
        awaiting_turn,
        extending,
        working,
        passing_turn,
        completion,
        done
    };

    void enter(Phase phase);
    bool step_phase();
    bool reserve_memory();
    bool previous_settled();
    void begin(bool may_recall);
    bool planning_done();
    bool turn_come();
    [[nodiscard]] bool extends_first() const;
    bool file_extended();
    void start_work();
    [[nodiscard]] bool uses_store() const;
    void make_work();
    /// Returns the number of this attempt; equal on all ranks.
    [[nodiscard]] unsigned number() const { return 2 * context_.number + (again_ ? 1 : 0); }
    bool work_done();
    bool return_early();
    bool turn_passed();
    bool ending_done();
    [[nodiscard]] std::optional<AccessTimes> times() const;
    [[nodiscard]] bool shares_cores() const;
    [[nodiscard]] std::uint64_t work_of_node() const;
    void leave();
    [[nodiscard]] Bytes bytes_moved() const;
    void unlock();
    void note(const Error& error);
    bool fail(const Error& transport_error);
    void finish(const Error& error, Bytes bytes);
    [[nodiscard]] const Plan& plan() const { return planning_.plan(); }
    /// Returns the access that this rank performs under the plan: its own, or one without data if
    /// its own doesn't match a kept plan.
    [[nodiscard]] const Access& worked() const { return without_data_ ? *without_data_ : access_; }

    const RunContext context_;
    Access access_;
    bool collective_;
    Rank rank_;
    RunMemory memory_;
    std::uint64_t entered_ = 0;  ///< nanoseconds from Tuning::meet() to the start of the access
    WorkTime work_time_;         ///< started if shares_cores()
    Planning planning_;
    PreExtend pre_extend_;
    bool maps_ = true;  ///< false: the file can't be extended for mappings; equal on all ranks
    Token token_;
    Phase phase_ = Phase::planning;
    Track track_;                         ///< trace of the phases
    bool again_ = false;                  ///< second attempt: the kept plan did not match
    std::optional<Access> without_data_;  ///< set if this rank's access doesn't match the kept plan
    RangeLock locked_;                    ///< the lock of atomic mode, held until the work is done
    std::unique_ptr<Work> work_;
    int moves_left_ = 0;  ///< work steps left in this step()
    Error error_;         ///< this rank's own failure, until completion_ has the error of all ranks
    std::unique_ptr<AccessCompletion> completion_;  ///< made unless independent or ends_late()
    Outcome outcome_;
};

/// Makes a run of the access, steps it until it is done, and returns its outcome.
Outcome run_access(const RunContext& context, const Access& access, bool collective);

}  // namespace oratorio
