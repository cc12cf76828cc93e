// SPDX-License-Identifier: BSD-3-Clause
// RoundQueue: which rounds a rank loads or stores, and when it may begin the next one. It is the
// schedule of the two-phase engine (engine/two_phase).
#pragma once

#include <memory>
#include <optional>

#include "engine/entry_tracker.hpp"
#include "engine/work.hpp"
#include "exchange/exchange.hpp"

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

    /// Returns the next round that this rank may begin now, if any. `oldest` is the number of the
    /// earliest round that it has under way; INT64_MAX: none.
    virtual std::optional<Round> take(std::int64_t oldest) = 0;
    /// Returns the buffer of a round that the given slot of this rank took. REQUIRES: take()
    /// returned the round for that slot.
    [[nodiscard]] virtual RoundBuffer buffer(const Round& round, std::size_t slot) const = 0;
    /// Returns true if this rank has no round left to take. If any rank may load rounds, returns
    /// true if all rounds of this rank's own domain were served.
    [[nodiscard]] virtual bool done() const = 0;
    /// Returns the maximum number of rounds that this rank has under way.
    [[nodiscard]] virtual std::size_t slots() const = 0;
    /// Returns true if any rank may load a round. The loader frees its slot as soon as the round is
    /// open, and serves its own data before it loads another.
    [[nodiscard]] virtual bool hands_over() const { return false; }
};

/// Makes the queue of an aggregator's own rounds, in order. `memory` is the aggregator's collective
/// buffer.
std::unique_ptr<RoundQueue> make_own_rounds(const Plan& plan, Rank rank,
                                            std::span<std::byte> memory);
/// Makes the queue of the rounds of all aggregators of a node, taken by whichever rank is free. A
/// round can be taken once all ranks with data in it have entered the access.
std::unique_ptr<RoundQueue> make_free_rounds(const WorkContext& context, const Plan& plan,
                                             EntryTracker& entries);

}  // namespace oratorio
