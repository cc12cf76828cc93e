#include <algorithm>
#include <cstring>
#include <vector>

#include "exchange/walk.hpp"
#include "plan/methods.hpp"
#include "run/work.hpp"
#include "type/coverage.hpp"

namespace oratorio {

namespace {

class BufferedWork final : public Work {
  public:
    BufferedWork(const RunContext& context, const Plan& plan, const Access& access,
                 WorkBuffers buffers);
    ~BufferedWork() override;

    Result<bool> step() override;
    bool done() const override;
    const Error& noted() const override { return noted_; }
    Bytes moved() const override;
    StoredReport report() const override { return report_; }
    bool differs() const override { return differs_ || exchange_->standing().differs; }
    Rest rest() const override;

  private:
    enum class Phase { idle, expecting, loading, exchanging, storing };
    struct Slot {
        Phase phase = Phase::idle;
        std::int64_t round = 0;
        Region region;
        std::span<std::byte> buffer;
        Extent touched;       ///< what of the region is read or written
        Bytes expected = -1;  ///< bytes that the participants said they would put there
        Extent locked;        ///< held against other writers while holes are kept
        int transfers = 0;    ///< outstanding
        Offset complete_until = 0;
    };

    void take_round(Slot& slot);
    [[nodiscard]] bool has_control(std::int64_t round) const;
    bool step_slot(std::size_t index);
    void look_at_contents(std::size_t index, const RoundContents& contents);
    void lock(Slot& slot);
    void start_transfers(std::size_t index, Direction direction);
    void start_transfers_from(std::size_t index, Direction direction, std::int64_t first);
    void open(Slot& slot);
    [[nodiscard]] bool is_as_planned(const Slot& slot, const RoundContents& held) const;
    void end_exchange(std::size_t index, const RoundContents& held);
    [[nodiscard]] bool is_next(const Slot& slot) const;
    void end_storing(Slot& slot);
    bool reap_transfers();
    void note(const Error& error, std::int64_t round);
    void release(Slot& slot);
    [[nodiscard]] bool wanted(const Region& region) const;
    void announce(std::span<std::byte> memory);

    RunContext context_;
    const Plan& plan_;
    const Access& access_;
    bool reading_;
    int index_;  ///< among the aggregators, -1: this rank only takes part
    std::unique_ptr<Transfer> transfer_;
    bool announced_ = false;
    std::unique_ptr<Exchange> exchange_;
    std::vector<Slot> slots_;
    std::int64_t next_round_ = 0;
    bool differs_ = false;
    Error noted_;
    StoredReport report_;
};

BufferedWork::BufferedWork(const RunContext& context, const Plan& plan, const Access& access,
                           WorkBuffers buffers)
    : context_(context),
      plan_(plan),
      access_(access),
      reading_(plan.direction == Direction::read),
      index_(plan.aggregator_index(context.transport.topology().rank)),
      exchange_(make_exchange({context.transport, plan, access, context.stats, context.sequence,
                               buffers.messages, buffers.node})) {
    if (index_ < 0) return;
    announce(buffers.collective);
    transfer_ = std::make_unique<Transfer>(*context.store, &context_.stats);
    slots_.resize(static_cast<std::size_t>(plan.slots));
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        slots_[i].buffer = buffers.collective.subspan(i * static_cast<std::size_t>(plan.slot_bytes),
                                                      static_cast<std::size_t>(plan.slot_bytes));
    }
}

BufferedWork::~BufferedWork() {
    transfer_.reset();  // waits for what is under way
    if (announced_) context_.store->announce({});
}

/// Pays from the second time on that direct requests fill or empty the memory.
void BufferedWork::announce(std::span<std::byte> memory) {
    announced_ = context_.store->limits().direct(plan_.direction).file > 0 &&
                 plan_.rounds >= 2 * plan_.slots;
    if (announced_) context_.store->announce(memory);
}

Bytes BufferedWork::moved() const {
    if (reading_) return exchange_->standing().received;
    if (plan_.method->aggregated() || noted_.kind == ErrorKind::none) return access_.bytes();
    return stored_bytes(plan_, access_, plan_.hull, std::span(&report_, 1));
}

bool BufferedWork::done() const {
    if (!exchange_->standing().finished) return false;
    if (index_ < 0) return true;
    return next_round_ >= plan_.rounds &&
           std::all_of(slots_.begin(), slots_.end(),
                       [](const Slot& slot) { return slot.phase == Phase::idle; });
}

/// Storage that works beside us rings no bell.
Rest BufferedWork::rest() const {
    return rest_on(transfer_ && transfer_->outstanding() > 0 ? nullptr : exchange_->bell());
}

Result<bool> BufferedWork::step() {
    bool moved = reap_transfers();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        while (step_slot(i)) moved = true;
    }
    const auto exchanged = exchange_->step();
    if (!exchanged) return exchanged.error();
    if (const Error failed = exchange_->standing().failed; failed.kind != ErrorKind::none)
        note(failed, -1);
    return moved || *exchanged;
}

