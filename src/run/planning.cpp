// SPDX-License-Identifier: BSD-3-Clause
#include "run/planning.hpp"

#include "plan/methods.hpp"

namespace oratorio {

Planning::Planning(const RunContext& context, const Access& access, bool collective)
    : context_(context), access_(access), collective_(collective) {}

void Planning::begin(bool may_recall, std::uint64_t flags) {
    flags_ = flags;
    recalled_ = absent_ = false;
    if (may_recall && collective_ && context_.plans != nullptr &&
        context_.plans->trusted(access_.direction)) {
        recall();
    } else {
        phase_ = Phase::summarise;
    }
}

void Planning::recall() {
    recalled_ = true;
    if (auto kept = context_.plans->recall(access_)) {
        plan_ = std::move(kept->plan);
        mine_ = kept->mine;
    } else {
        plan_ = context_.plans->plan(access_.direction);
        mine_ = {};
        absent_ = true;
    }
    phase_ = Phase::done;
}

Result<bool> Planning::step() {
    switch (phase_) {
        case Phase::summarise:
            return summarise_access();
        case Phase::gathering:
            return gathered();
        case Phase::sharing:
            return shared();
        case Phase::thinning:
            return thinned();
        case Phase::done:
            break;
    }
    return true;
}

Result<bool> Planning::summarise_access() {
    mine_ = summarise(access_, access_.direction == Direction::write);
    mine_.flags |= flags_;
    if (!collective_) {
        plan_ = make_own_plan(access_.direction, context_.transport.topology().rank, mine_,
                              **context_.terms);
        return finish();
    }
    gathering_ = Gathering(mine_);
    phase_ = Phase::gathering;
    return gathered();
}

Result<bool> Planning::gathered() {
    const auto all = gathering_.step(context_.transport);
    if (!all || !*all) return all;
    summaries_ = gathering_.take();
    return choose();
}

Result<bool> Planning::choose() {
    const Transport& ranks = context_.transport;
    plan_ = make_plan(access_.direction, *summaries_, nodes_of(ranks), *context_.terms,
                      NodeMemory::sharing(context_.node), ranks.topology().rank);
    phase_ = Phase::sharing;
    const bool shares = plan_.method->on_node() && !plan_.graph.empty();
    return shares ? shared() : thin_out();
}

/// Where the node's memory can't be had, all ranks choose again without it.
Result<bool> Planning::shared() {
    const auto bytes = std::ssize(plan_.aggregators) * plan_.buffer_bytes();
    const bool reach = plan_.method->exchange_part().reaches;
    const auto decided = context_.node->prepare(context_.transport, bytes, reach);
    if (!decided || !*decided) return decided;
    const bool shared_refused = context_.node->shared_refused();
    if (!shared_refused && !(reach && context_.node->cross_memory_refused())) {
        return thin_out();
    }
    if (context_.witness != nullptr) {
        const Error& refusal = context_.node->refusal();
        context_.witness->remark("method " + std::string(plan_.method->name) +
                                 " isn't used: " + describe(refusal, ""));
    }
    return choose();
}

/// All ranks tell where they have data, if the plan wants it.
Result<bool> Planning::thin_out() {
    if (!plan_.thin) return finish();
    phase_ = Phase::thinning;
    edges_ = Gathering(edges_of(plan_, context_.transport.topology().rank, access_));
    return thinned();
}

Result<bool> Planning::thinned() {
    const auto all = edges_.step(context_.transport);
    if (!all || !*all) return all;
    plan_.graph =
        plan_.graph.thinned(EdgeScale(plan_.aggregators.size(), plan_.rounds), edges_.take());
    return finish();
}

bool Planning::finish() {
    phase_ = Phase::done;
    context_.stats.plans += 1;
    if (context_.witness != nullptr) context_.witness->planned(plan_);
    if (collective_ && context_.plans != nullptr)
        context_.plans->keep(access_, plan_, mine_, **summaries_);
    return true;
}

}  // namespace oratorio
