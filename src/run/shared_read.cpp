// Collective reads through collective buffers that a node shares, where no rank waits for a
// particular other one: whoever finds a sub-buffer free fills it, each rank copies its own data out
// of it, and it is free again when all have (Hastings & Choudhary 2006, "collective shared buffer",
// whose aggregators each fill their own). With more ranks than cores the ranks that happen to run
// then keep the cores busy; an aggregator that sleeps keeps nobody waiting.
#include <algorithm>
#include <optional>
#include <vector>

#include "exchange/node_rounds.hpp"
#include "exchange/region_copy.hpp"
#include "plan/methods.hpp"
#include "run/arrival.hpp"
#include "run/work.hpp"

namespace oratorio {

namespace {

class SharedRead final : public Work {
  public:
    SharedRead(const RunContext& context, const Plan& plan, const Access& access);
    ~SharedRead() override;

    Result<bool> step() override;
    bool done() const override;
    const Error& noted() const override { return noted_; }
    Bytes moved() const override { return received_; }
    bool differs() const override { return differs_; }
    Rest rest() const override { return rest_on(&context_.node->bell(rank_)); }
    bool relieved() const override { return relieved_; }

  private:
    /// A sub-buffer of an aggregator's domain. Holds every plan.slots-th of its rounds.
    struct Column {
        int aggregator = 0;
        int slot = 0;
        std::int64_t next = 0;  ///< round that this rank copies from next
    };
    [[nodiscard]] std::uint64_t key(std::int64_t round) const {
        return round_key(context_.sequence, round);
    }
    [[nodiscard]] SlotControl& control(const Column& column) const {
        return context_.node->slot(column.aggregator, column.slot);
    }
    /// The first round of the column from `round` on with data of this rank; or one behind all.
    [[nodiscard]] std::int64_t next_mine(const Column& column, std::int64_t round) const {
        return plan_.next_touching(mine_, column.aggregator, round, plan_.slots);
    }
    [[nodiscard]] std::optional<std::int64_t> next_to_fill(const Column& column,
                                                           std::uint64_t claimed) const;
    [[nodiscard]] bool served(const Column& column) const;
    void begin_shift();
    void end_shift();
    void call_others();
    bool copy(Column& column);
    bool fill(Column& column);
    Offset load(const Region& region, std::span<std::byte> buffer, std::int64_t round);
    void open(const Column& column, const Region& region, Bytes buffer, Offset valid_until,
              std::int64_t round);

