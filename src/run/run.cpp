#include "run/run.hpp"

#include <vector>

#include "base/agreed.hpp"
#include "plan/methods.hpp"
#include "run/extension.hpp"
#include "run/planning.hpp"
#include "run/run_memory.hpp"
#include "run/work.hpp"

namespace oratorio {

namespace {

constexpr std::uint64_t kPlanAnew = UINT64_MAX;  // above the key of any error

}  // namespace

/// Collective: plan -> work -> agree [-> plan anew] [-> tell -> reports]. Independent: plan ->
/// work.
class Run::State {
  public:
    State(const RunContext& context, const Access& access, bool collective)
        : context_(context),
          access_(access),
          collective_(collective),
          rank_(context.transport.topology().rank),
          memory_(context_.buffers),
          planning_(context_, access_, collective) {
        if (context_.store == nullptr && access_.refused.kind == ErrorKind::none) {
            access_.refused =
                Error::make(ErrorKind::file_handle, "the file isn't open on this rank");
        }
        error_ = access_.refused;
        if (!reserve_memory()) access_.refused = error_;
        begin(true);
    }

    bool step(int moves);
    void rest();
    [[nodiscard]] std::optional<Rest> waits_for() const;
    [[nodiscard]] bool sends_messages() const;
    [[nodiscard]] const Outcome& outcome() const { return outcome_; }

  private:
    enum class Phase { planning, planned, extending, working, agreeing, telling, reporting, done };

    bool step();
    bool reserve_memory();
    void begin(bool may_recall);
    bool planning_done();
    [[nodiscard]] bool extends_first() const;
    bool file_extended();
    void start_work();
    void make_work();
    [[nodiscard]] RunContext numbered_context() const;
    bool work_done();
    bool agreement_done();
    bool telling_done();
    bool reports_done();
    void unlock();
    bool fail(const Error& transport_error);
    void finish(const Error& error, Bytes bytes);
    /// Start of the next collective; false (and the run ends) when the transport fails.
    bool start(Result<Ticket> ticket, Phase next);
    bool waited(bool& failed);
    [[nodiscard]] const Plan& plan() const { return planning_.plan(); }