bool BufferedWork::wanted(const Region& region) const {
    return std::any_of(plan_.hulls.begin(), plan_.hulls.end(),
                       [&](Extent hull) { return region.touches(hull); });
}

/// The ranks of a node find a round's control words by its number, so rounds under way must be less
/// than rounds_max apart; those between them may hold nothing and end at once.
bool BufferedWork::has_control(std::int64_t round) const {
    return std::all_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
        return slot.phase == Phase::idle || round - slot.round < NodeMemory::rounds_max;
    });
}

void BufferedWork::take_round(Slot& slot) {
    slot.round = next_round_++;
    slot.region = plan_.region(index_, slot.round);
    if (slot.region.empty() || !wanted(slot.region)) return;
    context_.stats.rounds += 1;
    const Region& region = slot.region;
    slot.touched = intersect({region.begin, region.extent(region.count - 1).end}, region.clip);
    slot.expected = -1;
    if (plan_.ask_contents) {
        slot.phase = Phase::expecting;
        exchange_->expect(slot.round);
    } else if (reading_) {
        slot.phase = Phase::loading;
    } else {
        lock(slot);
        if (plan_.covered) return open(slot);
        context_.stats.hole_reads += 1;
        slot.phase = Phase::loading;
    }
}

/// One step of one slot; true when it moved.
bool BufferedWork::step_slot(std::size_t index) {
    Slot& slot = slots_[index];
    switch (slot.phase) {
        case Phase::idle:
            if (index_ < 0 || next_round_ >= plan_.rounds || !has_control(next_round_))
                return false;
            take_round(slot);
            if (slot.phase == Phase::loading) start_transfers(index, Direction::read);
            return true;
        case Phase::expecting: {
            const auto contents = exchange_->contents(slot.round);
            if (!contents) return false;
            look_at_contents(index, *contents);
            return true;
        }
        case Phase::loading:
            if (slot.transfers > 0) return false;
            open(slot);
            return true;
        case Phase::exchanging: {
            RoundContents held;
            if (!is_next(slot) || !exchange_->close_if_served(slot.round, held)) return false;
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

/// Holes between the pieces must keep what the file has there: read the range first, unless the
/// pieces tile it.
void BufferedWork::look_at_contents(std::size_t index, const RoundContents& contents) {
    Slot& slot = slots_[index];
    slot.touched = contents.hull;
    slot.expected = contents.bytes;
    if (reading_) {
        slot.phase = Phase::loading;
        start_transfers(index, Direction::read);
        return;
    }
    lock(slot);
    std::uint64_t whole = 0;
    Bytes bytes = 0;
    for (std::int64_t i = 0; i < slot.region.count; ++i) {
        const Extent extent = intersect(slot.region.extent(i), contents.hull);
        if (extent.empty()) continue;
        whole += coverage(extent);
        bytes += extent.length();
    }
    if (contents.bytes == bytes && contents.coverage == whole) {
        open(slot);
        return;
    }
    context_.stats.hole_reads += 1;
    slot.phase = Phase::loading;
    start_transfers(index, Direction::read);
}

/// Data sieving by several ranks: each must keep its hands off a range while another writes back
/// what it read there, so all lock. Aggregators own their file domains and don't: a lock held while
/// waiting for messages could wait for itself in a circle.
void BufferedWork::lock(Slot& slot) {
    if (plan_.method->aggregated() || slot.touched.empty()) return;
    const auto locked = context_.store->lock(slot.touched, true, true);
    if (locked) {
        slot.locked = slot.touched;
    } else {
        note(locked.error(), slot.round);
    }
}

void BufferedWork::start_transfers(std::size_t index, Direction direction) {
    Slot& slot = slots_[index];
    slot.complete_until = slot.touched.end;
    start_transfers_from(index, direction, 0);
}

/// Writes one extent after the other: what is stored of a region then ends at one place, wherever
/// it fails.
void BufferedWork::start_transfers_from(std::size_t index, Direction direction,
                                        std::int64_t first) {
    Slot& slot = slots_[index];
    const bool writing = direction == Direction::write;
    for (std::int64_t i = first; i < slot.region.count && !(writing && slot.transfers > 0); ++i) {
        const Extent extent = intersect(slot.region.extent(i), slot.touched);
        if (extent.empty()) continue;
        const auto at = static_cast<std::size_t>(slot.region.buffer_position(i, extent.begin));
        const auto token = static_cast<std::uint64_t>(index) << 32 | static_cast<std::uint64_t>(i);
        transfer_->start(direction, extent.begin,
                         slot.buffer.subspan(at, static_cast<std::size_t>(extent.length())), token);
        ++slot.transfers;
    }
}

bool BufferedWork::reap_transfers() {
    if (!transfer_ || transfer_->outstanding() == 0) return false;
    bool moved = false;
    Transferred done;
    const bool alone = !plan_.method->aggregated();  // nobody else could be kept waiting
    while (transfer_->outstanding() > 0 && transfer_->poll(done, alone)) {
        Slot& slot = slots_[done.token >> 32];
        const auto number = static_cast<std::int64_t>(done.token & 0xffffffff);
        const Extent extent = intersect(slot.region.extent(number), slot.touched);
        const bool storing = slot.phase == Phase::storing;
        (storing ? context_.stats.bytes_stored : context_.stats.bytes_loaded) +=
            static_cast<std::uint64_t>(done.bytes);
        if (done.bytes < extent.length()) {
            slot.complete_until = std::min(slot.complete_until, extent.begin + done.bytes);
            if (!reading_ && !storing) {  // past the end of the file a hole is zeros, not what the
                                          // buffer held before
                const auto at =
                    static_cast<std::size_t>(slot.region.buffer_position(number, extent.begin));
                std::memset(slot.buffer.data() + at + done.bytes, 0,
                            static_cast<std::size_t>(extent.length() - done.bytes));
            }
        }
        if (done.error.kind != ErrorKind::none) note(done.error, slot.round);
        --slot.transfers;
        moved = true;
        if (storing && done.bytes == extent.length())
            start_transfers_from(done.token >> 32, Direction::write, number + 1);
    }
    return moved;
}

/// No earlier round is still to be stored: rounds are stored in order, which keeps the report of a
/// failure short and exact.
bool BufferedWork::is_next(const Slot& slot) const {
    return std::none_of(slots_.begin(), slots_.end(), [&](const Slot& other) {
        return other.phase != Phase::idle && other.phase != Phase::storing &&
               other.round < slot.round;
    });
}

void BufferedWork::open(Slot& slot) {
    slot.phase = Phase::exchanging;
    exchange_->open(slot.round, slot.buffer, slot.complete_until);
}

/// What a round should hold where that was known before; anything else would store bytes of nobody.
bool BufferedWork::is_as_planned(const Slot& slot, const RoundContents& held) const {
    if (slot.expected >= 0) return held.bytes == slot.expected;
    if (!plan_.covered) return true;
    Bytes whole = 0;
    for (std::int64_t i = 0; i < slot.region.count; ++i)
        whole += intersect(slot.region.extent(i), slot.touched).length();
    return held.bytes == whole;
}

void BufferedWork::end_exchange(std::size_t index, const RoundContents& held) {
    Slot& slot = slots_[index];
    if (!reading_ && noted_.kind == ErrorKind::none && !is_as_planned(slot, held)) differs_ = true;
    if (!reading_ && !plan_.covered && slot.expected < 0)
        slot.touched = intersect(slot.touched, held.hull);
    if (reading_ || slot.touched.empty() || differs_) {
        release(slot);
    } else if (noted_.kind !=
               ErrorKind::none) {  // after a failure data is only taken from the others
        report_.first_not_begun = std::min(report_.first_not_begun, slot.round);
        release(slot);
    } else {
        slot.phase = Phase::storing;
        start_transfers(index, Direction::write);
    }
}

void BufferedWork::end_storing(Slot& slot) {
    if (slot.complete_until < slot.touched.end && report_.shorts < StoredReport::shorts_max) {
        report_.short_rounds[report_.shorts++] = {slot.round, slot.complete_until};
    }
    release(slot);
}

void BufferedWork::release(Slot& slot) {
    if (!slot.locked.empty()) {
        const auto unlocked = context_.store->lock(slot.locked, false, true);
        if (!unlocked) note(unlocked.error(), slot.round);
        slot.locked = {};
    }
    slot.phase = Phase::idle;
}

void BufferedWork::note(const Error& error, std::int64_t round) {
    if (noted_.kind == ErrorKind::none)
        noted_ = error.in_round(round).on(context_.transport.topology().rank);
}

}  // namespace

std::unique_ptr<Work> make_buffered_work(const RunContext& context, const Plan& plan,
                                         const Access& access, WorkBuffers buffers) {
    return std::make_unique<BufferedWork>(context, plan, access, buffers);
}

}  // namespace oratorio
