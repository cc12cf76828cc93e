// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <span>

#include "plan/methods.hpp"
#include "plan/plan.hpp"

namespace oratorio {

namespace {

std::string number(std::int64_t value) {
    return std::to_string(value);
}

std::string milliseconds(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f ms", seconds * 1e3);
    return text;
}

/// Lists the ranks, at most kRanksTold of them; with more, `all` is printed as their number.
std::string list_of(std::span<const Rank> ranks, std::size_t all) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size() && i < kRanksTold; ++i)
        text += (i > 0 ? " " : "") + number(ranks[i]);
    if (all > kRanksTold) text += " ... (" + number(static_cast<std::int64_t>(all)) + ")";
    return text;
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
    return plan.domains.is_cyclic() ? "cyclic(" + block + ")" : "even, " + block + " bytes each";
}

std::string graph_text(const Plan& plan) {
    const Edges* const edges = plan.graph.edges();
    return "only ranks that have data in a round talk" +
           (edges != nullptr ? ", " + number(edges->count) + " edges" : "");
}

/// Describes the local aggregators and the number of ranks for each.
std::string layers_text(const Plan& plan) {
    return list_of(plan.layers.local_aggregators(), plan.layers.local_aggregators_in_all()) +
           ", each for at most " + number(plan.layers.group_ranks()) + " ranks of its node; " +
           std::string(plan.layers.in_windows()
                           ? "their ranks put their data into windows that they share"
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
           ": method " + std::string(plan.method->name) + " (" + std::string(plan.why) + ")\n" +
           "  what         " + std::string(plan.method->summary) + "\n";
}

std::string range_text(const Plan& plan) {
    return "  file range   [" + number(plan.hull.begin) + ", " + number(plan.hull.end) + ")\n";
}

/// Describes the data. Without an exchange each rank plans for its own data.
std::string data_text(const Plan& plan) {
    const bool all = plan.collective && plan.method->aggregated();
    const bool nobody = plan.aggregators.empty();
    std::string text = "  data         " + number(plan.bytes) + " bytes of ";
    text += all || nobody ? "all ranks" : "rank " + number(plan.aggregators.front());
    if (plan.direction == Direction::write)
        text += plan.covered ? ", covered once" : ", with holes or overlaps";
    return text + "\n";
}

std::string work_text(const Plan& plan) {
    std::string text = "  file domains " + domains_text(plan) + "\n";
    text += "  storage      " + std::string(plan.method->storage_part().name) +
            (plan.atomic ? ", locked (atomic mode)" : "") + "\n";
    if (plan.pieces_at_once > 0)
        text += "  outstanding  at most " + number(plan.pieces_at_once) + " of a rank's pieces\n";
    if (!plan.agents.ranks.empty())
        text += "  agents       " + list_of(plan.agents.ranks, plan.agents.ranks.size()) + ", " +
                number(plan.agents.threads) + " threads each, for blocks of " +
                number(plan.agents.block) + " bytes in turn; messages of at most " +
                number(plan.agents.message) + " bytes\n";
    if (plan.ahead.ranges > 0)
        text += "  read ahead   " + number(2 * plan.ahead.ranges) + " ranges, one per block of " +
                number(plan.ahead.block) + " bytes; " + number(plan.ahead.ranges) +
                " accessed at once\n";
    if (plan.ranks_at_once > 0) {
        const std::string group = number(plan.ranks_at_once);
        text += "  turns        at most " + group + " at the storage, each lets in rank + " +
                group + "\n";
    }
    if (plan.method->storage_part().buffered) {
        text += "  aggregators  " + list_of(plan.aggregators, plan.aggregators.size()) +
                (plan.shared_loads ? ", and whichever rank is free loads for them" : "") + "\n";
        text += "  buffers      " + number(plan.slots) + " x " + number(plan.slot_bytes) +
                " bytes per aggregator, " + number(plan.rounds) + " rounds\n";
    }
    if (plan.method->aggregated() || plan.method->storage_part().shipped)
        text += "  requests     " + std::string(plan.method->request_part().what) + "\n";
    if (plan.thin) text += "  graph        " + graph_text(plan) + "\n";
    if (plan.sparse)
        text += plan.told ? "  end          each rank is told by the aggregators that it has data "
                            "with, and waits for nobody else\n"
                          : "  end          all ranks agree, as some rank was refused or has more "
                            "to do\n";
    if (plan.method->schedule.asks_places)
        text += plan.order.ascending()
                    ? "  order        as in the file: no places on the device are known\n"
                    : "  order        by place on the device\n";
    const ExchangePart& exchange = plan.method->exchange_part();
    if (!exchange.what.empty()) text += "  exchange     " + std::string(exchange.what) + "\n";
    if (plan.layers.two()) text += "  layers       local aggregators " + layers_text(plan) + "\n";
    if (exchange.sends_messages) {
        const std::string most = exchange.in_pieces
                                     ? number(message_pieces_of(plan.message_bytes)) + " pieces, "
                                     : number(plan.message_bytes) + " bytes, ";
        text += "  messages     at most " + most + number(plan.messages_in_flight) +
                " in flight per rank and direction\n";
    }
    return text;
}

/// Names the cheapest method if hints or the rules of `auto` left it out.
std::string cheaper_text(const Plan& plan) {
    const Candidate* least = nullptr;
    for (const Candidate& one : plan.candidates) {
        if (one.applies && (least == nullptr || one.seconds < least->seconds)) least = &one;
    }
    if (least == nullptr || least->seconds >= plan.seconds()) return "";
    const std::string_view why =
        least->reason.empty() ? "another was asked for by name" : least->reason;
    return "  cheaper is   " + std::string(least->name) + ", " + milliseconds(least->seconds) +
           ": " + std::string(why) + "\n";
}

/// Describes the closed form's terms for a method with messages.
std::string terms_text(const Plan& plan) {
    constexpr double kNano = 1e-9;
    if (!plan.method->exchange_part().sends_messages) return "";
    const CostTerms& terms = plan.terms;
    std::string text = "  estimate     agreements " + milliseconds(kNano * terms.agreements);
    if (plan.layers.two()) text += ", gather " + milliseconds(kNano * terms.gather);
    return text + ", exchange " + milliseconds(kNano * terms.exchange) + " (waits for " +
           std::string(terms.waits) + "), storage " + milliseconds(kNano * terms.storage) + "\n";
}

std::string candidates_text(const Plan& plan) {
    std::string text =
        plan.collective ? "  candidates   (estimated until the last rank is done)\n"
                        : "  candidates   (estimated as if all ranks of the machine did as much)\n";
    for (const Candidate& candidate : plan.candidates) text += "    " + line_of(candidate) + "\n";
    return text;
}

}  // namespace

std::string explain(const Plan& plan) {
    return heading(plan) + range_text(plan) + data_text(plan) + work_text(plan) + terms_text(plan) +
           cheaper_text(plan) + candidates_text(plan);
}

std::string likeness(const Plan& plan) {
    return heading(plan) + data_text(plan) + work_text(plan);
}

}  // namespace oratorio
