// SPDX-License-Identifier: BSD-3-Clause
#include "engine/entry_tracker.hpp"

#include "exchange/node_shared/node_rounds.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

/// Returns true if this rank must know which ranks have entered. A write without holes can be
/// stored at any time.
bool is_asked_for(const Plan& plan) {
    return plan.method->aggregated() && (plan.direction == Direction::read || plan.keeps_holes());
}

}  // namespace

EntryTracker::EntryTracker(const WorkContext& context, const Plan& plan)
    : transport_(context.file.transport),
      node_(plan.method->on_node() ? &context.file.node : nullptr),
      plan_(plan),
      key_(round_key(context.number, 0) >> 32),
      complete_(context.all_entered || !is_asked_for(plan)) {
    if (complete_ || node_ == nullptr) return;
    const Rank rank = transport_.topology().rank;
    node_->mailbox(rank).entered = key_;
    for (const Rank aggregator : plan_.aggregators) {
        if (aggregator != rank) ring(node_->doorbell(aggregator));
    }
}

Result<void> EntryTracker::step() {
    if (complete_ || node_ != nullptr) return {};
    if (!ticket_.valid()) {
        const auto started = transport_.reduce(std::span(&nothing_, 1), ReduceOp::max);
        if (!started) return started.error();
        ticket_ = *started;
    }
    const auto completion = transport_.test(ticket_);
    if (!completion) return completion.error();
    complete_ = completion->done;
    return {};
}

/// Returns true if the rank has entered this access. Testing for equality suffices: no rank enters
/// the next access before this one has ended.
bool EntryTracker::has_entered(Rank rank) const {
    return node_->mailbox(rank).entered == key_;
}

bool EntryTracker::everybody() {
    if (complete_ || node_ == nullptr) return complete_;
    while (next_ < transport_.topology().size && has_entered(next_)) ++next_;
    complete_ = next_ == transport_.topology().size;
    return complete_;
}

bool EntryTracker::all_of(int aggregator, std::int64_t round) {
    if (complete_ || node_ == nullptr) return complete_;
    return plan_.each_participant(aggregator, round, [&](std::size_t i) {
        return has_entered(plan_.graph.participant(i).rank);
    });
}

}  // namespace oratorio
