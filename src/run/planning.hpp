// SPDX-License-Identifier: BSD-3-Clause
// Planning: from an access to a plan that all its ranks share. Either the kept plan, without a
// message, or summaries from all ranks, the plan, and the memory that its method wants.
#pragma once

#include <optional>

#include "base/agreed.hpp"
#include "run/run_context.hpp"

namespace oratorio {

class Planning {
  public:
    /// `access` and `context` outlive it. Independent accesses are planned by the rank alone.
    Planning(const RunContext& context, const Access& access, bool collective);

    /// Starts over; `may_recall`: the kept plan will do.
    void begin(bool may_recall, std::uint16_t flags);
    /// True when the plan is there. An error is the transport's.
    Result<bool> step();

    [[nodiscard]] const Plan& plan() const { return plan_; }
    /// Its next step takes more than collectives of a rank's size.
    [[nodiscard]] bool sends_messages() const { return phase_ == Phase::ordering; }
    /// What this rank told the others of its access, or would have.
    [[nodiscard]] const AccessSummary& mine() const { return mine_; }
    /// The kept plan is tried.
    [[nodiscard]] bool recalled() const { return recalled_; }
    /// It is, and this rank's access isn't of its shape.
    [[nodiscard]] bool absent() const { return absent_; }

  private:
    enum class Phase { summarise, gathering, sharing, ordering, thinning, done };
    Result<bool> summarise_access();
    Result<bool> gathered();
    Result<bool> shared();
    Result<bool> settle();
    Result<bool> ordered();
    Result<bool> thin_out();
    Result<bool> thinned();
    void recall();
    Result<bool> choose();
    void ask_places();
    [[nodiscard]] bool keeps_plans() const;
    bool finish();

    const RunContext& context_;
    const Access& access_;
    bool collective_;
    Phase phase_ = Phase::summarise;
    std::uint16_t flags_ = 0;
    AccessSummary mine_;
    Gathering<AccessSummary> gathering_;
    std::optional<Agreed<AllSummaries>> summaries_;  ///< of all ranks, when they are there
    std::uint64_t likeness_ = 0;                     ///< theirs, when they have gone
    Ticket ticket_;
    std::vector<std::int32_t> order_;  ///< told by one rank: whether it knows one, and that
    Gathering<EdgeBits> edges_;
    Plan plan_;
    bool recalled_ = false;
    bool absent_ = false;
};

}  // namespace oratorio
