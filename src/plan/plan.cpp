// SPDX-License-Identifier: BSD-3-Clause
#include "plan/plan.hpp"

#include <algorithm>
#include <cmath>

#include "plan/aggregators.hpp"
#include "plan/estimate.hpp"
#include "plan/learning.hpp"
#include "plan/methods.hpp"
#include "type/coverage.hpp"

namespace oratorio {

namespace {

constexpr Bytes kSparse = 4;  // bytes of hull per byte of data

/// Sets the parts of the inputs: one part, unless handling several parts in slices pays.
void set_parts(PlanInputs& s, const Parts& parts) {
    s.parts = parts.count;
    s.period = parts.period;
    if (parts.count == 1 || slices_pay(s)) return;
    s.parts = 1;
    s.memory_lines = s.memory_pieces;
}

PlanInputs situation_of(Direction direction, AllSummaries summaries, const Nodes& nodes,
                        const PlanConfig& terms, const NodeSharing& sharing) {
    PlanInputs s;
    s.facts = &terms.facts;
    s.sharing = sharing;
    s.nodes = nodes.nodes();
    s.cores = nodes.cores_of_node();
    s.nodes_of_machine = nodes.nodes_of_machine;
    s.direction = direction;
    s.ranks = static_cast<int>(summaries.size());
    s.options = &terms.options;
    s.storable = false;
    std::uint64_t covered = 0;
    for (const AccessSummary& one : summaries) {
        s.hull = hull(s.hull, one.hull);
        s.hulls += static_cast<double>(one.hull.length());
        s.bytes += one.bytes;
        s.bytes_max = std::max(s.bytes_max, one.bytes);
        s.pieces += one.pieces;
        s.memory_pieces += one.memory_pieces;
        s.memory_lines += memory_lines(one);
        s.ranks_with_data += one.bytes > 0 ? 1 : 0;
        if ((one.flags & flag_interleaved) != 0 && one.bytes > 0) s.interleaved = true;
        if ((one.flags & flag_no_store) == 0) s.storable = true;
        if ((one.flags & flag_large_layout) != 0) s.large_layout = true;
        covered += one.coverage;
    }
    set_parts(s, common_parts(summaries));
    s.covered =
        direction == Direction::write && s.bytes == s.hull.length() && covered == coverage(s.hull);
    return s;
}

OwnCalls own_calls_of(const Method& method, const PlanOptions& options) {
    OwnCalls calls;
    if (method.read_ahead_part().fetches) calls.ahead = ahead_of(options);
    if (method.schedule.in_turns) calls.ranks_at_once = std::max(1, options.group);
    calls.pieces_at_once = method.storage_part().outstanding_max;
    if (options.group_pieces > 0)
        calls.pieces_at_once = std::min(calls.pieces_at_once, options.group_pieces);
    return calls;
}

Plan start_plan(const PlanInputs& s, const Choice& choice) {
    Plan plan;
    plan.method = choice.method;
    plan.asked = s.options->method;
    plan.why = choice.why;
    plan.candidates = choice.candidates;
    plan.terms = choice.terms;
    plan.direction = s.direction;
    plan.collective = s.collective;
    plan.hull = s.hull;
    plan.bytes = s.bytes;
    plan.all = {s.bytes, s.hull.length(), s.pieces, s.memory_pieces, s.ranks_with_data};
    plan.covered = s.covered;
    plan.ranks_with_data = s.ranks_with_data;
    plan.atomic = s.options->atomic;
    plan.message_bytes = message_bytes_of(*s.options);
    plan.messages_in_flight = std::max(1, s.options->messages_in_flight);
    if (plan.method->aggregated()) {
        plan.route = TwoPhase{};
    } else if (plan.method->storage_part().shipped) {
        const Method* const combined = plan.method->combined;
        plan.route = Shipped{s.facts->agents, combined != nullptr ? combined->refuses(s) : ""};
    } else {
        plan.route = own_calls_of(*plan.method, *s.options);
    }
    return plan;
}

int slots_of_node(const PlanInputs& s, const Plan& plan) {
    constexpr int kMost = 4;
    const auto aggregators = static_cast<int>(plan.aggregators.size());
    if (plan.any_rank_loads()) return std::clamp(kSharedLoadSlots / aggregators, 1, kMost);
    return std::clamp(kSharedSlots / aggregators, s.is_direct() ? 2 : 1, kMost);
}

Bytes slot_bytes_most(const PlanInputs& s, const Plan& plan, int slots) {
    if (s.options->sub_buffer > 0) return s.options->sub_buffer;
    if (plan.method->schedule.slot_is_block)
        return (plan.domains.block() + kPage - 1) / kPage * kPage;
    if (!plan.method->on_node()) return s.slot_most;
    const Bytes most = shared_slot_bytes(s.facts->costs);
    if (!plan.any_rank_loads()) return plan.keeps_holes() ? most / 2 : most;
    // A sub-buffer that is filled several times is in a cache from the second time on.
    constexpr Bytes kTimes = 4;
    constexpr Bytes kLeast = 64 << 10;
    const Bytes filled = kTimes * slots * std::ssize(plan.aggregators);
    return std::clamp(s.hull.length() / filled, kLeast, most);
}

/// Sets slots, slot size and rounds. Write masks take a part of the same memory.
void set_buffers(Plan& plan, Bytes buffer, int slots, Bytes slot_bytes_max = INT64_MAX) {
    plan.slots = std::clamp(slots, 1, kSlotsMost);
    const Bytes data = plan.keeps_holes() ? buffer / 2 : buffer;
    const Bytes share = std::min(data / plan.slots, slot_bytes_max);
    plan.slot_bytes = std::max<Bytes>(kPage, share / kPage * kPage);
    plan.rounds = plan.domains.rounds(plan.slot_bytes);
    if (plan.rounds < plan.slots) {  // no more buffers than rounds
        plan.slots = static_cast<int>(std::max<std::int64_t>(1, plan.rounds));
    }
}

/// Chooses what runs while an aggregator stores a round. On a node with shared collective buffers
/// and a page cache, the other ranks keep the cores busy, so another thread would only add context
/// switches.
Overlap overlap_of(const PlanInputs& s, const Plan& plan) {
    if (plan.slots == 1 || plan.any_rank_loads()) return Overlap::none;
    if (s.stores_by_itself()) return Overlap::store;
    return plan.method->on_node() && !s.is_direct() ? Overlap::other_ranks : Overlap::io_thread;
}

/// Returns Loads::after_asking if aggregators must ask what a round will hold before they load it:
/// with so little data between holes, most of what is loaded would be useless.
Loads loads_of(Direction direction, Extent hull, Bytes bytes) {
    const bool must_ask = direction == Direction::read && hull.length() / kSparse > bytes;
    return must_ask ? Loads::after_asking : Loads::by_aggregator;
}

/// Returns true if ranks should first tell each other where they really have data, even if no hint
/// requests it. That costs one more gather. It pays between nodes, where messages without data cost
/// most, if a rank's hull touches many regions and is mostly holes. A method requested by name
/// stays as the papers describe it.
bool worth_thinning(const PlanInputs& s, const Plan& plan) {
    constexpr double kManyRegions = 16;
    constexpr std::int64_t kRegionsOfABit = 16;  // with more, hardly any bit would be unset
    if (s.one_node() || s.options->method != nullptr || plan.layers().two()) return false;
    const std::int64_t regions = plan.rounds * std::ssize(plan.aggregators);
    const double share = s.hulls / s.ranks_with_data / static_cast<double>(s.hull.length());
    return regions <= kRegionsOfABit * static_cast<std::int64_t>(EdgeBits().size()) &&
           share * static_cast<double>(regions) >= kManyRegions &&
           s.hulls >= 2 * static_cast<double>(s.bytes);
}

/// Returns which ranks exchange data in a round. REQUIRES: the plan has its layers and its rounds.
Partners partners_of(const PlanInputs& s, const Plan& plan) {
    const bool sparse = s.options->sparse || plan.method->graph_part().is_thinned;
    if (sparse && !plan.layers().two())
        return plan.method->exchange_part().sends_messages ? Partners::requested
                                                           : Partners::by_data;
    // Disk-directed I/O moves only the blocks that hold requested data (Kotz 1994).
    const bool lists_blocks = plan.method->schedule.asks_places && !plan.covered;
    return lists_blocks || worth_thinning(s, plan) ? Partners::by_data : Partners::by_hull;
}

int aggregators_per_node(const Method& method, int by_messages) {
    if (method.schedule.all_aggregate) return kEveryRank;
    return method.on_node() ? kSharedAggregators : by_messages;
}

/// Returns how many ranks, on average, have data at a file offset; at least 1.
double overlap(const PlanInputs& s) {
    return std::max(1.0, s.hulls / static_cast<double>(std::max<Bytes>(1, s.hull.length())));
}

/// Returns the number of aggregators per node that `auto` uses for methods with messages. More
/// aggregators let more cores place data, as long as each rank has a full message for each. A
/// method requested by name stays as the papers describe it. File domains that follow the stripes
/// have a number that does not depend on the access.
int aggregators_by_messages(const PlanInputs& s) {
    constexpr double kMost = 8;
    if (asks_for_targets(*s.options) || s.options->method != nullptr) return kAggregatorsPerNode;
    const double full = static_cast<double>(message_bytes_of(*s.options));
    const double messages = static_cast<double>(s.bytes) / (overlap(s) * full);
    return static_cast<int>(std::clamp(messages / s.nodes, double{kAggregatorsPerNode}, kMost));
}

/// Returns the size limit of sub-buffers that `auto` uses for methods with messages. Data that is
/// still in a core's cache when it is stored or sent costs half as much. Network file systems and
/// devices need long calls, and messages must be large compared to their headers.
Bytes slot_by_messages(const PlanInputs& s) {
    constexpr Bytes kInCache = 1 << 20;
    constexpr Bytes kFarCall = 4 << 20;
    constexpr Bytes kMessage = 64 << 10;
    if (s.options->method != nullptr || s.is_direct()) return INT64_MAX;
    const Bytes least = s.facts->local_file_system ? kInCache : kFarCall;
    return std::max(
        {least, s.options->striping_unit, static_cast<Bytes>(std::ceil(overlap(s))) * kMessage});
}

/// Returns true if any rank may load a round. A synchronous storage call keeps a core busy, so any
/// rank may as well make it. Asynchronous calls run in parallel with the ranks, and each aggregator
/// keeps its own in flight.
bool loads_are_shared(const PlanInputs& s, const Plan& plan) {
    return s.reads() && !s.facts->asynchronous && !plan.asks_contents() &&
           plan.method->exchange_part().anyone_loads;
}

/// Makes a graph of the ranks with data for which `wanted(rank, hull)` holds.
template <class Wanted>
Graph graph_of(AllSummaries summaries, Wanted wanted) {
    std::vector<Participant> participants;
    for (std::size_t i = 0; i < summaries.size(); ++i) {
        const Participant one{static_cast<Rank>(i), summaries[i].hull};
        if (summaries[i].bytes > 0 && wanted(one.rank, one.hull)) participants.push_back(one);
    }
    return Graph(std::move(participants));
}

/// Returns true if some rank has to report something at the end to all ranks.
bool must_agree(AllSummaries summaries) {
    return std::ranges::any_of(
        summaries, [](const AccessSummary& one) { return (one.flags & flag_agrees) != 0; });
}

bool has_none(AllSummaries summaries, Rank rank) {
    return summaries[static_cast<std::size_t>(rank)].bytes == 0;
}

/// Plans an access without exchange: the rank is its own aggregator for its own hull.
void plan_alone(Plan& plan, const PlanInputs& s, Rank rank, const AccessSummary& mine) {
    const StoragePart& storage = plan.method->storage_part();
    plan.hull = mine.hull;
    plan.bytes = mine.bytes;
    plan.covered = mine.bytes == mine.hull.length() &&
                   (plan.direction == Direction::read || mine.coverage == coverage(mine.hull));
    plan.ranks_with_data = mine.bytes > 0 ? 1 : 0;
    if (mine.bytes == 0) return;
    plan.ranks = plan.graph = Graph({{rank, mine.hull}});
    plan.aggregators = std::vector<Rank>{rank};
    // A sliced domain has a piece of every variable (part) outstanding and does not ascend through
    // the file, so it can't be combined with read-ahead or a limit of outstanding pieces.
    const auto* const calls = std::get_if<OwnCalls>(&plan.route);
    const bool sliced = calls != nullptr && !storage.buffered && calls->ahead.ranges == 0 &&
                        storage.outstanding_max != 1 && s.options->group_pieces == 0 && s.parts > 1;
    plan.domains = sliced ? FileDomains::sliced(mine.hull, 1, kPage, mine.period, mine.parts())
                          : FileDomains::even(mine.hull, 1, storage.unit);
    if (storage.buffered) plan.loads = loads_of(plan.direction, mine.hull, mine.bytes);
    set_buffers(plan, storage.window(plan.direction, *s.options), 1);
}

/// The rank that a plan is made for.
struct Audience {
    Rank rank = 0;
    bool alone = false;  ///< the plan leaves out what only other ranks need
};

/// Adds two layers to a plan: which local aggregator serves which ranks, and for which part of the
/// file. `windows`: the groups' data may go through windows. REQUIRES: the plan has its domains,
/// its aggregators and its `loads`.
void add_layers(Plan& plan, AllSummaries summaries, const Nodes& nodes, const PlanOptions& options,
                bool windows, Audience audience) {
    const Groups groups(nodes, summaries, options);
    auto& route = std::get<TwoPhase>(plan.route);
    route.layers = audience.alone ? Layers(nodes, groups, audience.rank) : Layers(nodes, groups);
    const Rank local = route.layers.local_aggregator_of(audience.rank);
    const int own = plan.aggregator_index(audience.rank);
    const auto wanted = [&](const Group& group) {
        return !audience.alone || group.local == local ||
               (own >= 0 && plan.domains.touches(own, group.hull));
    };
    std::vector<Participant> participants;
    groups.each([&](const Group& group) {
        if (group.hull.empty()) return;
        route.shiftable = route.shiftable && !has_none(summaries, group.local);
        if (wanted(group)) participants.push_back({group.local, group.hull});
    });
    plan.graph = Graph(std::move(participants));
    if (windows && !plan.asks_contents())
        route.layers = route.layers.with_windows(plan.message_bytes);
}

/// Returns the aggregators: one for each storage target if `by_target`, else `per_node` on each
/// node, unless hints say otherwise.
std::vector<Rank> aggregators_for(bool by_target, const PlanInputs& s, const Nodes& nodes,
                                  const AbleRanks& able, int per_node) {
    if (by_target) return choose_target_aggregators(nodes, able, *s.options, per_node);
    return choose_aggregators(nodes, able, *s.options, s.hull.length(), per_node);
}

/// Sets the inputs about the aggregators of methods that send messages: their number, with
/// `per_node` on each node, the limit of their sub-buffers, and between nodes the locality.
void expect_aggregators(PlanInputs& s, AllSummaries summaries, const Nodes& nodes,
                        const AbleRanks& able, int per_node) {
    std::vector<Rank> aggregators =
        aggregators_for(asks_for_targets(*s.options), s, nodes, able, per_node);
    s.aggregators = std::max(1, static_cast<int>(aggregators.size()));
    s.slot_most = slot_by_messages(s);
    if (s.one_node()) return;
    put_near_data(aggregators, summaries, nodes, s.hull);
    s.locality = locality_of(summaries, nodes, s.hull, aggregators);
}

/// Picks an arm by the times of earlier accesses. Returns null if `auto` doesn't learn, if there is
/// only one arm, or if a hint requests the method or a sparse graph. Very short accesses aren't
/// measured, because that would take longer than another arm could save.
std::shared_ptr<const Trial> trial_of(const PlanInputs& s, const Choice& choice) {
    constexpr double kWorthMeasuring = 50e-6;  // seconds
    const LearnedTimes* const learned = s.facts->learned;
    if (learned == nullptr || s.bytes == 0) return nullptr;
    if (s.options->method != nullptr || asks_for_edges(*s.options)) return nullptr;
    if (choice.method->seconds(s) < kWorthMeasuring) return nullptr;
    std::vector<ArmEstimate> arms = arms_of(s, *choice.method);
    if (arms.size() < 2) return nullptr;
    return std::make_shared<const Trial>(learned->trial(kind_of(s), std::move(arms)));
}

/// Puts the trial's arm in place of the model's choice.
void take_arm(Choice& choice, const PlanInputs& s, const Trial& trial) {
    choice.method = trial.arms[trial.picked].arm.method;
    choice.terms = estimate_terms(*choice.method, s);
    if (!trial.text.empty()) choice.why = "by the times of earlier accesses";
}

/// Lets each rank return when its own data has arrived, if no rank's data depends on another rank.
/// Writes end with an agreement, so that a write that failed anywhere fails on all ranks.
void end_late_if_possible(Plan& plan, const PlanInputs& s, AllSummaries summaries) {
    auto* const calls = std::get_if<OwnCalls>(&plan.route);
    if (calls == nullptr || calls->ranks_at_once > 0 || !s.reads() || s.bytes == 0) return;
    if (summaries.size() > 1 && !must_agree(summaries)) calls->ending = Ending::late;
}

/// Makes a plan in which the graph of ranks with data is still missing. With two layers, the plan
/// already has the graph of local aggregators, which exchange with the aggregators for their ranks.
Plan plan_without_ranks(Direction direction, AllSummaries summaries, const Nodes& nodes,
                        const PlanConfig& terms, const NodeSharing& sharing, Audience audience) {
    PlanInputs s = situation_of(direction, summaries, nodes, terms, sharing);
    s.collective = true;
    if (!s.one_node() || may_have_layers(terms.options, nodes))
        s.group_hulls = Groups(nodes, summaries, terms.options).hulls();
    const AbleRanks able = able_ranks(summaries);
    s.agents_storable = std::ranges::all_of(terms.facts.agents.ranks, able);
    const int by_messages = aggregators_by_messages(s);
    expect_aggregators(s, summaries, nodes, able, by_messages);
    Choice choice = choose_method(s);
    const auto trial = trial_of(s, choice);
    PlanOptions options = terms.options;
    if (trial != nullptr) {
        options = with_arm(options, trial->arms[trial->picked].arm);
        s.options = &options;
        expect_aggregators(s, summaries, nodes, able, by_messages);
        take_arm(choice, s, *trial);
    }
    Plan plan = start_plan(s, choice);
    plan.trial = trial;
    if (!plan.method->aggregated()) {
        const Rank rank = audience.rank;
        plan_alone(plan, s, rank, summaries[static_cast<std::size_t>(rank)]);
        end_late_if_possible(plan, s, summaries);
        return plan;
    }
    if (s.bytes == 0) return plan;
    const int per_node = aggregators_per_node(*plan.method, by_messages);
    const DomainsPart& domains = plan.method->domains_part(options);
    const SharedList<Rank>& agents = s.facts->agents.ranks;
    std::vector<Rank> aggregators =
        domains.by_agent ? std::vector(agents.begin(), agents.end())
                         : aggregators_for(domains.by_target, s, nodes, able, per_node);
    const Schedule& schedule = plan.method->schedule;
    if (schedule.aggregators_max > 0) aggregators.resize(schedule.aggregators_max);
    plan.domains = domains.make(s, static_cast<int>(aggregators.size()));
    // Blocks dealt in turn keep the chosen order, which goes from node to node.
    if (!plan.domains.is_cyclic()) put_near_data(aggregators, summaries, nodes, s.hull);
    plan.aggregators = std::move(aggregators);
    auto& route = std::get<TwoPhase>(plan.route);
    route.switches = nodes.switches();
    route.shiftable =
        std::ranges::none_of(plan.aggregators, [&](Rank one) { return has_none(summaries, one); });
    if (domains.by_agent && s.reads()) route.ahead = {options.max_acc, s.facts->agents.block};
    plan.loads = loads_of(s.direction, s.hull, s.bytes);
    if (plan.method->layers_part().local_aggregators)
        add_layers(plan, summaries, nodes, options, plan.method->has_windows(s), audience);
    if (loads_are_shared(s, plan)) plan.loads = Loads::by_any_rank;
    const bool of_node = schedule.slots == Schedule::of_node;
    const int own_slots = of_node ? slots_of_node(s, plan) : schedule.slots;
    const int slots = options.slots > 0 ? options.slots : own_slots;
    set_buffers(plan, options.collective_buffer(slots), slots, slot_bytes_most(s, plan, slots));
    plan.overlap = overlap_of(s, plan);
    route.partners = partners_of(s, plan);
    const bool reports = route.partners == Partners::requested && !must_agree(summaries);
    route.ending = reports ? Ending::reported : Ending::agreed;
    if (schedule.order != nullptr) plan.order = schedule.order(plan, {});
    return plan;
}

/// Adds the graph of the ranks with data for which `wanted(rank, hull)` holds.
template <class Wanted>
void add_ranks(Plan& plan, AllSummaries summaries, Wanted wanted) {
    if (!plan.method->aggregated() || plan.bytes == 0) return;
    plan.ranks = graph_of(summaries, wanted);
    if (!plan.layers().two()) plan.graph = plan.ranks;
}

}  // namespace

const Layers& Plan::layers() const {
    static const Layers one_layer;
    const auto* const two_phase = std::get_if<TwoPhase>(&route);
    return two_phase != nullptr ? two_phase->layers : one_layer;
}

Partners Plan::partners() const {
    const auto* const two_phase = std::get_if<TwoPhase>(&route);
    return two_phase != nullptr ? two_phase->partners : Partners::by_hull;
}

Ending Plan::ending() const {
    if (const auto* const calls = std::get_if<OwnCalls>(&route)) return calls->ending;
    const auto* const two_phase = std::get_if<TwoPhase>(&route);
    return two_phase != nullptr ? two_phase->ending : Ending::agreed;
}

bool Plan::shiftable() const {
    const auto* const two_phase = std::get_if<TwoPhase>(&route);
    return two_phase == nullptr || two_phase->shiftable;
}

int Plan::ranks_at_once() const {
    const auto* const calls = std::get_if<OwnCalls>(&route);
    return calls != nullptr ? calls->ranks_at_once : 0;
}

bool Plan::can_move(Offset by) const {
    return by == 0 || (shiftable() && domains.can_move(by));
}

Plan Plan::moved(Offset by) const {
    Plan plan = *this;
    if (by == 0) return plan;
    plan.hull = {hull.begin + by, hull.end + by};
    plan.ranks = ranks.moved(by);
    plan.graph = graph.moved(by);
    plan.domains = domains.moved(by);
    return plan;
}

bool Plan::asks_places() const {
    return method->schedule.asks_places && rounds > 1 &&
           rounds * std::ssize(aggregators) <= kOrderedRoundsMost;
}

bool Plan::sends_messages() const {
    return ranks_at_once() > 0 || method->exchange_part().sends_messages;
}

Bytes Plan::node_bytes() const {
    if (!method->on_node()) return layers().in_windows() ? layers().node_bytes(direction) : 0;
    return static_cast<Bytes>(aggregators.size()) * buffer_bytes();
}

bool Plan::keeps_holes() const {
    return direction == Direction::write && method->storage_part().buffered && !covered;
}

Ahead ahead_of(const PlanOptions& options) {
    constexpr Bytes kBlock = 1 << 20;
    return {options.max_acc, options.striping_unit > 0 ? options.striping_unit : kBlock};
}

Bytes message_bytes_of(const PlanOptions& options) {
    return std::max(kMessageMin, std::min(options.message_bytes, options.cb_buffer_size / 8));
}

Plan make_plan(Direction direction, const Agreed<AllSummaries>& summaries,
               const Agreed<const Nodes&>& nodes, const Agreed<PlanConfig>& terms,
               const Agreed<NodeSharing>& sharing, Rank rank) {
    Plan plan = plan_without_ranks(direction, *summaries, *nodes, *terms, *sharing, {rank});
    add_ranks(plan, *summaries, [](Rank, Extent) { return true; });
    return plan;
}

Plan make_plan_for(Rank rank, Direction direction, const Agreed<AllSummaries>& summaries,
                   const Agreed<const Nodes&>& nodes, const Agreed<PlanConfig>& terms,
                   const Agreed<NodeSharing>& sharing) {
    Plan plan = plan_without_ranks(direction, *summaries, *nodes, *terms, *sharing, {rank, true});
    const int own = plan.aggregator_index(rank);
    const bool shares = plan.method->on_node();
    const std::vector<Rank> group =
        plan.layers().two() ? plan.layers().group_of(rank) : std::vector<Rank>();
    add_ranks(plan, *summaries, [&](Rank other, Extent hull) {
        if (plan.layers().two()) return other == rank || std::ranges::binary_search(group, other);
        return shares || other == rank || (own >= 0 && plan.domains.touches(own, hull));
    });
    return plan.for_rank(rank, *nodes);
}

Plan make_own_plan(Direction direction, Rank rank, const AccessSummary& mine,
                   const PlanConfig& terms) {
    PlanInputs s = situation_of(direction, {&mine, 1}, {}, terms, {});
    s.alike = terms.facts.ranks_of_machine;  // most programs do the same on all ranks
    s.cores = terms.facts.cores_of_machine;
    Plan plan = start_plan(s, choose_method(s));
    plan_alone(plan, s, rank, mine);
    return plan;
}

}  // namespace oratorio
