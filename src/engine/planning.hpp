// SPDX-License-Identifier: BSD-3-Clause
// Planning: makes the plan of an access. A rank plans an independent access alone. A collective
// access follows either the kept plan, without messages, or a plan made from the gathered summaries
// of all ranks. A rank plans alone if its access doesn't match a kept plan that ends late. Planning
// also makes the shared memory that the plan's method needs.
#pragma once

#include <optional>

#include "comm/agreed.hpp"
#include "engine/run_context.hpp"

namespace oratorio {

class Planning {
  public:
    /// `access` and `context` outlive the object.
    Planning(const RunContext& context, const Access& access, bool collective);

    /// Starts over. `may_recall` says that the kept plan may be used; `flags` are added to those of
    /// the summary. REQUIRES, if collective: `may_recall` is equal on all ranks.
    void begin(bool may_recall, std::uint16_t flags);
    /// Makes progress; returns Step::done when the plan is ready. An error comes from the
    /// transport.
    Result<Step> step();

    [[nodiscard]] const Plan& plan() const { return plan_; }
    /// Returns true if the next step needs more of the transport than reductions and gatherings of
    /// one entry per rank.
    [[nodiscard]] bool sends_messages() const { return phase_ == Phase::ordering; }
    /// Returns the summary of this rank's access: the one that the other ranks received or, with a
    /// kept plan, would have received; empty if absent().
    [[nodiscard]] const AccessSummary& mine() const { return mine_; }
    /// Returns true if the kept plan is tried.
    [[nodiscard]] bool recalled() const { return recalled_; }
    /// Returns true if the kept plan is tried and this rank's access doesn't match it.
    [[nodiscard]] bool absent() const { return absent_; }
    /// Returns true if the kept plan is one in which each rank makes its own calls, and this rank
    /// does so with a plan of its own, because its access doesn't match the kept one.
    [[nodiscard]] bool mismatched() const { return mismatched_; }

  private:
    enum class Phase { summarise, gathering, sharing, ordering, thinning, done };
    Result<Step> summarise_access();
    Result<Step> gathered();
    Result<Step> shared();
    Result<Step> settle();
    Result<Step> ordered();
    Result<Step> thin_out();
    Result<Step> thinned();
    void recall();
    void plan_for_itself(const Plan& kept);
    [[nodiscard]] Plan own_plan() const;
    Result<Step> choose();
    void ask_places();
    [[nodiscard]] bool keeps_plans() const;
    Step finish();

    const RunContext& context_;
    const Access& access_;
    bool collective_;
    Phase phase_ = Phase::summarise;
    std::uint16_t flags_ = 0;
    AccessSummary mine_;
    Gathering<AccessSummary> gathering_;
    std::optional<Agreed<AllSummaries>> summaries_;  ///< summaries of all ranks, once gathered
    std::uint64_t likeness_ = 0;  ///< fingerprint of the summaries, which are then freed
    Ticket ticket_;
    std::vector<std::int32_t> order_;  ///< broadcast: whether an order is known, then the order
    Gathering<EdgeBits> edges_;
    Plan plan_;
    bool recalled_ = false;
    bool absent_ = false;
    bool mismatched_ = false;
};

}  // namespace oratorio
