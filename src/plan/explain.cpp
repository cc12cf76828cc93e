// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <span>

#include "base/amounts.hpp"
#include "base/decimal.hpp"
#include "plan/learning.hpp"
#include "plan/methods.hpp"
#include "plan/plan.hpp"

namespace oratorio {

namespace {

std::string number(std::int64_t value) {
    return std::to_string(value);
}

std::string many(std::int64_t value, const char* noun) {
    return counted(static_cast<std::uint64_t>(value), noun);
}

std::string milliseconds(double seconds) {
    return fixed_text(seconds * 1e3, 3) + " ms";
}

/// Lists the ranks, at most kRanksTold of them. If there are more, appends `all`, the number of all
/// ranks.
std::string list_of(std::span<const Rank> ranks, std::size_t all) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size() && i < kRanksTold; ++i)
        text += (i > 0 ? " " : "") + number(ranks[i]);
    if (all > kRanksTold) text += " ... (" + number(static_cast<std::int64_t>(all)) + ")";
    return text;
}

/// Returns true if agents combine the requests of all ranks.
bool combines(const Plan& plan) {
    return part_of(plan.method->domains).by_agent;
}

std::string domains_text(const Plan& plan) {
    if (!plan.method->aggregated()) {
        std::string text = "none (each rank its own hull)";
        if (plan.domains.parts() > 1)
            text += ", a slice of all " + number(plan.domains.parts()) + " parts at a time";
        return text;
    }
    const std::string block = number(plan.domains.block());
    if (plan.domains.parts() > 1)
        return "even in each of " + number(plan.domains.parts()) + " parts, " + block +
               " bytes each";
    if (combines(plan)) return "blocks of " + block + " bytes, bound to the agents in turn";
    if (plan.domains.is_striped())
        return "stripes of " + block + " bytes, dealt by their number in the file";
    return plan.domains.is_cyclic() ? "cyclic(" + block + ")" : "even, " + block + " bytes each";
}

std::string graph_text(const Plan& plan) {
    const Edges* const edges = plan.graph.edges();
    return "only ranks with data in a round communicate" +
           (edges != nullptr ? ", " + many(edges->count, "edge") : "");
}

/// Describes the local aggregators and the number of ranks for each.
std::string layers_text(const Plan& plan) {
    return list_of(plan.layers().local_aggregators(), plan.layers().local_aggregators_in_all()) +
           ", each for at most " + many(plan.layers().group_ranks(), "rank") + " of its node; " +
           std::string(plan.layers().in_windows() ? "their ranks put data into shared windows"
                                                  : plan.method->layers_part().what);
}

std::string line_of(const Candidate& candidate) {
    std::string name(candidate.name);
    constexpr std::size_t kWidth = 29;  // two more than the longest name
    name.resize(kWidth, ' ');
    if (!candidate.applies) return name + "does not apply: " + std::string(candidate.reason);
    std::string line = name + milliseconds(candidate.seconds);
    if (!candidate.reason.empty()) line += ", " + std::string(candidate.reason);
    return line;
}

std::string heading(const Plan& plan) {
    return std::string(plan.collective ? "collective " : "independent ") + name_of(plan.direction) +
           ": method " + std::string(plan.method->name) + " (" + std::string(plan.why) + ")\n";
}

void add_summary(std::vector<PlanFact>& facts, const Plan& plan) {
    facts.push_back({"what", std::string(plan.method->summary)});
}

void add_range(std::vector<PlanFact>& facts, const Plan& plan) {
    facts.push_back(
        {"file range", "[" + number(plan.hull.begin) + ", " + number(plan.hull.end) + ")"});
}

/// Describes the data. Without an exchange each rank plans for its own data.
void add_data(std::vector<PlanFact>& facts, const Plan& plan) {
    const bool all = plan.collective && plan.method->aggregated();
    const bool nobody = plan.aggregators.empty();
    std::string text = number(plan.bytes) + " bytes of ";
    text += all || nobody ? "all ranks" : "rank " + number(plan.aggregators.front());
    if (plan.direction == Direction::write)
        text += plan.covered ? ", covered once" : ", with holes or overlaps";
    facts.push_back({"data", text});
    const AccessTotals& totals = plan.all;
    facts.push_back({"pieces", number(totals.pieces) + " in the file, " +
                                   number(totals.memory_pieces) + " in memory; " +
                                   number(totals.bytes) +
                                   " bytes, ranks with data: " + number(totals.ranks)});
}