    RunContext context_;
    Access access_;
    bool collective_;
    Rank rank_;
    RunMemory memory_;
    Planning planning_;
    Extension extension_;
    Phase phase_ = Phase::planning;
    bool again_ = false;  ///< the kept plan didn't do, the access is made a second time
    Ticket ticket_;
    Access worked_;  ///< as access_, without data where this rank is absent from the kept plan
    std::unique_ptr<Work> work_;
    Rest rest_;           ///< of the work
    int moves_left_ = 0;  ///< of this step
    Extent locked_;
    Error error_;  ///< this rank's own failure
    std::uint64_t key_ = 0;
    StoredReport report_;
    std::vector<StoredReport> reports_;
    Outcome outcome_;
};

/// Memory is asked for before this rank's role is known.
bool Run::State::reserve_memory() {
    if (!collective_ || memory_.take_for_collective(access_.direction, context_.terms->options))
        return true;
    error_ = Error::make(ErrorKind::no_memory,
                         "no memory for message and collective buffers: lower cb_buffer_size");
    return false;
}

bool Run::State::step(int moves) {
    moves_left_ = moves;
    return step();
}

bool Run::State::step() {
    switch (phase_) {
        case Phase::planning:
            return planning_done();
        case Phase::planned:
            phase_ = Phase::extending;
            if (extends_first()) return step();
            start_work();
            return step();  // a lock taken for atomic mode isn't kept while others are waited for
        case Phase::extending:
            return file_extended();
        case Phase::working:
            return work_done();
        case Phase::agreeing:
            return agreement_done();
        case Phase::telling:
            return telling_done();
        case Phase::reporting:
            return reports_done();
        case Phase::done:
            return true;
    }
    return true;
}

void Run::State::rest() {
    if (moves_left_ == 0) return;
    const Rest rest = phase_ == Phase::working ? rest_ : Rest{};
    context_.transport.idle(rest);
}

std::optional<Rest> Run::State::waits_for() const {
    if (moves_left_ == 0) return std::nullopt;
    const bool own = phase_ == Phase::working && rest_.bell != nullptr;
    return own ? rest_ : context_.transport.rest();
}

bool Run::State::sends_messages() const {
    return phase_ != Phase::planning && plan().method->exchange_part().sends_messages;
}

void Run::State::begin(bool may_recall) {
    const bool unable = context_.store == nullptr || error_.kind == ErrorKind::no_memory;
    memory_.start_over();
    planning_.begin(may_recall, unable ? std::uint64_t{flag_no_store} : 0);
    phase_ = Phase::planning;
}

bool Run::State::planning_done() {
    if (!collective_ && (error_.kind != ErrorKind::none || access_.bytes() == 0)) {
        finish(error_, 0);
        return true;
    }
    const auto planned = planning_.step();
    if (!planned) return fail(planned.error());
    if (!*planned) return false;
    phase_ = Phase::planned;
    if (!sends_messages()) return step();
    moves_left_ = 0;  // who may send messages goes on at once
    return false;
}

bool Run::State::extends_first() const {
    return collective_ && plan().method->storage_part().extends_first &&
           access_.direction == Direction::write && context_.transport.topology().size > 1;
}

bool Run::State::file_extended() {
    const bool writes = error_.kind == ErrorKind::none && !planning_.absent();
    const auto extended = extension_.step(context_, writes ? planning_.mine().hull.end : 0);
    if (!extended) return fail(extended.error());
    if (!*extended) return false;
    if (error_.kind == ErrorKind::none) error_ = extension_.error();
    start_work();
    return step();
}

void Run::State::start_work() {
    phase_ = Phase::working;
    worked_ = access_;
    if (planning_.absent()) worked_.memory = Layout{};
    if (plan().atomic && worked_.bytes() > 0) {
        const auto locked = context_.store->lock(planning_.mine().hull, true,
                                                 access_.direction == Direction::write);
        if (locked) {
            locked_ = planning_.mine().hull;
        } else if (error_.kind == ErrorKind::none) {
            error_ = locked.error().on(rank_);
        }
    }
    const bool aggregated = plan().method->aggregated();
    const bool can_work = aggregated || (error_.kind == ErrorKind::none && worked_.bytes() > 0 &&
                                         !extension_.failed());
    if (!plan().graph.empty() && can_work) make_work();
}

void Run::State::make_work() {
    auto made = oratorio::make_work(
        {numbered_context(), plan(), worked_, planning_.mine().pieces, memory_});
    if (made) {
        work_ = std::move(*made);
    } else {
        error_ = made.error();
    }
}

/// The same, with a number of its own for each attempt. Where plans are kept nobody has heard of
/// the others yet.
RunContext Run::State::numbered_context() const {
    RunContext context = context_;
    context.gathered = !planning_.recalled();
    context.sequence = 2 * context_.sequence + (again_ ? 1 : 0);
    return context;
}

bool Run::State::work_done() {
    if (work_) {
        for (;;) {
            rest_ = work_->rest();
            const auto moved = work_->step();
            if (!moved) return fail(moved.error());
            if (work_->done()) break;
            rest_.relieved = work_->relieved();
            if (!locked_.empty()) continue;  // nobody waits for a lock of a rank that waits itself
            if (!*moved || --moves_left_ == 0) return false;
        }
        if (error_.kind == ErrorKind::none) error_ = work_->noted();
        report_ = work_->report();
    }
    unlock();
    if (!collective_) {
        finish(error_, work_ ? work_->moved() : 0);
        return true;
    }
    const bool differs = planning_.absent() || (work_ && work_->differs());
    if (differs && !planning_.recalled() && error_.kind == ErrorKind::none) {
        error_ =
            Error::make(ErrorKind::internal,
                        "a round didn't hold the data that was planned; nothing of it is stored");
    }
    key_ = differs && planning_.recalled() ? kPlanAnew : key_of(error_, rank_);
    return start(context_.transport.reduce(std::span(&key_, 1), ReduceOp::max), Phase::agreeing);
}

bool Run::State::agreement_done() {
    bool failed = false;
    if (!waited(failed)) return failed;
    if (key_ == kPlanAnew) {
        context_.plans->distrust(access_.direction);
        again_ = true;
        extension_ = {};
        work_.reset();
        error_ = access_.refused;
        begin(false);
        return step();
    }
    if (key_ == 0) {
        finish({}, work_ ? work_->moved() : 0);
        return true;
    }
    error_ = error_.on(rank_);
    return start(
        context_.transport.broadcast(owner_of(key_), std::as_writable_bytes(std::span(&error_, 1))),
        Phase::telling);
}

bool Run::State::telling_done() {
    bool failed = false;
    if (!waited(failed)) return failed;
    if (access_.direction == Direction::read || !plan().method->aggregated()) {
        finish(error_, work_ ? work_->moved() : 0);
        return true;
    }
    reports_.resize(static_cast<std::size_t>(context_.transport.topology().size));
    return start(context_.transport.gather(std::as_bytes(std::span(&report_, 1)),
                                           std::as_writable_bytes(std::span(reports_))),
                 Phase::reporting);
}

bool Run::State::reports_done() {
    bool failed = false;
    if (!waited(failed)) return failed;
    std::vector<StoredReport> of_aggregators;
    for (const Rank rank : plan().aggregators)
        of_aggregators.push_back(reports_[static_cast<std::size_t>(rank)]);
    const Extent hull = planning_.mine().hull;
    finish(error_, worked_.bytes() > 0 ? stored_bytes(plan(), worked_, hull, of_aggregators) : 0);
    return true;
}

void Run::State::unlock() {
    if (locked_.empty()) return;
    const auto unlocked = context_.store->lock(locked_, false, true);
    if (!unlocked && error_.kind == ErrorKind::none) error_ = unlocked.error().on(rank_);
    locked_ = {};
}

bool Run::State::start(Result<Ticket> ticket, Phase next) {
    if (!ticket) return fail(ticket.error());
    ticket_ = *ticket;
    phase_ = next;
    return step();  // a rank alone has it already, and so has the last to come
}

/// True when the collective under way is done; `failed` when the run has ended with it.
bool Run::State::waited(bool& failed) {
    const auto completion = context_.transport.test(ticket_);
    if (!completion) {
        failed = fail(completion.error());
        return false;
    }
    return completion->done;
}

bool Run::State::fail(const Error& transport_error) {
    unlock();
    finish(transport_error.on(rank_), 0);
    return true;
}

void Run::State::finish(const Error& error, Bytes bytes) {
    outcome_ = {bytes, error};
    work_.reset();
    phase_ = Phase::done;
}

Run::Run(const RunContext& context, const Access& access, bool collective)
    : state_(std::make_unique<State>(context, access, collective)) {}
Run::~Run() = default;
bool Run::step(int moves) {
    return state_->step(moves);
}
void Run::rest() {
    state_->rest();
}
std::optional<Rest> Run::waits_for() const {
    return state_->waits_for();
}
bool Run::sends_messages() const {
    return state_->sends_messages();
}
const Outcome& Run::outcome() const {
    return state_->outcome();
}

Outcome run_access(const RunContext& context, const Access& access, bool collective) {
    Run run(context, access, collective);
    while (!run.step()) {
        if (collective) run.rest();
    }
    return run.outcome();
}

}  // namespace oratorio
