// SPDX-License-Identifier: BSD-3-Clause
#include "engine/run.hpp"

#include <cmath>
#include <iterator>

#include "engine/late_agreement.hpp"
#include "engine/region_writer.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

/// The trace activity of each phase but done, in the order of Phase; the entry of planned is
/// unused.
constexpr Activity kPhaseActivities[] = {
    Activity::agreeing,  Activity::planning, Activity::planning,     Activity::awaiting_turn,
    Activity::extending, Activity::working,  Activity::passing_turn, Activity::agreeing};

}  // namespace

Run::Run(const RunContext& context, Access access, bool collective)
    : context_(context),
      access_(std::move(access)),
      collective_(collective),
      rank_(context.file.transport.topology().rank),
      memory_(context_.file.buffers, RegionWriter::scratch_bytes(context_.file.store.kind())),
      planning_(context_, access_, collective),
      track_(context_.file.stats) {
    error_ = access_.refused;
    if (!reserve_memory()) access_.refused = error_;
    if (collective_) {
        enter(Phase::settling);
    } else {
        begin(true);
    }
}

/// Reserves memory for any role in a collective access, because this rank's role isn't known yet.
bool Run::reserve_memory() {
    if (collective_) memory_.adopt(context_.file.plans.take_buffers());
    if (!collective_ || memory_.take_for_collective(access_.direction, (*context_.config)->options,
                                                    context_.file.transport.topology()))
        return true;
    error_ = Error::make(ErrorKind::no_memory,
                         "no memory for message and collective buffers: lower cb_buffer_size");
    return false;
}

bool Run::step(int moves) {
    moves_left_ = moves;
    if (collective_ && phase_ != Phase::done) {
        if (const Error& lost = context_.file.transport.lost(); lost.kind != ErrorKind::none)
            return fail(lost);
    }
    return step_phase();
}

void Run::enter(Phase phase) {
    phase_ = phase;
    if (phase == Phase::done) return track_.leave();
    // Phase::planned continues the activity before it: the next phase begins at once, or as soon as
    // the run may send messages.
    if (phase == Phase::planned) return;
    static_assert(std::size(kPhaseActivities) == static_cast<std::size_t>(Phase::done));
    track_.enter(kPhaseActivities[static_cast<std::size_t>(phase)]);
}

bool Run::step_phase() {
    switch (phase_) {
        case Phase::settling:
            return previous_settled();
        case Phase::planning:
            return planning_done();
        case Phase::planned:
            if (plan().ranks_at_once() > 0) {
                enter(Phase::awaiting_turn);
            } else if (extends_first()) {
                enter(Phase::extending);
            } else {
                start_work();
            }
            // Go on at once: a lock taken for atomic mode must not be held while waiting for
            // others.
            return step_phase();
        case Phase::awaiting_turn:
            return turn_come();
        case Phase::extending:
            return file_extended();
        case Phase::working:
            return work_done();
        case Phase::passing_turn:
            return turn_passed();
        case Phase::completion:
            return ending_done();
        case Phase::done:
            return true;
    }
    return true;
}

std::optional<WaitHint> Run::waits_for() const {
    if (moves_left_ == 0) return std::nullopt;
    const WaitHint own = phase_ == Phase::working ? work_->waits_for() : WaitHint{};
    return own.doorbell != nullptr ? own : context_.file.transport.wait_hint();
}

bool Run::sends_messages() const {
    if (phase_ == Phase::settling) return false;
    return phase_ == Phase::planning ? planning_.sends_messages() : plan().sends_messages();
}

/// Begins once the agreement of the previous read is known. If that read failed on some ranks only,
/// this access does nothing on any rank: a rank that saw the failure might not make this call, and
/// the others would wait for it.
bool Run::previous_settled() {
    LateAgreement& late = context_.file.late;
    if (late.step(context_.file) != Step::done) return false;
    if (Error failed = late.take_failure(); failed.kind != ErrorKind::none) {
        finish(after_failed_read(failed), 0);
        return true;
    }
    begin(true);
    return step_phase();
}

void Run::begin(bool may_recall) {
    const bool unable = error_.kind == ErrorKind::no_memory;
    const bool may_end_alone =
        access_.direction == Direction::read || asks_for_edges((*context_.config)->options);
    const bool agrees = may_end_alone && (error_.kind != ErrorKind::none || access_.goes_on);
    std::uint16_t flags = 0;
    if (unable) flags |= flag_no_store;
    if (agrees) flags |= flag_agrees;
    memory_.start_over();
    if (collective_) entered_ = context_.file.tuning.since_meeting();
    planning_.begin(may_recall, flags);
    enter(Phase::planning);
}

