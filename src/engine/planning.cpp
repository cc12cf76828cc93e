// SPDX-License-Identifier: BSD-3-Clause
#include "engine/planning.hpp"

#include <algorithm>

#include "comm/node_boards.hpp"
#include "plan/methods.hpp"

namespace oratorio {

// These entries are gathered once per node, in the node's list. Larger ones would not fit into the
// list, and each rank would have its own copy.
static_assert(sizeof(AccessSummary) <= NodeBoards::kListed);
static_assert(sizeof(EdgeBits) <= NodeBoards::kListed);

Planning::Planning(const RunContext& context, const Access& access, bool collective)
    : context_(context), access_(access), collective_(collective) {}

void Planning::begin(bool may_recall, std::uint16_t flags) {
    flags_ = flags;
    recalled_ = absent_ = mismatched_ = false;
    const FileContext& file = context_.file;
    const Direction direction = access_.direction;
    if (may_recall && collective_ && file.plans.trusted(direction) &&
        !file.tuning.wants_other(file.plans.plan(direction))) {
        recall();
    } else {
        phase_ = Phase::summarise;
    }
}

void Planning::recall() {
    recalled_ = true;
    if (auto kept = context_.file.plans.recall(access_)) {
        plan_ = std::move(kept->plan);
        mine_ = kept->mine;
        context_.observer.planned(plan_);
    } else if (const Plan& other = context_.file.plans.plan(access_.direction);
               other.ending() == Ending::late) {
        plan_for_itself(other);
    } else {
        plan_ = other;
        mine_ = {};
        absent_ = true;
    }
    phase_ = Phase::done;
}

/// Returns the plan with which this rank performs its access alone. REQUIRES: mine_ describes the
/// access.
Plan Planning::own_plan() const {
    return make_own_plan(access_.direction, context_.file.transport.topology().rank, mine_,
                         **context_.config);
}

/// Plans an access that doesn't match a kept plan in which no rank waits for another. The access is
/// measured if the kept plan is, because all ranks' agreements must have the same form.
void Planning::plan_for_itself(const Plan& kept) {
    mine_ = summarise(access_, false);
    plan_ = own_plan();
    plan_.collective = true;
    plan_.trial = kept.trial;
    mismatched_ = true;
    context_.observer.planned(plan_);
}

Result<Step> Planning::step() {
    switch (phase_) {
        case Phase::summarise:
            return summarise_access();
        case Phase::gathering:
            return gathered();
        case Phase::sharing:
            return shared();
        case Phase::ordering:
            return ordered();
        case Phase::thinning:
            return thinned();
        case Phase::done:
            break;
    }
    return Step::done;
}

Result<Step> Planning::summarise_access() {
    mine_ = summarise(access_, access_.direction == Direction::write);
    mine_.flags |= flags_;
    if (!collective_) {
        plan_ = own_plan();
        return finish();
    }
    gathering_ = Gathering<AccessSummary>::once_for_node(mine_);
    phase_ = Phase::gathering;
    return gathered();
}

Result<Step> Planning::gathered() {
    const auto all = gathering_.step(context_.file.transport);
    if (!all || *all != Step::done) return all;
    summaries_ = gathering_.agreed();
    return choose();
}

Result<Step> Planning::choose() {
    const Transport& ranks = context_.file.transport;
    plan_ = make_plan_for(ranks.topology().rank, access_.direction, *summaries_, nodes_of(ranks),
                          *context_.config, context_.file.node.sharing());
    phase_ = Phase::sharing;
    const bool shares = plan_.node_bytes() > 0 && plan_.bytes > 0;
    return shares ? shared() : settle();
}

/// Prepares the node's shared memory, and cross-memory access if the method needs it. If either
/// isn't available, all ranks make a plan without it.
Result<Step> Planning::shared() {
    const bool reach = plan_.method->exchange_part().reaches;
    const auto decided =
        context_.file.node.prepare(context_.file.transport, plan_.node_bytes(), reach);
    if (!decided || *decided != Step::done) return decided;
    const bool shared_refused = context_.file.node.shared_refused();
    if (!shared_refused && !(reach && context_.file.node.cross_memory_refused())) {
        return settle();
    }
    const Error& refusal = context_.file.node.refusal();
    const char* const but = plan_.method->on_node() ? " isn't used: " : " sends messages: ";
    context_.observer.remark("method " + std::string(plan_.method->name) + but +
                             describe(refusal, "", Subject::other));
    return choose();
}

/// Finishes the choice of the plan. The order of rounds by disk extents follows in a later step,
/// because it is broadcast and only some callers may send messages.
Result<Step> Planning::settle() {
    likeness_ = keeps_plans() ? fingerprint(**summaries_) : 0;
    summaries_.reset();
    gathering_ = {};
    if (!plan_.asks_places()) return thin_out();
    phase_ = Phase::ordering;
    ticket_ = {};
    return Step::idle;
}

/// Broadcasts the order of rounds from one rank: others may see different disk extents, or none.
Result<Step> Planning::ordered() {
    if (!ticket_.valid()) {
        const Rank asks = plan_.aggregators.front();
        order_.assign(static_cast<std::size_t>(1 + plan_.rounds * std::ssize(plan_.aggregators)),
                      0);
        if (context_.file.transport.topology().rank == asks) ask_places();
        const auto told =
            context_.file.transport.broadcast(asks, std::as_writable_bytes(std::span(order_)));
        if (!told) return told.error();
        ticket_ = *told;
    }
    const auto completion = context_.file.transport.test(ticket_);
    if (!completion) return completion.error();
    if (!completion->done) return Step::idle;
    const bool known = order_.front() != 0;
    order_.erase(order_.begin());
    if (known) plan_.order = RoundOrder(std::move(order_), plan_.rounds);
    return thin_out();
}

void Planning::ask_places() {
    constexpr std::size_t kPlacesMost = 1 << 14;
    const bool open = context_.file.store.prepare().ok();
    const DiskMap* const map = open ? context_.file.store.disk_map() : nullptr;
    if (map == nullptr) return;
    const auto places = map->places(plan_.hull, kPlacesMost);
    const RoundOrder order = plan_.method->schedule.order(plan_, places);
    order_.front() = order.ascending() ? 0 : 1;
    std::ranges::copy(order.parts(), order_.begin() + 1);
}

/// Gathers where each rank has data, if the plan needs it.
Result<Step> Planning::thin_out() {
    if (plan_.partners() == Partners::by_hull) return finish();
    phase_ = Phase::thinning;
    edges_ = Gathering<EdgeBits>::once_for_node(
        edges_of(plan_, context_.file.transport.topology().rank, access_));
    return thinned();
}

Result<Step> Planning::thinned() {
    const auto all = edges_.step(context_.file.transport);
    if (!all || *all != Step::done) return all;
    plan_.graph =
        plan_.graph.thinned(EdgeScale(plan_.aggregators.size(), plan_.rounds), edges_.agreed());
    return finish();
}

/// Returns true if the plan may be kept. A plan ordered by disk extents serves one access only,
/// because the bytes of the next access lie elsewhere. A plan with a sparse graph that the user
/// requested isn't kept: only an agreement of all ranks can report that a kept plan did not match.
bool Planning::keeps_plans() const {
    return !plan_.method->schedule.asks_places && plan_.partners() != Partners::requested;
}

Step Planning::finish() {
    phase_ = Phase::done;
    context_.file.stats.plans += 1;
    context_.observer.planned(plan_);
    if (!collective_) return Step::done;
    edges_ = {};
    if (keeps_plans()) context_.file.plans.keep(access_, plan_, mine_, likeness_);
    return Step::done;
}

}  // namespace oratorio