void add_ahead(std::vector<PlanFact>& facts, const Ahead& ahead) {
    if (ahead.ranges == 0) return;
    facts.push_back({"read ahead", number(2 * ahead.ranges) + " ranges, one per block of " +
                                       number(ahead.block) + " bytes; " + number(ahead.ranges) +
                                       " accessed at once"});
}

void add_calls(std::vector<PlanFact>& facts, const OwnCalls& calls) {
    if (calls.pieces_at_once > 0)
        facts.push_back(
            {"outstanding", "at most " + number(calls.pieces_at_once) + " of a rank's pieces"});
    add_ahead(facts, calls.ahead);
    if (calls.ranks_at_once > 0) {
        const std::string group = number(calls.ranks_at_once);
        facts.push_back({"turns", "at most " + many(calls.ranks_at_once, "rank") +
                                      " at the storage at once; rank r then lets in rank r + " +
                                      group});
    }
}

void add_agents(std::vector<PlanFact>& facts, const Shipped& shipped) {
    const AgentFacts& agents = shipped.agents;
    facts.push_back({"agents", list_of(agents.ranks, agents.ranks.size()) + ", " +
                                   many(agents.threads, "thread") + " each, for blocks of " +
                                   number(agents.block) + " bytes in turn; messages of at most " +
                                   number(agents.message) + " bytes"});
    if (!shipped.uncombined.empty())
        facts.push_back(
            {"combined", "no, each request by itself: " + std::string(shipped.uncombined)});
}

std::string_view overlap_text(Overlap overlap) {
    switch (overlap) {
        case Overlap::none:
            return "any free rank loads a buffer";
        case Overlap::other_ranks:
            return "an aggregator's own thread makes the storage calls, while other ranks of the "
                   "node use its other buffers; they leave no core for an I/O thread";
        case Overlap::io_thread:
            return "an I/O thread makes the storage calls during the next exchange";
        case Overlap::store:
            return "storage requests progress by themselves during the next exchange";
    }
    return "";
}

void add_storage(std::vector<PlanFact>& facts, const Plan& plan) {
    facts.push_back({"file domains", domains_text(plan)});
    facts.push_back({"storage", std::string(plan.method->storage_part().name) +
                                    (plan.atomic ? ", locked (atomic mode)" : "")});
    if (const auto* const calls = std::get_if<OwnCalls>(&plan.route)) add_calls(facts, *calls);
    if (plan.ending() == Ending::late)
        facts.push_back({"end",
                         "each rank returns when its own data has arrived; a failure of another "
                         "rank is reported by the next collective access or close"});
    if (const auto* const shipped = std::get_if<Shipped>(&plan.route)) add_agents(facts, *shipped);
    if (!plan.method->storage_part().buffered) return;
    facts.push_back({combines(plan) ? "agents" : "aggregators",
                     list_of(plan.aggregators, plan.aggregators.size()) +
                         (plan.any_rank_loads() ? "; any idle rank loads data for them" : "")});
    const auto* const two_phase = std::get_if<TwoPhase>(&plan.route);
    if (two_phase != nullptr && two_phase->switches > 1)
        facts.push_back({"switches", number(two_phase->switches) + " that link the ranks' nodes"});
    facts.push_back(
        {"buffers", number(plan.slots) + " x " + number(plan.slot_bytes) +
                        (combines(plan) ? " bytes per agent, " : " bytes per aggregator, ") +
                        many(plan.rounds, "round")});
    if (two_phase != nullptr) add_ahead(facts, two_phase->ahead);
    if (plan.slots > 1) facts.push_back({"overlap", std::string(overlap_text(plan.overlap))});
}