bool Run::planning_done() {
    if (!collective_ && (error_.kind != ErrorKind::none || access_.bytes() == 0)) {
        finish(error_, 0);
        return true;
    }
    const bool sent = sends_messages();
    const auto planned = planning_.step();
    if (!planned) return fail(planned.error());
    const bool done = *planned == Step::done;
    if (done) enter(Phase::planned);
    // All ranks have entered this access, so all have left the previous accesses.
    if (done && collective_ && !planning_.recalled()) {
        context_.file.lock_policy.left_first = false;
        context_.file.tuning.meet();
        entered_ = 0;
    }
    // The next step sends messages, so it is left to a caller that may send them. With no moves
    // left, waits_for() returns nothing, and that caller need not wait first.
    if (!sent && sends_messages()) {
        moves_left_ = 0;
        return false;
    }
    return done && step_phase();
}

/// Starts the work once the token has arrived. The run takes no lock before that, because the rank
/// that holds the token may need the same lock.
bool Run::turn_come() {
    const auto come = token_.come(context_.file.transport, number(), plan().ranks_at_once());
    if (!come) return fail(come.error());
    if (*come != Step::done) return false;
    start_work();
    return step_phase();
}

/// Ends, without waiting for the ranks' agreement, a read in which each rank makes its own calls.
bool Run::return_early() {
    context_.file.late.begin(context_.file, {.failure = error_,
                                             .mismatched = planning_.mismatched(),
                                             .times = times(),
                                             .trial = plan().trial});
    finish(error_, work_ ? work_->moved() : 0);
    return true;
}

bool Run::turn_passed() {
    const auto passed =
        token_.pass(context_.file.transport, number(), plan().ranks_at_once(), context_.file.stats);
    if (!passed) return fail(passed.error());
    if (*passed != Step::done) return false;
    enter(Phase::completion);
    return step_phase();
}

bool Run::extends_first() const {
    return collective_ && plan().method->storage_part().extends_first &&
           access_.direction == Direction::write && context_.file.transport.topology().size > 1;
}

bool Run::file_extended() {
    const bool writes = error_.kind == ErrorKind::none && !planning_.absent();
    const auto extended = pre_extend_.step(context_, writes ? planning_.mine().hull.end : 0);
    if (!extended) return fail(extended.error());
    if (*extended != Step::done) return false;
    maps_ = pre_extend_.error().kind != ErrorKind::unsupported_operation;
    if (maps_) note(pre_extend_.error());
    start_work();
    return step_phase();
}

void Run::start_work() {
    enter(Phase::working);
    if (shares_cores()) work_time_.start(context_.file.tuning);
    if (collective_ && !ends_late())
        completion_ = make_access_completion(context_, plan(), number());
    without_data_.reset();
    if (planning_.absent()) without_data_.emplace(access_).memory = Layout{};
    if (uses_store()) {
        if (auto ready = context_.file.store.prepare(); !ready) note(ready.error());
    }
    if (plan().atomic && worked().bytes() > 0) {
        auto locked = context_.file.lock_policy.take(context_.file.store, planning_.mine().hull,
                                                     access_.direction == Direction::write);
        if (locked) {
            locked_ = std::move(*locked);
        } else {
            note(locked.error());
        }
    }
    const bool aggregated = plan().method->aggregated();
    const bool can_work = aggregated || (error_.kind == ErrorKind::none && worked().bytes() > 0);
    if (plan().bytes > 0 && can_work) make_work();
}

/// Returns true if this rank needs an open store, because it must call the storage itself. A rank
/// for which aggregators or agents call the storage needs none.
bool Run::uses_store() const {
    if (plan().bytes == 0) return false;
    if (plan().method->aggregated()) return plan().aggregator_index(rank_) >= 0;
    return !plan().method->storage_part().shipped && error_.kind == ErrorKind::none &&
           worked().bytes() > 0;
}

void Run::make_work() {
    // With a kept plan, this rank doesn't know yet whether the others have entered.
    const WorkContext context{.file = context_.file,
                              .store = context_.file.store,
                              .config = **context_.config,
                              .number = number(),
                              .all_entered = !planning_.recalled()};
    auto made = oratorio::make_work({context, plan(), worked(), memory_, maps_});
    if (made) {
        work_ = std::move(*made);
    } else {
        error_ = made.error();
    }
}

bool Run::work_done() {
    if (work_) {
        for (;;) {
            const auto moved = work_->step();
            if (!moved) return fail(moved.error());
            if (work_->done()) break;
            // Don't wait for others while holding a lock that they may wait for.
            if (locked_.holds()) continue;
            if (*moved == Step::idle || --moves_left_ == 0) return false;
        }
        note(work_->noted());
    }
    unlock();
    if (!collective_) {
        finish(error_, work_ ? work_->moved() : 0);
        return true;
    }
    if (ends_late()) return return_early();
    const bool differs = planning_.absent() || (work_ && work_->differs());
    if (differs && !planning_.recalled()) {
        note(Error::make(
            ErrorKind::internal,
            "the data of a round differs from the plan; nothing of the round was stored"));
    }
    const bool void_all = differs && planning_.recalled();
    completion_->begin(error_,
                       void_all          ? Remark::veto
                       : access_.goes_on ? Remark::more
                                         : Remark::none,
                       work_ ? work_->report() : StoredReport{}, times());
    enter(plan().ranks_at_once() > 0 ? Phase::passing_turn : Phase::completion);
    return step_phase();
}