    RunContext context_;
    const Plan& plan_;
    Rank rank_;
    int index_;  ///< among the aggregators
    Extent mine_;
    Arrival arrival_;
    std::unique_ptr<RegionCopy> copy_;
    std::unique_ptr<Transfer> transfer_;  ///< null: this rank can't fill
    std::vector<Column> columns_;         ///< in the order that this rank looks at them
    Bytes received_ = 0;
    bool differs_ = false;
    Error noted_;
    bool on_shift_ = false;
    bool relieved_ = false;
};

SharedRead::SharedRead(const RunContext& context, const Plan& plan, const Access& access)
    : context_(context),
      plan_(plan),
      rank_(context.transport.topology().rank),
      index_(plan.aggregator_index(rank_)),
      mine_(plan.graph.hull_of(rank_)),
      arrival_(context, plan),
      copy_(make_region_copy(plan, access, context.stats)) {
    if (context_.store != nullptr)
        transfer_ = std::make_unique<Transfer>(*context_.store, &context_.stats);
    const auto aggregators = static_cast<int>(plan.aggregators.size());
    const int first = index_ >= 0 ? index_ : rank_;
    // All of one's own domain first: where ranks' data lies apart nobody need touch another's.
    for (int turn = 0; turn < aggregators; ++turn) {
        for (int slot = 0; slot < plan.slots; ++slot) {
            Column column{(first + turn) % aggregators, slot, 0};
            column.next = next_mine(column, slot);
            columns_.push_back(column);
        }
    }
}

SharedRead::~SharedRead() {
    end_shift();
}

/// The round to be loaded when the column's control says that `claimed` was the last one, one
/// behind all rounds when there is none left; nothing while the sub-buffer is in use.
std::optional<std::int64_t> SharedRead::next_to_fill(const Column& column,
                                                     std::uint64_t claimed) const {
    std::int64_t round = column.slot;
    if (claimed >> 32 == key(0) >> 32) {
        const SlotControl& slot = control(column);
        if (slot.round != claimed || slot.to_come > 0) return std::nullopt;
        round = static_cast<std::int64_t>(claimed & 0xffffffff) - 1 + plan_.slots;
    }
    while (round < plan_.rounds && !plan_.graph.is_touched(plan_.region(column.aggregator, round)))
        round += plan_.slots;
    return round;
}

/// Everybody has what is in the column's rounds.
bool SharedRead::served(const Column& column) const {
    const auto next = next_to_fill(column, control(column).claimed);
    return next && *next >= plan_.rounds;
}

Result<bool> SharedRead::step() {
    begin_shift();
    bool moved = false;
    for (Column& column : columns_) {
        while (copy(column)) moved = true;
    }
    if (!moved && transfer_) {
        moved = std::any_of(columns_.begin(), columns_.end(),
                            [&](Column& column) { return fill(column); });
    }
    if (!moved || done()) end_shift();
    return moved;
}

void SharedRead::begin_shift() {
    if (!on_shift_) ++context_.node->shift().awake;
    on_shift_ = true;
}

/// Counts itself out before it looks at the others; who rings them looks at the count afterwards.
/// So either sees what the other did, and nobody sleeps on with work and a core to be had.
void SharedRead::end_shift() {
    if (!on_shift_) return;
    on_shift_ = false;
    --context_.node->shift().awake;
    call_others();
}

/// Wakes as many who slept through a ring as there are cores for. The others are called by those,
/// when they have nothing left to do.
void SharedRead::call_others() {
    const Topology& topology = context_.transport.topology();
    int room = topology.cores - context_.node->shift().awake;
    for (int i = 1; i < topology.size && room > 0; ++i) {
        if (call(context_.node->bell((rank_ + i) % topology.size))) --room;
    }
    relieved_ = room <= 0;
}

bool SharedRead::done() const {
    return std::all_of(columns_.begin(), columns_.end(), [&](const Column& column) {
        return column.next >= plan_.rounds && (column.aggregator != index_ || served(column));
    });
}

bool SharedRead::copy(Column& column) {
    SlotControl& slot = control(column);
    if (column.next >= plan_.rounds || slot.round != key(column.next)) return false;
    const Region region = plan_.region(column.aggregator, column.next);
    if (slot.begin == region.begin) {
        std::byte* const buffer = context_.node->buffers().data() + slot.buffer;
        received_ += copy_->copy(region, buffer, nullptr, slot.valid_until);
    } else {
        differs_ = true;
    }
    column.next = next_mine(column, column.next + plan_.slots);
    const Rank owner = plan_.aggregators[static_cast<std::size_t>(column.aggregator)];
    if (slot.to_come.fetch_sub(1) == 1 && owner != rank_) {
        ring_softly(context_.node->bell(owner));
        call_others();
    }
    return true;
}

bool SharedRead::fill(Column& column) {
    SlotControl& slot = control(column);
    std::uint64_t claimed = slot.claimed;
    const auto next = next_to_fill(column, claimed);
    if (!next || *next >= plan_.rounds ||
        !arrival_.all_of(plan_.region(column.aggregator, *next)) ||
        !slot.claimed.compare_exchange_strong(claimed, key(*next)))
        return false;
    const std::int64_t round = *next;
    context_.stats.rounds += 1;
    const Region region = plan_.region(column.aggregator, round);
    const Bytes at = (column.aggregator * plan_.slots + column.slot) * plan_.slot_bytes;
    const auto buffer = context_.node->buffers().subspan(
        static_cast<std::size_t>(at), static_cast<std::size_t>(plan_.slot_bytes));
    open(column, region, at, load(region, buffer, round), round);
    return true;
}

/// Returns where what is there of the region ends.
Offset SharedRead::load(const Region& region, std::span<std::byte> buffer, std::int64_t round) {
    Offset valid_until = region.extent(region.count - 1).end;
    for (std::int64_t i = 0; i < region.count; ++i) {
        const Extent extent = region.extent(i);
        if (extent.empty()) continue;
        transfer_->start(
            Direction::read, extent.begin,
            buffer.subspan(static_cast<std::size_t>(region.buffer_position(i, extent.begin)),
                           static_cast<std::size_t>(extent.length())),
            static_cast<std::uint64_t>(i));
    }
    Transferred done;
    while (transfer_->outstanding() > 0) {
        if (!transfer_->poll(done, true)) continue;
        context_.stats.bytes_loaded += static_cast<std::uint64_t>(done.bytes);
        const Extent extent = region.extent(static_cast<std::int64_t>(done.token));
        if (done.bytes < extent.length())
            valid_until = std::min(valid_until, extent.begin + done.bytes);
        if (done.error.kind != ErrorKind::none && noted_.kind == ErrorKind::none)
            noted_ = done.error.in_round(round).on(rank_);
    }
    return valid_until;
}

void SharedRead::open(const Column& column, const Region& region, Bytes buffer, Offset valid_until,
                      std::int64_t round) {
    SlotControl& slot = control(column);
    slot.begin = region.begin;
    slot.buffer = buffer;
    slot.valid_until = valid_until;
    slot.to_come = plan_.graph.count_touching(region);
    slot.round = key(round);
    plan_.graph.each_touching(region, [&](std::size_t i) {
        const Rank rank = plan_.graph.participant(i).rank;
        if (rank != rank_) ring_softly(context_.node->bell(rank));
        return true;
    });
    call_others();
}

}  // namespace

std::unique_ptr<Work> make_shared_read(const RunContext& context, const Plan& plan,
                                       const Access& access) {
    return std::make_unique<SharedRead>(context, plan, access);
}

}  // namespace oratorio
