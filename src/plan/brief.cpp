// SPDX-License-Identifier: BSD-3-Clause
#include "plan/brief.hpp"

#include <algorithm>
#include <cmath>

#include "base/amounts.hpp"
#include "plan/learning.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

std::string bytes_text(Bytes bytes) {
    return oratorio::bytes_text(static_cast<double>(bytes));
}

/// Lists the ranks, at most kRanksTold of them.
std::string ranks_text(std::span<const Rank> ranks) {
    std::string text = ranks.size() == 1 ? "rank" : "ranks";
    for (std::size_t i = 0; i < ranks.size() && i < kRanksTold; ++i)
        text += " " + std::to_string(ranks[i]);
    return ranks.size() > kRanksTold ? text + " ..." : text;
}

/// Describes the pieces that all ranks have in the file.
std::string data_text(const Plan& plan) {
    const AccessTotals& all = plan.all;
    if (all.bytes == 0 || all.pieces == 0) return "none";
    const double mean = static_cast<double>(all.bytes) / static_cast<double>(all.pieces);
    std::string text = counted(all.pieces, "contiguous piece") + " of " +
                       oratorio::bytes_text(mean) + (all.pieces > 1 ? " on average" : "");
    if (all.span > all.bytes)
        return text + ", spread over " + bytes_text(all.span) + " of the file";
    return plan.covered ? text + ", no holes" : text;
}

std::string buffers_text(const Plan& plan) {
    return counted(plan.slots, "buffer") + " of " + bytes_text(plan.slot_bytes) + " each, " +
           counted(plan.rounds, "round");
}

/// Describes which ranks move the data, and through which buffers.
std::string how_text(const Plan& plan) {
    const StoragePart& storage = plan.method->storage_part();
    if (plan.method->aggregated()) {
        const bool combines = part_of(plan.method->domains).by_agent;
        std::string text =
            counted(std::ssize(plan.aggregators), combines ? "agent" : "aggregator") + " (" +
            ranks_text(plan.aggregators) + ") with " + buffers_text(plan);
        if (plan.layers().two())
            text +=
                "; local aggregators: " + std::to_string(plan.layers().local_aggregators_in_all());
        return text;
    }
    if (const auto* const shipped = std::get_if<Shipped>(&plan.route);
        shipped != nullptr && !shipped->agents.ranks.empty())
        return counted(std::ssize(shipped->agents.ranks), "agent") + " (" +
               ranks_text(shipped->agents.ranks) + ") for blocks of " +
               bytes_text(shipped->agents.block);
    std::string text = "each rank moves its own data";
    if (storage.buffered) text += " with " + buffers_text(plan);
    if (const auto* const calls = std::get_if<OwnCalls>(&plan.route);
        calls != nullptr && calls->pieces_at_once > 0)
        text += ", at most " + counted(calls->pieces_at_once, "piece") + " at once";
    if (plan.ranks_at_once() > 0)
        text += ", at most " + counted(plan.ranks_at_once(), "rank") + " at the storage";
    return text;
}

/// Describes an alternative: its estimate, and why `auto` leaves it out; or why it does not apply.
std::string alternative_text(const Candidate& candidate) {
    if (!candidate.applies) return "does not apply: " + std::string(candidate.reason);
    std::string text = seconds_text(candidate.seconds);
    return candidate.reason.empty() ? text : text + ", " + std::string(candidate.reason);
}

/// Describes how the method was chosen, and why one that a hint names was not.
std::string why_text(const Plan& plan) {
    std::string text(plan.why);
    for (const Candidate& one : plan.candidates)
        if (plan.asked != nullptr && plan.asked->name != plan.method->name &&
            one.name == plan.asked->name)
            text += " (" + std::string(one.name) + ": " + std::string(one.reason) + ")";
    return text + "; estimated " + seconds_text(plan.seconds());
}

std::string padded(std::string_view text, std::size_t width) {
    std::string result(text);
    result.resize(std::max(width, result.size() + 1), ' ');
    return result;
}

}  // namespace

std::vector<Candidate> alternatives(const Plan& plan) {
    std::vector<Candidate> all;
    for (const Candidate& one : plan.candidates)
        if (one.name != plan.method->name) all.push_back(one);
    std::ranges::stable_sort(all, [](const Candidate& a, const Candidate& b) {
        if (a.applies != b.applies) return a.applies;
        return a.applies && a.seconds < b.seconds;
    });
    constexpr double kAlike = 0.01;
    std::vector<Candidate> best;
    for (const Candidate& one : all) {
        const auto alike = [&](double seconds) {
            return one.applies && std::abs(one.seconds - seconds) <= kAlike * one.seconds;
        };
        if (best.size() < kAlternatives && !alike(plan.seconds()) &&
            !std::ranges::any_of(best, alike, &Candidate::seconds))
            best.push_back(one);
    }
    return best;
}

std::string explain_briefly(const Plan& plan) {
    std::vector<PlanFact> rows{
        {"method", std::string(plan.method->name) + ": " + std::string(plan.method->summary)},
        {"why", why_text(plan)},
        {"data", data_text(plan)}};
    if (plan.trial != nullptr && !plan.trial->text.empty())
        rows.push_back({"learned", plan.trial->text});
    if (plan.bytes > 0) rows.push_back({"how", how_text(plan)});
    rows.push_back(
        {"instead", "estimates; the hint oratorio_method=NAME selects one that applies"});
    std::string text = text_of(rows);
    constexpr std::size_t kWidth = 29;  // two more than the longest name
    for (const Candidate& one : alternatives(plan))
        text += "    " + padded(one.name, kWidth) + alternative_text(one) + "\n";
    const std::vector<PlanFact> last{{"faster", advice_on(plan)}};
    return text + text_of(last);
}

}  // namespace oratorio
