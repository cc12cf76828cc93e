// SPDX-License-Identifier: BSD-3-Clause
// Rounds that any free rank loads (docs/internals/decisions/node-memory.md): a rank that finds a
// sub-buffer from which all participants have copied reserves the sub-buffer's next round. With
// more ranks than cores, the ranks that happen to run keep the cores busy, and a sleeping
// aggregator delays no other rank.
#include <vector>

#include "engine/round_queue.hpp"
#include "exchange/node_shared/node_rounds.hpp"

namespace oratorio {

namespace {

class FreeRounds final : public RoundQueue {
  public:
    FreeRounds(const WorkContext& context, const Plan& plan, EntryTracker& entries);

    std::optional<Round> take(std::int64_t oldest) override;
    [[nodiscard]] RoundBuffer buffer(const Round& round, std::size_t slot) const override;
    [[nodiscard]] bool done() const override;
    [[nodiscard]] std::size_t slots() const override { return can_load_ ? 1 : 0; }
    [[nodiscard]] bool hands_over() const override { return true; }

  private:
    /// A sub-buffer of an aggregator's domain: it holds every plan.slots-th round.
    struct Column {
        int aggregator = 0;
        int slot = 0;
    };
    [[nodiscard]] SlotControl& control(const Column& column) const {
        return control_of(node_, plan_, column.aggregator, column.slot);
    }
    [[nodiscard]] std::optional<std::int64_t> next_to_load(const Column& column,
                                                           std::uint64_t claimed) const;
    bool claim(const Column& column, Round& round);

    const NodeMemory& node_;
    const Plan& plan_;
    EntryTracker& entries_;
    unsigned number_;
    int index_;  ///< this rank's index among the aggregators, or -1
    /// This rank is an aggregator or has the file open. Other ranks don't open it just to load
    /// rounds.
    bool can_load_;
    std::vector<Column> columns_;
};

FreeRounds::FreeRounds(const WorkContext& context, const Plan& plan, EntryTracker& entries)
    : node_(context.file.node),
      plan_(plan),
      entries_(entries),
      number_(context.number),
      index_(plan.aggregator_index(context.file.transport.topology().rank)),
      can_load_(context.store.is_open() || index_ >= 0) {
    const auto aggregators = static_cast<int>(plan.aggregators.size());
    const int first = plan.first_aggregator(context.file.transport.topology().rank);
    for (int turn = 0; turn < aggregators; ++turn) {
        for (int slot = 0; slot < plan.slots; ++slot)
            columns_.push_back({(first + turn) % aggregators, slot});
    }
}

/// Returns the round to load after `claimed`, the last one reserved in the column; a number at or
/// after plan.rounds if none is left; nothing while the sub-buffer is in use.
std::optional<std::int64_t> FreeRounds::next_to_load(const Column& column,
                                                     std::uint64_t claimed) const {
    std::int64_t round = column.slot;
    if (is_of_access(claimed, number_)) {
        const SlotControl& slot = control(column);
        if (slot.round != claimed || slot.to_come > 0) return std::nullopt;
        round = round_of(claimed) + plan_.slots;
    }
    while (round < plan_.rounds && !plan_.has_participants(column.aggregator, round))
        round += plan_.slots;
    return round;
}

bool FreeRounds::claim(const Column& column, Round& round) {
    SlotControl& slot = control(column);
    std::uint64_t claimed = slot.claimed;
    const auto next = next_to_load(column, claimed);
    if (!next || *next >= plan_.rounds) return false;
    round = {column.aggregator, *next, plan_.region(column.aggregator, *next)};
    return entries_.all_of(round.aggregator, round.number) &&
           slot.claimed.compare_exchange_strong(claimed, round_key(number_, *next));
}

std::optional<Round> FreeRounds::take(std::int64_t) {
    Round round;
    for (const Column& column : columns_) {
        if (claim(column, round)) return round;
    }
    return std::nullopt;
}

RoundBuffer FreeRounds::buffer(const Round& round, std::size_t) const {
    const Bytes at =
        (round.aggregator * plan_.slots + round.number % plan_.slots) * plan_.slot_bytes;
    return {node_.buffers().subspan(static_cast<std::size_t>(at),
                                    static_cast<std::size_t>(plan_.slot_bytes)),
            {}};
}

/// Returns true once all rounds of this rank's own domain were served to their participants.
bool FreeRounds::done() const {
    for (int slot = 0; index_ >= 0 && slot < plan_.slots; ++slot) {
        const Column column{index_, slot};
        const auto next = next_to_load(column, control(column).claimed);
        if (!next || *next < plan_.rounds) return false;
    }
    return true;
}

}  // namespace

std::unique_ptr<RoundQueue> make_free_rounds(const WorkContext& context, const Plan& plan,
                                             EntryTracker& entries) {
    return std::make_unique<FreeRounds>(context, plan, entries);
}

}  // namespace oratorio
