// SPDX-License-Identifier: BSD-3-Clause
#include "engine/round_queue.hpp"
#include "exchange/node_shared/node_memory.hpp"

namespace oratorio {

namespace {

class OwnRounds final : public RoundQueue {
  public:
    OwnRounds(const Plan& plan, Rank rank, std::span<std::byte> memory)
        : plan_(plan), index_(plan.aggregator_index(rank)), memory_(memory) {
        if (index_ < 0) next_ = plan.rounds;
        skip_untouched();
    }

    std::optional<Round> take(std::int64_t oldest) override;
    [[nodiscard]] RoundBuffer buffer(const Round& round, std::size_t slot) const override;
    [[nodiscard]] bool done() const override { return next_ >= plan_.rounds; }
    [[nodiscard]] std::size_t slots() const override {
        return index_ < 0 ? 0 : static_cast<std::size_t>(plan_.slots);
    }

  private:
    void skip_untouched() {
        while (!done() && !plan_.has_participants(index_, next_)) ++next_;
    }

    const Plan& plan_;
    int index_;  ///< this rank's index among the aggregators, or -1
    std::span<std::byte> memory_;
    std::int64_t next_ = 0;
};

/// Returns the next round, if it may begin. Ranks of a node find a round's control words by its
/// number, so rounds under way must be less than rounds_max apart. The number of slots doesn't
/// ensure that, because rounds that no rank has data in are skipped.
std::optional<Round> OwnRounds::take(std::int64_t oldest) {
    if (done() || (oldest != INT64_MAX && next_ - oldest >= NodeMemory::rounds_max))
        return std::nullopt;
    const Round round{index_, next_, plan_.region(index_, next_)};
    ++next_;
    skip_untouched();
    return round;
}

/// Returns the slot's buffer and write mask. The masks of all slots follow the buffers of all
/// slots.
RoundBuffer OwnRounds::buffer(const Round&, std::size_t slot) const {
    const auto bytes = static_cast<std::size_t>(plan_.slot_bytes);
    RoundBuffer buffer{memory_.subspan(slot * bytes, bytes), {}};
    if (plan_.keeps_holes()) buffer.mask = memory_.subspan((slots() + slot) * bytes, bytes);
    return buffer;
}

}  // namespace

std::unique_ptr<RoundQueue> make_own_rounds(const Plan& plan, Rank rank,
                                            std::span<std::byte> memory) {
    return std::make_unique<OwnRounds>(plan, rank, memory);
}

}  // namespace oratorio
