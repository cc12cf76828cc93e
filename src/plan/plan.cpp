#include "plan/plan.hpp"

#include <algorithm>

#include "plan/aggregators.hpp"
#include "plan/methods.hpp"
#include "type/coverage.hpp"

namespace oratorio {

namespace {

constexpr Bytes kPage = 4096;
constexpr Bytes kCyclicBlockDefault = 1 << 20;
constexpr Bytes kMessageMin = 4096;
constexpr int kSlotsMax = 8;

Situation situation_of(Direction direction, bool collective, const Summaries& summaries,
                       const PlanOptions& options) {
    Situation s;
    s.direction = direction;
    s.collective = collective;
    s.ranks = static_cast<int>(summaries.size());
    s.options = &options;
    s.storable = false;
    std::uint64_t covered = 0;
    for (const AccessSummary& one : summaries) {
        s.hull = hull(s.hull, one.hull);
        s.bytes += one.bytes;
        s.bytes_max = std::max(s.bytes_max, one.bytes);
        s.pieces += one.pieces;
        s.memory_pieces += one.memory_pieces;
        s.ranks_with_data += one.bytes > 0 ? 1 : 0;
        if ((one.flags & flag_interleaved) != 0 && one.bytes > 0) s.interleaved = true;
        if ((one.flags & flag_no_store) == 0) s.storable = true;
        covered += one.coverage;
    }
    s.covered =
        direction == Direction::write && s.bytes == s.hull.length() && covered == coverage(s.hull);
    return s;
}

Plan start_plan(const Situation& s, const Choice& choice) {
    Plan plan;
    plan.method = choice.method;
    plan.why = choice.why;
    plan.candidates = choice.candidates;
    plan.direction = s.direction;
    plan.collective = s.collective;
    plan.storage = choice.method->storage;
    plan.hull = s.hull;
    plan.bytes = s.bytes;
    plan.covered = s.covered;
    plan.atomic = s.options->atomic;
    plan.message_bytes = message_bytes_of(*s.options);
    plan.messages_in_flight = std::max(1, s.options->messages_in_flight);
    return plan;
}

void set_buffers(Plan& plan, Bytes buffer, int slots) {
    plan.slots = std::clamp(slots, 1, kSlotsMax);
    plan.slot_bytes = std::max<Bytes>(kPage, buffer / plan.slots / kPage * kPage);
    plan.rounds = plan.domains.rounds(plan.slot_bytes);
    if (plan.rounds < plan.slots) {  // no more buffer than there is work
        plan.slots = static_cast<int>(std::max<std::int64_t>(1, plan.rounds));
    }
}

FileDomains make_domains(const Method& method, const PlanOptions& options, Extent hull,
                         int aggregators) {
    const Bytes stripe = options.striping_unit;
    switch (method.domains) {
        case DomainKind::cyclic:
            return FileDomains::cyclic(
                hull, aggregators,
                options.cyclic_block > 0 ? options.cyclic_block : kCyclicBlockDefault);
        case DomainKind::stripes:
            return FileDomains::cyclic(hull, aggregators,
                                       stripe > 0 ? stripe : kCyclicBlockDefault);
        case DomainKind::even:
        case DomainKind::none:
            break;
    }
    const Bytes unit = stripe > 0 && stripe <= hull.length() / aggregators ? stripe : kPage;
    return FileDomains::even(hull, aggregators, unit);
}

/// An access without exchange: the rank is its own aggregator of its own hull.
void plan_alone(Plan& plan, Rank rank, const AccessSummary& mine, const PlanOptions& options) {
    plan.hull = mine.hull;
    plan.bytes = mine.bytes;
    plan.covered = mine.bytes == mine.hull.length() &&
                   (plan.direction == Direction::read || mine.coverage == coverage(mine.hull));
    if (mine.bytes == 0) return;
    plan.participants = {rank};
    plan.hulls = {mine.hull};
    plan.aggregators = {rank};
    plan.domains = FileDomains::even(mine.hull, 1, kPage);
    const bool read = plan.direction == Direction::read;
    set_buffers(plan, read ? options.ind_rd_buffer_size : options.ind_wr_buffer_size, 1);
}

}  // namespace

int Plan::aggregator_index(Rank rank) const {
    const auto found = std::find(aggregators.begin(), aggregators.end(), rank);
    return found == aggregators.end() ? -1 : static_cast<int>(found - aggregators.begin());
}

Extent Plan::hull_of(Rank rank) const {
    const auto found = std::find(participants.begin(), participants.end(), rank);
    return found == participants.end()
               ? Extent{}
               : hulls[static_cast<std::size_t>(found - participants.begin())];
}

Bytes message_bytes_of(const PlanOptions& options) {
    return std::max(kMessageMin, std::min(options.message_bytes, options.cb_buffer_size / 8));
}

Plan make_plan(Direction direction, const Agreed<Summaries>& summaries, const Topology& topology,
               const PlanOptions& options) {
    const Situation s = situation_of(direction, true, *summaries, options);
    Plan plan = start_plan(s, choose_method(s));
    if (!plan.method->aggregated()) {
        plan_alone(plan, topology.rank, (*summaries)[topology.rank], options);
        return plan;
    }
    if (s.bytes == 0) return plan;
    for (Rank rank = 0; rank < topology.size; ++rank) {
        if ((*summaries)[rank].bytes == 0) continue;
        plan.participants.push_back(rank);
        plan.hulls.push_back((*summaries)[rank].hull);
    }
    plan.aggregators = choose_aggregators(topology, *summaries, options, plan.hull.length());
    if (plan.method->aggregators_max > 0) plan.aggregators.resize(plan.method->aggregators_max);
    plan.domains =
        make_domains(*plan.method, options, plan.hull, static_cast<int>(plan.aggregators.size()));
    set_buffers(plan, options.cb_buffer_size,
                options.slots > 0 ? options.slots : plan.method->slots);
    return plan;
}

Plan make_own_plan(Direction direction, Rank rank, const AccessSummary& mine,
                   const PlanOptions& options) {
    const Situation s = situation_of(direction, false, {mine}, options);
    Plan plan = start_plan(s, choose_method(s));
    plan_alone(plan, rank, mine, options);
    return plan;
}

}  // namespace oratorio
