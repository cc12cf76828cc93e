// SPDX-License-Identifier: BSD-3-Clause
// The two-phase engine: moves an access in rounds through collective buffers (collective
// buffering). Data sieving is the same engine with a single participant.
//
// An aggregator has one or more slots. A slot takes a round from the RoundQueue and goes
// through these phases. Run::step() steps the work, step() advances all slots and the exchange, and
// step_slot() advances one slot:
//
//   write:  idle -> exchanging -> storing -> idle
//   read:   idle -> [expecting] -> awaiting -> loading -> exchanging -> idle
//
//   phase       ends when
//   idle        the queue has a round that may begin (take_round)
//   expecting   all participants have reported what they want (Exchange::contents; asks_contents)
//   awaiting    all ranks with data in the round have entered the access (EntryTracker::all_of),
//               and, with read-ahead, all earlier rounds are loaded
//   loading     the slot's storage calls have completed (reap_transfers); read-ahead limits how
//               many begin at a time (may_load)
//   exchanging  all participants have filled or emptied the buffer (Exchange::close_if_served),
//               every earlier round has left this phase, and, if the plan keeps holes, all ranks
//               have entered (EntryTracker::everybody)
//   storing     the slot's storage calls have completed
//
// If any rank may load, a slot is idle again once its round is open. A rank without slots only
// steps the exchange. docs/internals/state-machines.md draws the machines around this one.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "engine/entry_tracker.hpp"
#include "engine/read_ahead.hpp"
#include "engine/region_writer.hpp"
#include "engine/round_queue.hpp"
#include "exchange/exchange.hpp"
#include "exchange/node_shared/waking.hpp"
#include "plan/methods.hpp"
#include "stats/recorder.hpp"

namespace oratorio {

namespace {

/// The trace activity of each phase but idle; idle's entry is unused.
constexpr Activity kSlotActivities[] = {Activity::expecting,  Activity::expecting,
                                        Activity::awaiting,   Activity::loading,
                                        Activity::exchanging, Activity::storing};

class TwoPhaseWork final : public Work {
  public:
    TwoPhaseWork(const WorkContext& context, const Plan& plan, const Access& access,
                 WorkBuffers buffers, std::unique_ptr<Store> own_store);
    ~TwoPhaseWork() override;

    Result<Step> step() override;
    bool done() const override;
    const Error& noted() const override { return noted_; }
    Bytes moved() const override;
    StoredReport report() const override { return report_; }
    bool differs() const override { return differs_ || exchange_->progress().differs; }
    WaitHint waits_for() const override;

  private:
    enum class Phase { idle, expecting, awaiting, loading, exchanging, storing };
    struct Slot {
        Phase phase = Phase::idle;
        Round round;
        RoundBuffer buffer;
        Extent touched;                        ///< the part of the region that is read or written
        int transfers = 0;                     ///< outstanding storage transfers and jobs
        std::int64_t loads_begun = 0;          ///< extents of the region whose loading has begun
        std::unique_ptr<RegionWriter> writer;  ///< set if the plan has holes to keep
        Offset complete_until = 0;
        Track track;  ///< trace of the phases
    };

    [[nodiscard]] bool is_idle() const;
    void enter(Slot& slot, Phase phase);
    bool take_round(std::size_t index);
    [[nodiscard]] std::int64_t oldest() const;
    bool step_slots();
    bool step_slot(std::size_t index);
    void start_transfers(std::size_t index, Direction direction);
    void start_transfers_from(std::size_t index, Direction direction, std::int64_t first);
    [[nodiscard]] bool may_load(const Slot& slot, std::int64_t i);
    [[nodiscard]] bool loads_next(const Slot& slot) const;
    void open(Slot& slot);
    [[nodiscard]] bool is_as_planned(const Slot& slot, Bytes held) const;
    void end_exchange(std::size_t index, Bytes held);
    void store(std::size_t index);
    void store_written(std::size_t index);
    void end_job(std::size_t index);
    void store_sharing(std::size_t index);
    [[nodiscard]] bool is_next(const Slot& slot) const;
    void end_storing(Slot& slot);
    void add_to_series(const Slot& slot);
    [[nodiscard]] bool ends_series() const;
    void end_series();
    bool reap_transfers(bool wait);
    void note(const Error& error, std::int64_t round);
    void register_buffers(std::span<std::byte> memory);
    void begin_ahead();

