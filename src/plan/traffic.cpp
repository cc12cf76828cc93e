// SPDX-License-Identifier: BSD-3-Clause
#include "plan/traffic.hpp"

#include <algorithm>
#include <cmath>

#include "plan/layers.hpp"

namespace oratorio {

namespace {

double slot_bytes(const Method& method, const PlanInputs& s, int slots) {
    const Bytes share = s.options->collective_buffer(slots) / (s.keeps_holes() ? 2 : 1) / slots;
    Bytes wanted = s.options->sub_buffer > 0 ? s.options->sub_buffer : s.slot_most;
    if (method.schedule.slot_is_block) wanted = std::min(wanted, s.hull.length() / s.ranks);
    return static_cast<double>(std::max(kPage, std::min(share, wanted)));
}

/// Estimates how many regions, over all rounds, the hull of a participant touches.
double regions_touched(const Method& method, const PlanInputs& s, const Traffic& t) {
    const double hull = s.hulls / std::max(1, s.ranks_with_data);
    const double domain = static_cast<double>(s.hull.length()) / t.aggregators;
    const auto block = static_cast<double>(method.domains_part(*s.options).block(s));
    if (block >= domain) {
        const double region = std::max(1.0, std::min(t.slot_bytes, domain));
        return std::min(t.aggregators * t.rounds, 1 + hull / region);
    }
    const double rounds = std::min(t.rounds, 1 + hull / (t.aggregators * t.slot_bytes));
    return rounds * std::min(t.aggregators, 1 + hull / block);
}

/// Estimates the share of data that stays on its rank or node. Assumes that data spreads evenly
/// over all aggregators, unless each file domain is contiguous and the locality was estimated for
/// this number of aggregators; then returns that estimate.
Locality staying(const Method& method, const PlanInputs& s, const Traffic& t) {
    const double domain = static_cast<double>(s.hull.length()) / t.aggregators;
    const auto block = static_cast<double>(method.domains_part(*s.options).block(s));
    Locality share{1 / t.senders, 1.0 / s.nodes};
    if (!s.locality || block < domain || t.aggregators != s.aggregators) return share;
    const double of_node = t.senders / s.nodes;
    const bool grouped = method.layers_part().local_aggregators;
    return {grouped ? s.locality->node / std::max(1.0, of_node) : s.locality->own,
            s.locality->node};
}

}  // namespace

double groups_of(const PlanInputs& s) {
    const int ranks = std::max(1, s.ranks / s.nodes);
    return s.nodes * local_aggregators_of(ranks, 0, s.nodes, *s.options);
}

Traffic traffic_of(const Method& method, const PlanInputs& s) {
    const Schedule& schedule = method.schedule;
    const int most = schedule.aggregators_max > 0 ? schedule.aggregators_max : s.aggregators;
    const int slots = std::max(1, s.options->slots > 0 ? s.options->slots : schedule.slots);
    Traffic t;
    t.aggregators = schedule.all_aggregate ? s.ranks : std::min(most, s.aggregators);
    if (method.domains_part(*s.options).by_agent)
        t.aggregators = static_cast<double>(s.facts->agents.ranks.size());
    t.storing_nodes = std::min(t.aggregators, static_cast<double>(s.nodes));
    t.slot_bytes = slot_bytes(method, s, slots);
    const auto hull = static_cast<double>(s.hull.length());
    t.rounds = std::max(1.0, hull / (t.aggregators * t.slot_bytes));
    t.slots = std::min<double>(slots, std::ceil(t.rounds));

    const bool grouped = method.layers_part().local_aggregators;
    const double participants =
        std::max(1.0, std::min<double>(s.ranks_with_data, grouped ? groups_of(s) : s.ranks));
    const double exchanges = participants * regions_touched(method, s, t);
    const auto bytes = static_cast<double>(s.bytes);
    const auto largest = static_cast<double>(message_bytes_of(*s.options));
    // If data isn't packed, another message before each one describes its pieces.
    const double kinds = method.exchange_part().in_pieces ? 2 : 1;
    const double messages = kinds * std::max(exchanges, bytes / largest);
    t.senders = participants;
    const Locality stays = staying(method, s, t);
    t.own_share = stays.own;
    t.near_messages = messages * std::max(0.0, stays.node - stays.own);
    t.far_messages = messages * (1 - stays.node);
    t.far_bytes = bytes * (1 - stays.node);
    return t;
}

}  // namespace oratorio
