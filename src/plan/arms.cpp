// SPDX-License-Identifier: BSD-3-Clause
#include "plan/arms.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/amounts.hpp"
#include "plan/methods.hpp"
#include "plan/parts.hpp"
#include "type/coverage.hpp"

namespace oratorio {

namespace {

ArmEstimate estimate_of(const Arm& arm, const PlanInputs& inputs) {
    return {arm, arm.method->seconds(inputs), arm.method->waiting()};
}

/// Adds arms that vary the parameters of a method with messages. Within a node, cores and caches
/// determine the parameters, so only accesses between nodes have such arms.
void add_variants(std::vector<ArmEstimate>& arms, const PlanInputs& s, const Method& method) {
    if (s.one_node()) return;
    for (const int aggregators : {2 * s.aggregators, s.aggregators / 2}) {
        if (s.options->cb_nodes > 0 || !s.options->aggregators.empty()) continue;
        if (aggregators < 1 || aggregators > s.ranks) continue;
        PlanInputs other = s;
        other.aggregators = aggregators;
        other.locality.reset();
        arms.push_back(estimate_of({.method = &method, .aggregators = aggregators}, other));
    }
    constexpr int kMoreSlots = 4;
    if (s.options->slots == 0)
        arms.push_back(estimate_of({.method = &method, .slots = kMoreSlots}, s));
    const bool striped = s.options->striping_unit > 0 && s.options->striping_factor > 1;
    if (striped && s.options->domains == DomainsChoice::automatic)
        arms.push_back(estimate_of({.method = &method, .domains = DomainsChoice::stripes}, s));
}

/// Returns four times the logarithm (base 2) of `value`, rounded down; 0 for values below 1. Avoids
/// operations that processors may round differently.
int quarter_log(double value) {
    constexpr std::array<double, 3> kQuarters{0.5946035575, 0.7071067812, 0.8408964153};
    if (value <= 1) return 0;
    int exponent = 0;
    const double mantissa = std::frexp(value, &exponent);  // lies between 0.5 and 1
    const auto passed =
        std::ranges::count_if(kQuarters, [&](double one) { return mantissa >= one; });
    return 4 * (exponent - 1) + static_cast<int>(passed);
}

/// Returns the logarithm (base 2) of `value`, rounded to the nearest integer; 0 for values below 1.
int rounded_log(double value) {
    return (quarter_log(value) + 2) / 4;
}

double mean_of(Bytes bytes, std::int64_t pieces) {
    return static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(1, pieces));
}

/// Returns a hash of all options but the method (which is null if an access is measured) and those
/// that AccessKind::facts has.
std::uint64_t hash_of(const PlanOptions& options) {
    std::uint64_t hash = 0;
    const auto add = [&hash](std::int64_t value) {
        hash = mix(static_cast<Offset>(hash ^ static_cast<std::uint64_t>(value)));
    };
    for (const std::int64_t value : {options.cb_buffer_size,
                                     static_cast<Bytes>(options.buffer_per_slot),
                                     static_cast<Bytes>(options.cb_nodes),
                                     static_cast<Bytes>(options.cb_read),
                                     static_cast<Bytes>(options.cb_write),
                                     static_cast<Bytes>(options.ds_read),
                                     static_cast<Bytes>(options.ds_write),
                                     options.ind_rd_buffer_size,
                                     options.ind_wr_buffer_size,
                                     options.striping_unit,
                                     options.cyclic_block,
                                     static_cast<Bytes>(options.domains),
                                     static_cast<Bytes>(options.striping_factor),
                                     static_cast<Bytes>(options.slots),
                                     options.message_bytes,
                                     static_cast<Bytes>(options.messages_in_flight),
                                     static_cast<Bytes>(options.local_aggregators),
                                     static_cast<Bytes>(options.local_aggregators_per_node),
                                     options.sub_buffer,
                                     static_cast<Bytes>(options.group),
                                     static_cast<Bytes>(options.group_pieces),
                                     static_cast<Bytes>(options.max_acc),
                                     static_cast<Bytes>(options.agent_count),
                                     static_cast<Bytes>(options.agent_threads),
                                     options.ship_block,
                                     static_cast<Bytes>(options.sparse)})
        add(value);
    for (const char c : options.cb_config_list) add(static_cast<unsigned char>(c));
    for (const Rank rank : options.aggregators) add(rank);
    return hash;
}

/// Returns true if the method may be tried in place of the chosen one. A direct write of a piece
/// that isn't aligned goes through the page cache, which reports a failing disk only at the next
/// sync; so no method whose ranks write their own pieces replaces one with aggregators.
bool may_replace(const Method& method, const Method& chosen, const PlanInputs& s) {
    const bool weaker = s.is_direct() && !s.reads() && chosen.aggregated() && !method.aggregated();
    return &method != &chosen && !weaker && may_try(method, s);
}

}  // namespace

