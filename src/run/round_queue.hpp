// SPDX-License-Identifier: BSD-3-Clause
// Round queue: which rounds a rank loads or stores, and when it may begin the next one. A schedule
// of the round engine (run/buffered_work).
#pragma once

#include <memory>
#include <optional>

#include "exchange/exchange.hpp"
#include "run/arrival.hpp"
#include "run/work.hpp"

namespace oratorio {

/// One round of one aggregator.
struct Round {
    int aggregator = 0;
    std::int64_t number = 0;
    Region region;
};

class RoundQueue {
  public:
    virtual ~RoundQueue() = default;
    RoundQueue() = default;
    RoundQueue(const RoundQueue&) = delete;
    RoundQueue& operator=(const RoundQueue&) = delete;

    /// The next one that this rank may begin now. `oldest`: number of the first one that it has
    /// under way, INT64_MAX for none.
    virtual std::optional<Round> take(std::int64_t oldest) = 0;
    /// Where the bytes of a round lie, taken by that slot of this rank.
    [[nodiscard]] virtual RoundBuffer buffer(const Round& round, std::size_t slot) const = 0;
    /// There is nothing left to take that this rank answers for.
    [[nodiscard]] virtual bool done() const = 0;
    /// How many rounds a rank has under way at most.
    [[nodiscard]] virtual std::size_t slots() const = 0;
    /// A loaded round is everybody's: this rank doesn't wait until it is served, and looks for data
    /// of its own before it loads another.
    [[nodiscard]] virtual bool hands_over() const { return false; }
};

/// An aggregator's own rounds, in their order. `memory`: its collective buffer.
std::unique_ptr<RoundQueue> make_own_rounds(const Plan& plan, Rank rank,
                                            std::span<std::byte> memory);
/// Rounds of all aggregators of a node, taken by whichever rank is free, once all with data there
/// have entered.
std::unique_ptr<RoundQueue> make_free_rounds(const RunContext& context, const Plan& plan,
                                             Arrival& arrival);

}  // namespace oratorio