    std::unique_ptr<Store> own_store_;  ///< context_.store refers to this store if it isn't null
    WorkContext context_;
    const Plan& plan_;
    const Access& access_;
    bool reading_;
    /// A step may wait for the storage, because no rank waits for this one, or because the store
    /// completes calls at once.
    bool waits_;
    EntryTracker entries_;
    std::unique_ptr<RoundQueue> queue_;
    std::unique_ptr<Transfer> transfer_;
    bool announced_ = false;
    std::unique_ptr<ReadAhead> ahead_;  ///< null: no read-ahead
    std::int64_t allowed_ = 0;          ///< position up to which read-ahead allows loads
    std::unique_ptr<Exchange> exchange_;
    std::vector<Slot> slots_;
    std::optional<ActiveScope> active_;  ///< set if any rank may load a round
    WaitHint rest_;                      ///< what to wait for, as of the last step
    bool differs_ = false;
    Error noted_;
    StoredReport report_;
    std::optional<WriteSeries> series_;  ///< the writes of the rounds that are not flushed yet
    std::int64_t series_begin_ = 0;      ///< number of the first of these rounds
    Bytes series_bytes_ = 0;             ///< bytes of those that are completely written
};

TwoPhaseWork::TwoPhaseWork(const WorkContext& context, const Plan& plan, const Access& access,
                           WorkBuffers buffers, std::unique_ptr<Store> own_store)
    : own_store_(std::move(own_store)),
      context_{context.file, own_store_ != nullptr ? *own_store_ : context.store, context.config,
               context.number, context.all_entered},
      plan_(plan),
      access_(access),
      reading_(plan.direction == Direction::read),
      waits_(!plan.method->aggregated() || plan.any_rank_loads()),
      entries_(context_, plan),
      queue_(plan.any_rank_loads() ? make_free_rounds(context_, plan, entries_)
                                   : make_own_rounds(plan, context.file.transport.topology().rank,
                                                     buffers.collective)),
      exchange_(make_exchange({context.file.transport, plan, access, context.file.stats,
                               context.number, buffers.messages, buffers.group, buffers.node})) {
    if (plan.any_rank_loads())
        active_.emplace(context.file.node, context.file.transport.topology());
    slots_.resize(queue_->slots());
    for (std::size_t i = 0; i < slots_.size(); ++i)
        slots_[i].track = Track(context_.file.stats, static_cast<int>(i) + 1);
    if (slots_.empty()) return;
    if (!queue_->hands_over()) register_buffers(buffers.collective);
    transfer_ =
        std::make_unique<Transfer>(context_.store, &context_.file.stats, Flush::end_of_series);
    begin_ahead();
    if (!plan.keeps_holes()) return;
    for (Slot& slot : slots_)
        slot.writer = std::make_unique<RegionWriter>(context_, plan_, buffers.scratch);
}

TwoPhaseWork::~TwoPhaseWork() {
    transfer_.reset();  // waits for outstanding transfers
    if (announced_) context_.store.register_buffers({});
}

/// Registers the collective buffer with the store, if direct requests use the same memory at least
/// twice: otherwise registering costs more than it saves.
void TwoPhaseWork::register_buffers(std::span<std::byte> memory) {
    announced_ =
        context_.store.limits().direct(plan_.direction).file > 0 && plan_.rounds >= 2 * plan_.slots;
    if (announced_) context_.store.register_buffers(memory);
}

/// Creates the read-ahead of this aggregator's rounds, if the plan requests it and the store
/// doesn't use direct requests. If announced ranges must not cross block boundaries of the file
/// system (Prefetch::block), each of its blocks must consist of whole blocks of the plan.
void TwoPhaseWork::begin_ahead() {
    const auto* const two_phase = std::get_if<TwoPhase>(&plan_.route);
    Prefetch* const prefetch = context_.store.prefetch();
    if (two_phase == nullptr || two_phase->ahead.ranges == 0 || prefetch == nullptr ||
        context_.store.limits().direct(plan_.direction).file > 0)
        return;
    const bool fits = prefetch->block() == 0 || (plan_.domains.aggregators() > 1 &&
                                                 prefetch->block() % plan_.domains.block() == 0);
    if (!fits) return;
    const int index = plan_.aggregator_index(context_.file.transport.topology().rank);
    ahead_ = std::make_unique<ReadAhead>(*prefetch, plan_.direction, two_phase->ahead.ranges,
                                         std::make_unique<RoundRanges>(plan_, index),
                                         context_.file.stats);
}

Bytes TwoPhaseWork::moved() const {
    if (reading_) return exchange_->progress().received;
    if (plan_.method->aggregated() || noted_.kind == ErrorKind::none) return access_.bytes();
    return stored_bytes(plan_, access_, plan_.hull, std::span(&report_, 1));
}

bool TwoPhaseWork::done() const {
    if (!exchange_->progress().finished || !entries_.settled() || series_) return false;
    return queue_->done() && is_idle();
}

/// Returns true if no slot has a round.
bool TwoPhaseWork::is_idle() const {
    return std::ranges::all_of(slots_, [](const Slot& slot) { return slot.phase == Phase::idle; });
}

/// Returns a hint without a doorbell while storage calls are outstanding, because their completion
/// rings none.
WaitHint TwoPhaseWork::waits_for() const {
    return transfer_ && transfer_->outstanding() > 0 ? WaitHint{} : rest_;
}

Result<Step> TwoPhaseWork::step() {
    rest_ = wait_hint_for(exchange_->doorbell());
    if (active_) active_->begin();
    if (const auto arrived = entries_.step(); !arrived) return arrived.error();
    const bool later = queue_->hands_over();  // copy this rank's own data first
    bool moved = !later && step_slots();
    const auto exchanged = exchange_->step();
    if (!exchanged) return exchanged.error();
    if (const Error failed = exchange_->progress().failed; failed.kind != ErrorKind::none)
        note(failed, -1);
    moved = moved || *exchanged == Step::progressed || (later && step_slots());
    if (active_ && (!moved || done())) active_->end();
    return progressed_if(moved);
}

bool TwoPhaseWork::step_slots() {
    bool moved = reap_transfers(waits_);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        while (step_slot(i)) {
            moved = true;
            if (queue_->hands_over() && slots_[i].phase == Phase::idle) break;
        }
    }
    if (!ends_series()) return moved;
    end_series();
    return true;
}

std::int64_t TwoPhaseWork::oldest() const {
    std::int64_t oldest = INT64_MAX;
    for (const Slot& slot : slots_) {
        if (slot.phase != Phase::idle) oldest = std::min(oldest, slot.round.number);
    }
    return oldest;
}

void TwoPhaseWork::enter(Slot& slot, Phase phase) {
    slot.phase = phase;
    if (phase == Phase::idle) return slot.track.leave();
    static_assert(std::size(kSlotActivities) == static_cast<std::size_t>(Phase::storing) + 1);
    slot.track.enter(kSlotActivities[static_cast<std::size_t>(phase)], slot.round.number);
}

bool TwoPhaseWork::take_round(std::size_t index) {
    const auto round = queue_->take(oldest());
    if (!round) return false;
    Slot& slot = slots_[index];
    slot.round = *round;
    slot.buffer = queue_->buffer(*round, index);
    context_.file.stats.rounds += 1;
    const Region& region = round->region;
    slot.touched = intersect({region.begin, region.extent(region.count - 1).end}, region.clip);
    if (!reading_) {
        open(slot);
        return true;
    }
    enter(slot, plan_.asks_contents() ? Phase::expecting : Phase::awaiting);
    if (plan_.asks_contents()) exchange_->expect(round->number);
    return true;
}

/// Advances one slot by one step; returns true if it moved.
bool TwoPhaseWork::step_slot(std::size_t index) {
    Slot& slot = slots_[index];
    switch (slot.phase) {
        case Phase::idle:
            return take_round(index);
        case Phase::expecting: {
            const auto contents = exchange_->contents(slot.round.number);
            if (!contents) return false;
            slot.touched = contents->hull;
            enter(slot, Phase::awaiting);
            return true;
        }
        case Phase::awaiting:
            if (!loads_next(slot) || !entries_.all_of(slot.round.aggregator, slot.round.number))
                return false;
            enter(slot, Phase::loading);
            start_transfers(index, Direction::read);
            return true;
        case Phase::loading:
            if (waits_) reap_transfers(true);
            if (slot.transfers > 0) return false;
            if (slot.loads_begun < slot.round.region.count) {
                start_transfers_from(index, Direction::read, slot.loads_begun);
                return true;
            }
            open(slot);
            return true;
        case Phase::exchanging: {
            Bytes held = 0;
            if (!is_next(slot) || (slot.writer && !entries_.everybody()) ||
                !exchange_->close_if_served(slot.round.number, held))
                return false;
            end_exchange(index, held);
            return true;
        }
        case Phase::storing:
            if (slot.transfers > 0) return false;
            end_storing(slot);
            return true;
    }
    return false;
}

void TwoPhaseWork::start_transfers(std::size_t index, Direction direction) {
    Slot& slot = slots_[index];
    slot.complete_until = slot.touched.end;
    start_transfers_from(index, direction, 0);
}

/// Starts the transfers of a round. Writes go one extent at a time, so that after a failure the
/// stored part of a region ends at one offset.
void TwoPhaseWork::start_transfers_from(std::size_t index, Direction direction,
                                        std::int64_t first) {
    Slot& slot = slots_[index];
    const bool writing = direction == Direction::write;
    std::int64_t i = first;
    for (; i < slot.round.region.count && !(writing && slot.transfers > 0); ++i) {
        const Extent extent = intersect(slot.round.region.extent(i), slot.touched);
        if (extent.empty()) continue;
        if (!writing && !may_load(slot, i)) break;
        const auto at =
            static_cast<std::size_t>(slot.round.region.buffer_position(i, extent.begin));
        const auto token = static_cast<std::uint64_t>(index) << 32 | static_cast<std::uint64_t>(i);
        transfer_->start(direction, extent.begin,
                         slot.buffer.data.subspan(at, static_cast<std::size_t>(extent.length())),
                         token);
        ++slot.transfers;
    }
    slot.loads_begun = i;
}

/// Returns true if extent i of the slot's round may be loaded now. With read-ahead, announces
/// further ranges once all ranges allowed so far are loaded.
bool TwoPhaseWork::may_load(const Slot& slot, std::int64_t i) {
    const std::int64_t position = RoundRanges::position(plan_, slot.round.number, i);
    while (ahead_ && position > allowed_) {
        if (transfer_->outstanding() > 0) return false;
        const std::int64_t next = ahead_->move_on();
        allowed_ = next > allowed_ ? next : INT64_MAX;  // past the last range, all is allowed
    }
    return true;
}

/// Returns true if the slot's round may be loaded now. With read-ahead, rounds are loaded in order.
bool TwoPhaseWork::loads_next(const Slot& slot) const {
    return !ahead_ || std::ranges::none_of(slots_, [&](const Slot& other) {
        const bool before = other.phase == Phase::expecting || other.phase == Phase::awaiting ||
                            other.phase == Phase::loading;
        return before && other.round.number < slot.round.number;
    });
}

bool TwoPhaseWork::reap_transfers(bool wait) {
    if (!transfer_ || transfer_->outstanding() == 0) return false;
    bool moved = false;
    Transferred done;
    while (transfer_->outstanding() > 0 && transfer_->poll(done, wait)) {
        Slot& slot = slots_[done.token >> 32];
        moved = true;
        if (slot.writer) {
            end_job(done.token >> 32);
            continue;
        }
        const auto number = static_cast<std::int64_t>(done.token & 0xffffffff);
        const Extent extent = intersect(slot.round.region.extent(number), slot.touched);
        const bool storing = slot.phase == Phase::storing;
        (storing ? context_.file.stats.bytes_stored : context_.file.stats.bytes_loaded) +=
            static_cast<std::uint64_t>(done.bytes);
        if (done.bytes < extent.length())
            slot.complete_until = std::min(slot.complete_until, extent.begin + done.bytes);
        if (done.error.kind != ErrorKind::none) note(done.error, slot.round.number);
        --slot.transfers;
        if (storing && done.bytes == extent.length())
            start_transfers_from(done.token >> 32, Direction::write, number + 1);
    }
    return moved;
}

/// Returns true if all earlier rounds were exchanged. Rounds begin storing in order, which keeps
/// the report of a failure short and exact.
bool TwoPhaseWork::is_next(const Slot& slot) const {
    return std::none_of(slots_.begin(), slots_.end(), [&](const Slot& other) {
        return other.phase != Phase::idle && other.phase != Phase::storing &&
               other.round.number < slot.round.number;
    });
}

void TwoPhaseWork::open(Slot& slot) {
    enter(slot, queue_->hands_over() ? Phase::idle : Phase::exchanging);
    if (slot.writer) {
        const Bytes bytes = slot.round.region.count * slot.round.region.length;
        std::memset(slot.buffer.mask.data(), 0, static_cast<std::size_t>(bytes));
    }
    exchange_->open(slot.round.aggregator, slot.round.number, slot.buffer, slot.complete_until);
}

/// Returns false if the round of a write without holes isn't full. Storing it would write bytes
/// that no rank supplied.
bool TwoPhaseWork::is_as_planned(const Slot& slot, Bytes held) const {
    return reading_ || !plan_.covered || held == slot.round.region.bytes();
}

void TwoPhaseWork::end_exchange(std::size_t index, Bytes held) {
    Slot& slot = slots_[index];
    if (noted_.kind == ErrorKind::none && !is_as_planned(slot, held)) differs_ = true;
    if (reading_) return enter(slot, Phase::idle);
    if (differs_ || noted_.kind != ErrorKind::none) {  // after a failure, data is only received
        report_.first_not_begun = std::min(report_.first_not_begun, slot.round.number);
        return enter(slot, Phase::idle);
    }
    enter(slot, Phase::storing);
    store(index);
}

void TwoPhaseWork::store(std::size_t index) {
    add_to_series(slots_[index]);
    const bool shares = !plan_.atomic && context_.file.lock_policy.shares(plan_.collective);
    if (slots_[index].writer) {
        store_written(index);
    } else if (shares) {
        store_sharing(index);
    } else {
        start_transfers(index, Direction::write);
    }
}

/// Starts the job that stores the round's written bytes. The I/O thread performs it while other
/// slots exchange; if there is no I/O thread, this thread performs it at once.
void TwoPhaseWork::store_written(std::size_t index) {
    Slot& slot = slots_[index];
    const bool on_this_thread = !context_.store.limits().performs_jobs;
    slot.writer->prepare(slot.round.region, slot.buffer, on_this_thread);
    slot.transfers = 1;
    transfer_->start(*slot.writer, static_cast<std::uint64_t>(index) << 32);
    if (on_this_thread) reap_transfers(true);
}

void TwoPhaseWork::end_job(std::size_t index) {
    Slot& slot = slots_[index];
    const auto stored = slot.writer->take_outcome();
    slot.complete_until = std::min(stored.until, slot.touched.end);
    if (stored.error.kind != ErrorKind::none) note(stored.error, slot.round.number);
    slot.transfers = 0;
}

/// Stores the round under a shared lock, which is released before this rank does anything else.
void TwoPhaseWork::store_sharing(std::size_t index) {
    Slot& slot = slots_[index];
    auto held = context_.file.lock_policy.share(context_.store, slot.touched, plan_.collective);
    if (!held) {
        slot.complete_until = slot.touched.begin;
        return note(held.error(), slot.round.number);
    }
    start_transfers(index, Direction::write);
    while (slot.transfers > 0) reap_transfers(true);
    if (series_ && context_.store.limits().flush_before_unlock) end_series();
    if (const auto unlocked = held->give_back(); !unlocked)
        note(unlocked.error(), slot.round.number);
}

void TwoPhaseWork::end_storing(Slot& slot) {
    // From first_not_begun on, no round counts as stored, not even in part.
    const bool is_short =
        slot.complete_until < slot.touched.end && slot.round.number < report_.first_not_begun;
    if (is_short && report_.shorts < StoredReport::shorts_max) {
        report_.short_rounds[report_.shorts++] = {slot.round.number, slot.complete_until};
    }
    series_bytes_ += slot.touched.length();
    enter(slot, Phase::idle);
}

/// Adds the slot's round to the series of writes, which begins now if there is none. If an I/O
/// thread stores the rounds, there is no series: that thread flushes each round.
void TwoPhaseWork::add_to_series(const Slot& slot) {
    if (context_.store.limits().performs_jobs) return;
    if (!series_) {
        series_.emplace(context_.store);
        series_begin_ = slot.round.number;
        series_bytes_ = 0;
    }
    series_begin_ = std::min(series_begin_, slot.round.number);
}

/// Returns true if the series of writes should end, because it is long or no round follows.
bool TwoPhaseWork::ends_series() const {
    return series_ && (series_bytes_ >= WriteSeries::kBytesMost || (queue_->done() && is_idle()));
}

/// Flushes the stored rounds. If that fails, none of the series' rounds counts as stored.
void TwoPhaseWork::end_series() {
    const Timing timing(&context_.file.stats, &Stats::storage_time);
    const auto flushed = series_->end();
    series_.reset();
    if (!flushed) {
        report_.first_not_begun = std::min(report_.first_not_begun, series_begin_);
        report_.shorts = 0;
        note(flushed.error().at(plan_.hull.begin, plan_.hull.length()), series_begin_);
    }
    // The rest of each round that is partly written needs a flush, too.
    for (const Slot& slot : slots_) {
        if (slot.phase == Phase::storing && slot.transfers > 0) add_to_series(slot);
    }
}

void TwoPhaseWork::note(const Error& error, std::int64_t round) {
    if (noted_.kind == ErrorKind::none)
        noted_ = error.in_round(round).on(context_.file.transport.topology().rank);
}

}  // namespace

std::unique_ptr<Work> make_two_phase_work(const WorkContext& context, const Plan& plan,
                                          const Access& access, WorkBuffers buffers,
                                          std::unique_ptr<Store> own_store) {
    return std::make_unique<TwoPhaseWork>(context, plan, access, buffers, std::move(own_store));
}

}  // namespace oratorio
