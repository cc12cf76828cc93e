// SPDX-License-Identifier: BSD-3-Clause
// Arrival: which ranks have entered an access. No byte is loaded for a rank, nor a hole filled,
// before it has entered: what it wrote before that in its program must be there. Where all ranks'
// summaries were gathered all have entered; with a kept plan nobody has said so yet.
#pragma once

#include "exchange/node_memory.hpp"
#include "plan/plan.hpp"
#include "run/run_context.hpp"

namespace oratorio {

class Arrival {
  public:
    /// Tells the others that this rank has entered. All outlive it. Collective, in the order of
    /// accesses.
    Arrival(const RunContext& context, const Plan& plan);

    /// Moves on; an error is the transport's.
    Result<void> step();
    /// Nothing of it is under way.
    [[nodiscard]] bool settled() const { return complete_ || node_ != nullptr; }
    /// All ranks of the file have entered.
    [[nodiscard]] bool everybody();
    /// All ranks that may have data in the region of that round.
    [[nodiscard]] bool all_of(int aggregator, std::int64_t round);

  private:
    [[nodiscard]] bool has_entered(Rank rank) const;

    Transport& transport_;
    const NodeMemory* node_ = nullptr;  ///< where the ranks tell it; null: by a reduction
    const Plan& plan_;
    std::uint64_t key_ = 0;
    bool complete_ = true;
    Rank next_ = 0;  ///< ranks before it have entered
    std::uint64_t nothing_ = 0;
    Ticket ticket_;
};

}  // namespace oratorio