void add_exchange(std::vector<PlanFact>& facts, const Plan& plan) {
    if (plan.method->aggregated() || plan.method->storage_part().shipped)
        facts.push_back({"requests", std::string(plan.method->request_part().what)});
    if (plan.partners() != Partners::by_hull) facts.push_back({"graph", graph_text(plan)});
    if (plan.partners() == Partners::requested)
        facts.push_back(
            {"end",
             plan.ending() == Ending::reported
                 ? "each rank learns the outcome from the aggregators of its data, and waits for "
                   "no other rank"
                 : "all ranks agree on the outcome, because some rank has an error or more work"});
    if (plan.method->schedule.asks_places)
        facts.push_back({"order", plan.order.ascending()
                                      ? "file order, because locations on the device are unknown"
                                      : "by location on the device"});
    const ExchangePart& exchange = plan.method->exchange_part();
    if (!exchange.what.empty()) facts.push_back({"exchange", std::string(exchange.what)});
    if (plan.layers().two()) facts.push_back({"layers", "local aggregators " + layers_text(plan)});
    if (!exchange.sends_messages) return;
    const std::string most = exchange.in_pieces
                                 ? many(message_pieces_of(plan.message_bytes), "piece") + ", "
                                 : number(plan.message_bytes) + " bytes, ";
    facts.push_back({"messages", "at most " + most + number(plan.messages_in_flight) +
                                     " in flight per rank and direction"});
}

/// Adds the terms of the closed form, if the method sends messages.
void add_estimate(std::vector<PlanFact>& facts, const Plan& plan) {
    constexpr double kNano = 1e-9;
    if (!plan.method->exchange_part().sends_messages) return;
    const CostTerms& terms = plan.terms;
    std::string text = "agreements " + milliseconds(kNano * terms.agreements);
    if (plan.layers().two()) text += ", gather " + milliseconds(kNano * terms.gather);
    facts.push_back({"estimate", text + ", exchange " + milliseconds(kNano * terms.exchange) +
                                     " (limited by " + std::string(terms.waits) + "), storage " +
                                     milliseconds(kNano * terms.storage)});
}

/// Says why the plan's method was chosen although `candidate` is cheaper.
std::string_view why_not(const Candidate& candidate, const Plan& plan) {
    if (!candidate.reason.empty()) return candidate.reason;
    if (plan.asked != nullptr && plan.asked->name == plan.method->name)
        return "another method was requested by name";
    if (plan.trial != nullptr && !plan.trial->text.empty())
        return "times of earlier accesses decided";
    return "about as cheap, but ranks wait less for each other in the chosen method";
}

/// Names the cheapest method that applies, if it is cheaper than the plan's, and why it wasn't
/// chosen.
void add_cheaper(std::vector<PlanFact>& facts, const Plan& plan) {
    const Candidate* least = nullptr;
    for (const Candidate& one : plan.candidates) {
        if (one.applies && (least == nullptr || one.seconds < least->seconds)) least = &one;
    }
    if (least == nullptr || least->seconds >= plan.seconds()) return;
    facts.push_back({"cheaper is", std::string(least->name) + ", " + milliseconds(least->seconds) +
                                       ": " + std::string(why_not(*least, plan))});
}

std::string candidates_text(const Plan& plan) {
    std::string text =
        plan.collective
            ? "  candidates   (estimated time until the last rank is done)\n"
            : "  candidates   (estimated time if all ranks of the machine do the same)\n";
    for (const Candidate& candidate : plan.candidates) text += "    " + line_of(candidate) + "\n";
    return text;
}

}  // namespace

std::string text_of(std::span<const PlanFact> facts) {
    constexpr std::size_t kWidth = 13;  // one more than the longest key
    std::string text;
    for (const PlanFact& fact : facts) {
        std::string key(fact.key);
        key.resize(kWidth, ' ');
        text += "  " + key + fact.text + "\n";
    }
    return text;
}

std::vector<PlanFact> facts_of(const Plan& plan) {
    std::vector<PlanFact> facts;
    add_summary(facts, plan);
    add_range(facts, plan);
    add_data(facts, plan);
    add_storage(facts, plan);
    add_exchange(facts, plan);
    add_estimate(facts, plan);
    add_cheaper(facts, plan);
    if (plan.trial != nullptr && !plan.trial->text.empty())
        facts.push_back({"learned", plan.trial->text});
    return facts;
}

std::string explain(const Plan& plan) {
    return heading(plan) + text_of(facts_of(plan)) + candidates_text(plan);
}

std::string fingerprint(const Plan& plan) {
    std::vector<PlanFact> facts;
    add_summary(facts, plan);
    add_data(facts, plan);
    add_storage(facts, plan);
    add_exchange(facts, plan);
    return heading(plan) + text_of(facts);
}

}  // namespace oratorio