std::string to_text(const Arm& arm) {
    std::string text(arm.method->name);
    if (arm.aggregators > 0)
        text += " with " + counted(static_cast<std::uint64_t>(arm.aggregators), "aggregator");
    if (arm.slots > 0) text += " with " + counted(static_cast<std::uint64_t>(arm.slots), "slot");
    if (arm.domains == DomainsChoice::stripes) text += " by stripes";
    return text;
}

PlanOptions with_arm(const PlanOptions& options, const Arm& arm) {
    PlanOptions result = options;
    if (arm.aggregators > 0) result.cb_nodes = arm.aggregators;
    if (arm.slots > 0) result.slots = arm.slots;
    if (arm.domains != DomainsChoice::automatic) result.domains = arm.domains;
    return result;
}

std::vector<ArmEstimate> arms_of(const PlanInputs& inputs, const Method& chosen) {
    std::vector<ArmEstimate> arms{estimate_of({.method = &chosen}, inputs)};
    for (const Method& method : methods()) {
        if (may_replace(method, chosen, inputs))
            arms.push_back(estimate_of({.method = &method}, inputs));
    }
    const Method* by_messages = nullptr;
    double least = INFINITY;
    for (const ArmEstimate& one : arms) {
        if (one.waiting < 2 || one.seconds >= least || !may_choose(*one.arm.method, inputs))
            continue;
        by_messages = one.arm.method;
        least = one.seconds;
    }
    if (by_messages != nullptr) add_variants(arms, inputs, *by_messages);
    std::stable_sort(arms.begin() + 1, arms.end(),
                     [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    arms.resize(std::min(arms.size(), kArmsMost));
    return arms;
}

AccessKind kind_of(const PlanInputs& s) {
    const auto bytes = static_cast<double>(std::max<Bytes>(1, s.bytes));
    const auto span = static_cast<double>(std::max<Bytes>(1, s.hull.length()));
    const bool aligned = s.hull.begin % kPage == 0 && s.hull.end % kPage == 0;
    AccessKind kind;
    kind.direction = s.direction;
    kind.ranks = s.ranks;
    kind.ranks_with_data = s.ranks_with_data;
    kind.nodes = s.nodes;
    kind.file_system = static_cast<std::uint64_t>(s.facts->file_system);
    kind.quarters = quarter_log(bytes);
    kind.piece = rounded_log(mean_of(s.bytes, s.pieces));
    kind.memory_piece = rounded_log(mean_of(s.bytes, s.memory_pieces));
    kind.density = rounded_log(span / bytes);
    kind.overlap = rounded_log(s.hulls / span);
    kind.facts = (s.covered ? 1 : 0) | (aligned ? 2 : 0) | (s.is_direct() ? 4 : 0) |
                 (s.parts > 1 ? 8 : 0) | (s.facts->asynchronous ? 16 : 0) |
                 (s.options->atomic ? 32 : 0);
    kind.options = hash_of(*s.options);
    return kind;
}

}  // namespace oratorio
