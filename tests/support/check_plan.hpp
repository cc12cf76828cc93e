// SPDX-License-Identifier: BSD-3-Clause
// check_plan: checks the invariants of every plan (plan/plan.hpp states them for readers).
#pragma once

#include <string_view>

#include "plan/methods.hpp"

namespace oratorio::test {

/// Returns the broken invariant about aggregators, rounds and slots, or "".
inline std::string_view broken_rounds(const Plan& plan) {
    const auto aggregators = std::ssize(plan.aggregators);
    if ((plan.bytes > 0) != (aggregators > 0) || (plan.bytes > 0) != (plan.rounds > 0))
        return "aggregators and rounds exist if and only if there is data";
    if (aggregators > 0 && aggregators != plan.domains.aggregators())
        return "each file domain has an aggregator";
    if (plan.slots < 1 || plan.slots > kSlotsMost) return "slots are between 1 and kSlotsMost";
    if (plan.rounds > 0 && plan.slots > plan.rounds) return "there are no more slots than rounds";
    if (plan.rounds > 0 && (plan.slot_bytes < kPage || plan.slot_bytes % kPage != 0))
        return "a slot is a number of whole pages";
    if (!plan.order.ascending() && plan.method->schedule.order == nullptr)
        return "the rounds are in order unless the method says otherwise";
    const bool several = plan.method->aggregated() && plan.slots > 1 && !plan.any_rank_loads();
    if (several != (plan.overlap != Overlap::none))
        return "storage overlaps something if and only if aggregators fill several buffers";
    if (std::ssize(plan.ranks) > plan.ranks_with_data) return "only ranks with data take part";
    return "";
}

/// Returns the broken invariant about which rank loads a round, or "".
inline std::string_view broken_loads(const Plan& plan) {
    if (plan.loads == Loads::by_aggregator) return "";
    if (plan.direction != Direction::read || !plan.method->storage_part().buffered)
        return "only reads of whole regions load them";
    if (plan.loads != Loads::by_any_rank) return "";
    return plan.method->exchange_part().anyone_loads ? ""
                                                     : "the exchange lets only aggregators load";
}

inline std::string_view broken_route(const Plan& plan, const OwnCalls& calls) {
    const Method& method = *plan.method;
    if (method.aggregated() || method.storage_part().shipped)
        return "this method has aggregators or agents";
    if (plan.bytes > 0 && (plan.graph.size() != 1 || plan.ranks.size() != 1))
        return "a rank that works for itself is the only participant";
    if ((calls.ranks_at_once > 0) != method.schedule.in_turns)
        return "ranks wait for their turns if and only if the schedule says so";
    if (calls.ranks_at_once > 0 && !plan.collective) return "only collective calls have turns";
    if (calls.ahead.ranges > 0 && !method.read_ahead_part().fetches)
        return "the method has no read-ahead";
    const int most = method.storage_part().outstanding_max;
    if (calls.pieces_at_once > most || (calls.pieces_at_once > 0) != (most > 0))
        return "only methods that move pieces limit them";
    if (calls.ending == Ending::late &&
        (!plan.collective || plan.direction == Direction::write || calls.ranks_at_once > 0))
        return "only collective reads in which all ranks make their own calls end late";
    if (calls.ending == Ending::reported) return "no aggregator reports the end of own calls";
    if (calls.ahead.ranges > 0 && plan.domains.parts() > 1)
        return "read-ahead excludes sliced domains";
    return "";
}

inline std::string_view broken_route(const Plan& plan, const TwoPhase& two_phase) {
    const Method& method = *plan.method;
    if (!method.aggregated()) return "this method has no aggregators";
    if (!plan.collective || plan.atomic) return "two-phase I/O is collective and not atomic";
    const Layers& layers = two_phase.layers;
    if (layers.two() && !method.layers_part().local_aggregators)
        return "the method has no local aggregators";
    if (layers.in_windows() && !(layers.two() && method.layers_part().windows))
        return "only groups of two layers have windows";
    if (layers.two() && two_phase.partners != Partners::by_hull)
        return "ranks with local aggregators don't report edges";
    if (plan.graph.edges() != nullptr && two_phase.partners == Partners::by_hull)
        return "the graph has edges that no rank has reported";
    if (two_phase.partners == Partners::requested && !method.exchange_part().sends_messages)
        return "a sparse graph needs an exchange by messages";
    if (two_phase.ending == Ending::reported && two_phase.partners != Partners::requested)
        return "aggregators report the end only in a sparse graph that was requested";
    return "";
}

inline std::string_view broken_route(const Plan& plan, const Shipped& shipped) {
    if (plan.method->aggregated() || !plan.method->storage_part().shipped)
        return "this method has no agents";
    if (shipped.agents.ranks.empty() || shipped.agents.block <= 0)
        return "there are agents, and each has blocks";
    if (plan.bytes > 0 && plan.graph.size() != 1)
        return "a rank that ships its own data is the only participant";
    return "";
}

/// Returns the first invariant that the plan breaks, or "" if it breaks none.
inline std::string_view broken_invariant(const Plan& plan) {
    if (plan.covered && plan.bytes != plan.hull.length())
        return "covered data has the length of its hull";
    if (plan.message_bytes < kMessageMin || plan.messages_in_flight < 1)
        return "messages have a length, and at least one is in flight";
    for (const std::string_view broken :
         {broken_rounds(plan), broken_loads(plan),
          std::visit([&](const auto& one) { return broken_route(plan, one); }, plan.route)})
        if (!broken.empty()) return broken;
    return "";
}

}  // namespace oratorio::test
