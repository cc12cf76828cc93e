#include "run/run.hpp"

#include <vector>

#include "base/agreed.hpp"
#include "exchange/message_buffers.hpp"
#include "plan/methods.hpp"
#include "run/work.hpp"

namespace oratorio {

namespace {

constexpr Bytes kCollectiveBytesMin =
    64 << 10;  // a page for each of the most slots, whatever the hint says
constexpr Bytes kStagingBytes = 1 << 20;  // of list access to fine-grained memory

}  // namespace

/// Collective: summarise -> gather -> plan -> work -> agree [-> tell -> reports]. Independent: plan
/// -> work.
class Run::State {
  public:
    State(const RunContext& context, const Access& access, bool collective)
        : context_(context),
          access_(access),
          collective_(collective),
          rank_(context.transport.topology().rank) {
        if (context_.store == nullptr && access_.refused.kind == ErrorKind::none) {
            access_.refused =
                Error::make(ErrorKind::file_handle, "the file isn't open on this rank");
        }
        error_ = access_.refused;
        if (!reserve_message_memory()) access_.refused = error_;
    }

    bool step();
    [[nodiscard]] const Outcome& outcome() const { return outcome_; }

  private:
    enum class Phase { begin, gathering, working, agreeing, telling, reporting, done };

    bool reserve_message_memory();
    bool begin();
    bool gather_done();
    void start_work(Plan plan);
    std::unique_ptr<Work> make_work();
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

    RunContext context_;
    Access access_;
    bool collective_;
    Rank rank_;
    Phase phase_ = Phase::begin;
    Ticket ticket_;
    AccessSummary mine_;
    Summaries summaries_;
    Plan plan_;
    BufferPool::Lease message_memory_;
    BufferPool::Lease collective_memory_;
    std::unique_ptr<Work> work_;
    Extent locked_;
    Error error_;  ///< this rank's own failure
    std::uint64_t key_ = 0;
    StoredReport report_;
    std::vector<StoredReport> reports_;
    Outcome outcome_;
};

/// Memory is asked for before this rank's role is known: later it could not step back without
/// others waiting for it.
bool Run::State::reserve_message_memory() {
    if (!collective_) return true;
    message_memory_ = context_.buffers.take(MessageBuffers::bytes_needed(
        message_bytes_of(context_.options), std::max(1, context_.options.messages_in_flight)));
    collective_memory_ =
        context_.buffers.take(std::max(context_.options.cb_buffer_size, kCollectiveBytesMin));
    if (!message_memory_.span().empty() && !collective_memory_.span().empty()) return true;
    error_ = Error::make(ErrorKind::no_memory,
                         "no memory for message and collective buffers: lower cb_buffer_size");
    return false;
}

bool Run::State::step() {
    switch (phase_) {
        case Phase::begin:
            return begin();
        case Phase::gathering:
            return gather_done();
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

bool Run::State::begin() {
    mine_ = summarise(access_, access_.direction == Direction::write);
    if (context_.store == nullptr || error_.kind == ErrorKind::no_memory)
        mine_.flags |= flag_no_store;
    if (collective_) {
        summaries_.resize(static_cast<std::size_t>(context_.transport.topology().size));
        return start(context_.transport.gather(std::as_bytes(std::span(&mine_, 1)),
                                               std::as_writable_bytes(std::span(summaries_))),
                     Phase::gathering);
    }
    if (error_.kind != ErrorKind::none || mine_.bytes == 0) {
        finish(error_, 0);
        return true;
    }
    start_work(make_own_plan(access_.direction, rank_, mine_, context_.options));
    return step();
}

bool Run::State::gather_done() {
    bool failed = false;
    if (!waited(failed)) return failed;
    const auto agreed = Agreed<Summaries>::vouch(std::move(summaries_));
    start_work(
        make_plan(access_.direction, agreed, context_.transport.topology(), context_.options));
    return step();  // a lock taken for atomic mode isn't kept while other ranks are waited for
}

void Run::State::start_work(Plan plan) {
    plan_ = std::move(plan);
    context_.stats.plans += 1;
    if (context_.on_plan) context_.on_plan(plan_);
    if (plan_.atomic && mine_.bytes > 0) {
        const auto locked =
            context_.store->lock(mine_.hull, true, access_.direction == Direction::write);
        if (locked) {
            locked_ = mine_.hull;
        } else if (error_.kind == ErrorKind::none) {
            error_ = locked.error().on(rank_);
        }
    }
    const bool can_work = plan_.method->aggregated() || error_.kind == ErrorKind::none;
    if (!plan_.participants.empty() && can_work) work_ = make_work();
    phase_ = Phase::working;
}

std::unique_ptr<Work> Run::State::make_work() {
    if (plan_.storage != StorageCalls::buffered) {
        collective_memory_ =
            context_.buffers.take(std::min(kStagingBytes, std::max<Bytes>(4096, access_.bytes())));
        if (collective_memory_.span().empty()) {
            error_ = Error::make(ErrorKind::no_memory, "no memory for the staging buffer");
            return nullptr;
        }
        return make_list_work(context_, plan_, access_, collective_memory_.span());
    }
    const Bytes wanted = plan_.slot_bytes * plan_.slots;
    if (!plan_.method->aggregated()) {
        collective_memory_ = context_.buffers.take(wanted);
        message_memory_ = context_.buffers.take(
            MessageBuffers::bytes_needed(plan_.message_bytes, plan_.messages_in_flight));
        if (collective_memory_.span().empty() || message_memory_.span().empty()) {
            error_ = Error::make(ErrorKind::no_memory,
                                 "no memory for the sieving buffer: lower ind_rd_buffer_size");
            return nullptr;
        }
    }
    return make_buffered_work(context_, plan_, access_,
                              {collective_memory_.span(), message_memory_.span()});
}

bool Run::State::work_done() {
    if (work_) {
        for (;;) {
            const auto moved = work_->step();
            if (!moved) return fail(moved.error());
            if (work_->done()) break;
            if (!*moved) return false;
        }
        if (error_.kind == ErrorKind::none) error_ = work_->noted();
        report_ = work_->report();
    }
    unlock();
    if (!collective_) {
        finish(error_, work_ ? work_->moved() : 0);
        return true;
    }
    key_ = key_of(error_, rank_);
    return start(context_.transport.reduce(std::span(&key_, 1), ReduceOp::max), Phase::agreeing);
}

bool Run::State::agreement_done() {
    bool failed = false;
    if (!waited(failed)) return failed;
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
    if (access_.direction == Direction::read || !plan_.method->aggregated()) {
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
    for (const Rank rank : plan_.aggregators)
        of_aggregators.push_back(reports_[static_cast<std::size_t>(rank)]);
    finish(error_, mine_.bytes > 0 ? stored_bytes(plan_, access_, mine_.hull, of_aggregators) : 0);
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
    return false;
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
bool Run::step() {
    return state_->step();
}
const Outcome& Run::outcome() const {
    return state_->outcome();
}

Outcome run_access(const RunContext& context, const Access& access, bool collective) {
    Run run(context, access, collective);
    while (!run.step()) {
        if (collective) context.transport.idle();
    }
    return run.outcome();
}

}  // namespace oratorio
