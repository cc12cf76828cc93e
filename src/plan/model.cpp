// SPDX-License-Identifier: BSD-3-Clause
#include "plan/model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "plan/access.hpp"

namespace oratorio {

namespace {

/// Returns how many of `ranks` ranks, spread over all nodes, work at once on one node.
double at_once(const JobShape& shape, double ranks) {
    return std::max(std::min(1.0, shape.cores), std::min(ranks / shape.nodes, shape.cores));
}

/// Returns the work of receiving the messages of `load`, without their bytes. The queue of waiting
/// messages has `depth` entries until the last message has arrived, and then drains.
double taking(const Costs& costs, const Load& load, double depth) {
    const double waiting = load.messages() * depth - depth * depth / 2;
    return load.near_messages * std::max(0.0, costs.message - costs.send_message) +
           load.far_messages * costs.endpoint_message + waiting * costs.queue_entry;
}

/// Returns the work of one copy of the messages' bytes, in both directions: half of the cost of a
/// byte that is packed, sent and placed.
double copying(const Costs& costs, const Load& load) {
    return (load.bytes + load.asked_bytes) * costs.message_byte / 2;
}

/// Returns the senders' work for the messages of `load`: for writes, packing and sending data; for
/// reads, sending requests, and receiving and unpacking the answers. A rank waits for so few
/// answers at a time that searching the queue for an answer costs nothing.
double sending(const JobShape& shape, const Costs& costs, const Load& load) {
    const double answers = shape.reads ? taking(costs, load, 0) : 0;
    return load.messages() * costs.send_message + load.pieces * costs.message_piece +
           copying(costs, load) + answers;
}

/// Returns the aggregators' work for the data of `load`, including data that needs no message, and
/// for the answers in reads. Receiving the messages isn't included: taking() returns that work.
double placing(const JobShape& shape, const Costs& costs, const Load& load) {
    const double answers = shape.reads ? load.messages() * costs.send_message : 0;
    return load.all_pieces() * costs.message_piece + copying(costs, load) +
           load.own_bytes * costs.copy_byte + answers;
}

/// The work on one node in one round for moving data between ranks and local aggregators: that of
/// the ranks (`given`), and that of the local aggregators (`merged`).
struct Gathering {
    double given = 0;
    double merged = 0;
};

Gathering gathering(const JobShape& shape, const Costs& costs, const Load& load) {
    if (shape.local_aggregators <= 0) return {};
    if (shape.in_windows)
        return {load.own_bytes * costs.copy_byte + load.own_pieces * costs.copy_piece, 0};
    const double local = shape.local_aggregators / shape.nodes;
    const double group = shape.ranks / shape.local_aggregators;
    Load each = load;
    each.near_messages /= local;
    each.far_messages /= local;
    const double depth = std::min(each.messages(), 2 * group);
    const double answers = shape.reads ? load.messages() * costs.send_message : 0;
    const double merging = load.all_pieces() * costs.merge_piece * std::log2(group + 1) +
                           copying(costs, load) + load.own_bytes * costs.copy_byte;
    return {sending(shape, costs, load), local * taking(costs, each, depth) + merging + answers};
}

double gather_time(const JobShape& shape, const Gathering& work) {
    const double members = shape.in_windows ? shape.ranks : shape.ranks - shape.local_aggregators;
    const double local = std::min(shape.local_aggregators / shape.nodes, shape.cores);
    return std::max(work.given / at_once(shape, members),
                    work.merged / std::max(std::min(1.0, shape.cores), local));
}

/// Returns the time that a round with `messages` messages spends on latency. A receiver must ask
/// for a message before it is sent, so a write takes two trips; in reads the answer takes two more.
/// A sender has a limited number of messages under way. On a node with more ranks than cores, a
/// rank that waits has left its core to another one, and the cores wake all senders for each trip.
double latency(const JobShape& shape, const Costs& costs, double messages) {
    const double across = costs.far_message - costs.send_message - costs.endpoint_message;
    const double trip = shape.nodes > 1 ? std::max(0.0, across) : costs.message;
    const bool crowded = shape.ranks > shape.nodes * shape.cores;
    const double of_core = shape.senders / shape.nodes / at_once(shape, shape.senders);
    const double woken = crowded ? of_core * costs.wake : 0;
    const double ways = shape.reads ? 4 : 2;
    return std::ceil(messages / shape.senders / shape.in_flight) * ways * (trip + woken);
}

/// What can limit the exchange of a round.
constexpr std::array<std::string_view, 5> kWaits{
    "senders", "links out of nodes", "links into nodes", "the middle of the network", "receivers"};

std::array<double, 5> exchange_times(const JobShape& shape, const RoundLoad& load,
                                     const Costs& costs) {
    std::array<double, 5> times{};
    const double senders = at_once(shape, shape.senders);
    for (const NodeLoad& node : load.nodes) {
        times[0] = std::max(times[0], sending(shape, costs, node.sent) / senders);
        times[1] = std::max(times[1], node.out_bytes * costs.far_byte);
        times[2] = std::max(times[2], node.in_bytes * costs.far_byte);
    }
    times[3] = load.far_bytes / shape.nodes * costs.middle_byte;
    for (const AggregatorLoad& one : load.aggregators) {
        const double depth = queue_depth(shape, one.received.messages());
        times[4] = std::max(
            times[4], taking(costs, one.received, depth) + placing(shape, costs, one.received));
    }
    return times;
}

/// Returns the time of a round's transfers to or from storage targets: that of the slowest target,
/// aggregator or node, or of the middle of the network, plus one call. Returns 0 without targets.
double target_time(const JobShape& shape, const RoundLoad& load, const Costs& costs) {
    if (load.targets.empty()) return 0;
    double slowest = 0;
    double bytes = 0;
    for (const TargetLoad& target : load.targets) {
        const bool taken_over = target.writers > 1 && !shape.reads;
        const double locks = taken_over ? target.writers * costs.target_lock : 0;
        slowest = std::max(slowest, target.bytes * costs.target_byte + locks);
        bytes += target.bytes;
    }
    for (const AggregatorLoad& one : load.aggregators)
        slowest = std::max(slowest, one.stored_bytes * costs.client_byte);
    for (const NodeLoad& node : load.nodes)
        slowest = std::max(slowest, node.stored_bytes * costs.far_byte);
    return std::max(slowest, bytes / shape.nodes * costs.middle_byte) + costs.target_call;
}

double cores_time(const JobShape& shape, const NodeLoad& node, const Costs& costs) {
    const Gathering gathered = gathering(shape, costs, node.gathered);
    const double stored = shape.stored_by_cores ? node.store_work : 0;
    const double carried =
        shape.linked_by_cores ? (node.out_bytes + node.in_bytes) * costs.far_byte : 0;
    const double received = taking(costs, node.received, 0) + placing(shape, costs, node.received);
    return (gathered.given + gathered.merged + sending(shape, costs, node.sent) + received +
            stored + carried + node.other_work) /
           at_once(shape, shape.ranks);
}

}  // namespace

double agreements(const Costs& costs, double ranks, double nodes, int reductions) {
    // The ranks of a node share its cores. Between nodes a reduction takes log2(nodes) steps.
    const double of_node = ranks / nodes;
    const double one = of_node * costs.collective + std::log2(nodes) * costs.far_message;
    return reductions * one + (ranks - of_node) * sizeof(AccessSummary) * costs.far_byte;
}

double queue_depth(const JobShape& shape, double messages) {
    const double under_way = shape.senders * shape.in_flight / shape.aggregators;
    return std::min(messages, std::max(1.0, under_way));
}

RoundTerms terms_of(const JobShape& shape, const RoundLoad& load, const Costs& costs) {
    RoundTerms terms;
    for (const NodeLoad& node : load.nodes) {
        terms.gather =
            std::max(terms.gather, gather_time(shape, gathering(shape, costs, node.gathered)));
        terms.storage = std::max(terms.storage, node.store_work / shape.stores_at_once);
        terms.cores = std::max(terms.cores, cores_time(shape, node, costs));
    }
    const auto times = exchange_times(shape, load, costs);
    const auto slowest = std::ranges::max_element(times);
    terms.waits = kWaits[static_cast<std::size_t>(slowest - times.begin())];
    const double waited = latency(shape, costs, load.messages);
    terms.exchange = *slowest + waited;
    terms.cores += waited / shape.slots;  // with another slot there is work during the wait
    terms.storage = std::max(terms.storage, target_time(shape, load, costs));
    return terms;
}

CostTerms terms_of(const JobShape& shape, std::span<const RoundTerms> rounds, double scale,
                   double agreements) {
    CostTerms terms{.agreements = agreements};
    double overlapped = 0;
    double cores = 0;
    std::array<double, kWaits.size()> waited{};
    for (const RoundTerms& one : rounds) {
        terms.gather += scale * one.gather;
        terms.exchange += scale * one.exchange;
        terms.storage += scale * one.storage;
        overlapped += scale * std::max(one.gather + one.exchange, one.storage);
        cores += scale * one.cores;
        const auto wait =
            static_cast<std::size_t>(std::ranges::find(kWaits, one.waits) - kWaits.begin());
        if (wait < waited.size()) waited[wait] += one.exchange;
    }
    terms.waits =
        kWaits[static_cast<std::size_t>(std::ranges::max_element(waited) - waited.begin())];
    const double before = terms.gather + terms.exchange;
    double moved = before + terms.storage;
    if (shape.slots * shape.takes_turns > 1) {
        // Adds the time that can't overlap: that of the first exchange or of the last storage call,
        // whichever is shorter. This time is the mean of a round, or less if aggregators with
        // several slots take turns at the same storage, because they then work at different times.
        const double turns = shape.slots > 1 ? shape.takes_turns : 1;
        const double all_rounds = scale * static_cast<double>(rounds.size());
        const double ends = std::min(before, terms.storage) / (all_rounds * turns);
        moved = std::min(moved, overlapped + ends);
    }
    terms.all = agreements + std::max(moved, cores);
    return terms;
}

}  // namespace oratorio