bool Run::ending_done() {
    const Activity before = completion_->activity();
    const auto over = completion_->step();
    if (!over) return fail(over.error());
    if (*over != Step::done) {
        if (completion_->activity() != before) track_.enter(completion_->activity());
        return false;
    }
    context_.file.tuning.meet();
    if (completion_->vetoed()) {
        context_.file.plans.distrust(access_.direction);
        context_.observer.dropped();
        again_ = true;
        pre_extend_ = {};
        maps_ = true;
        token_ = {};
        work_.reset();
        error_ = access_.refused;
        begin(false);
        return step_phase();
    }
    error_ = completion_->error();
    if (error_.kind == ErrorKind::none && plan().trial != nullptr)
        context_.file.tuning.record(*plan().trial, completion_->nanoseconds());
    leave();
    finish(error_, bytes_moved());
    return true;
}

/// Returns true if the access is measured, and the ranks of this node share its cores while all of
/// them do the same kind of work. A rank then often enters late because the others are working, and
/// the time since the last rank's entry doesn't show their work.
bool Run::shares_cores() const {
    return plan().trial != nullptr && !plan().sends_messages() &&
           context_.file.transport.topology().crowded();
}

/// Returns the nanoseconds that the cores of this node need for the access if each rank with data
/// needs as much CPU time as this rank; 0 if the ranks don't share cores.
std::uint64_t Run::work_of_node() const {
    if (!shares_cores()) return 0;
    const Topology& topology = context_.file.transport.topology();
    const AccessKind& kind = plan().trial->kind;
    const double of_node = topology.ranks_of(topology.node(rank_));
    const double working = of_node * kind.ranks_with_data / kind.ranks;
    const double each = static_cast<double>(work_time_.spent(context_.file.tuning));
    return static_cast<std::uint64_t>(each * working / topology.cores_of_node());
}

/// Returns this rank's times of the access, or nothing if the access isn't measured. The plan
/// decides that, so all ranks return times or none does.
std::optional<AccessTimes> Run::times() const {
    if (plan().trial == nullptr) return std::nullopt;
    return AccessTimes{entered_,
                       std::max(context_.file.tuning.since_meeting(), entered_ + work_of_node())};
}

/// Updates the file's state after an access. If aggregators reported the outcome, sets `left_first`
/// if other aggregators may still be filling holes, and adds a failed write to `undelivered`,
/// because some ranks may not know of it. After an agreement of all ranks, clears `left_first`.
void Run::leave() {
    const bool failed = error_.kind != ErrorKind::none && access_.direction == Direction::write;
    const bool reported = plan().ending() == Ending::reported;
    if (reported && failed) context_.file.undelivered.add(error_, context_.number);
    bool& first = context_.file.lock_policy.left_first;
    first = reported && (first || plan().keeps_holes());
}

Bytes Run::bytes_moved() const {
    const bool known = error_.kind == ErrorKind::none || access_.direction == Direction::read ||
                       !plan().method->aggregated();
    if (known) return work_ ? work_->moved() : 0;
    return worked().bytes() > 0 ? completion_->stored_bytes(worked(), planning_.mine().hull) : 0;
}

void Run::unlock() {
    if (const auto unlocked = locked_.give_back(); !unlocked) note(unlocked.error());
}

/// Keeps the first failure of this rank.
void Run::note(const Error& error) {
    if (error_.kind == ErrorKind::none && error.kind != ErrorKind::none) error_ = error.on(rank_);
}

bool Run::fail(const Error& transport_error) {
    unlock();
    finish(transport_error.rank < 0 ? transport_error.on(rank_) : transport_error, 0);
    return true;
}

/// Finishes the run. After a second attempt, the statistics count the estimate of the second plan.
void Run::finish(const Error& error, Bytes bytes) {
    constexpr double kNanoseconds = 1e9;
    outcome_ = {bytes, error};
    if (plan().method != nullptr)
        context_.file.stats.estimated_time +=
            static_cast<std::uint64_t>(std::llround(plan().seconds() * kNanoseconds));
    work_.reset();
    if (collective_) context_.file.plans.keep_buffers(memory_.release());
    enter(Phase::done);
}

Outcome run_access(const RunContext& context, const Access& access, bool collective) {
    Run run(context, access, collective);
    while (!run.step()) {
        const auto rest = run.waits_for();
        if (collective && rest) context.file.transport.idle(*rest);
    }
    return run.outcome();
}

}  // namespace oratorio
