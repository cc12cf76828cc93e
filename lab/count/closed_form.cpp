// SPDX-License-Identifier: BSD-3-Clause
#include "count/closed_form.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "plan/estimate.hpp"

namespace oratorio::count {

namespace {

const Method& method_of(const PlanSchedule& schedule) {
    const Method* const method = find_method(schedule.method);
    if (method == nullptr) throw std::runtime_error("there is no method " + schedule.method);
    return *method;
}

/// The bytes of a flow to aggregators, and back from them.
struct Ways {
    double there = 0;
    double back = 0;
};

Ways ways_of(const Flow& flow, bool reads) {
    const auto described = static_cast<double>(flow.described);
    const auto bytes = static_cast<double>(flow.bytes);
    if (!reads) return {described + bytes, 0};
    return {described, bytes + static_cast<double>(flow.messages * kAnswerHead)};
}

/// Adds `times` times a flow to a load.
void add(Load& load, const Flow& flow, bool is_far, bool reads, double times) {
    const Ways ways = ways_of(flow, reads);
    (is_far ? load.far_messages : load.near_messages) += times * static_cast<double>(flow.messages);
    load.pieces += times * static_cast<double>(flow.pieces);
    load.bytes += times * (reads ? ways.back : ways.there);
    load.asked_bytes += reads ? times * ways.there : 0;
    load.own_pieces += times * static_cast<double>(flow.own_pieces);
    load.own_bytes += times * static_cast<double>(flow.own);
}

/// The loads of nodes, aggregators and targets in one round. A RoundLoad refers to them.
struct Rows {
    std::vector<NodeLoad> nodes;
    std::vector<AggregatorLoad> aggregators;
    std::vector<TargetLoad> targets;
    double messages = 0;
    double far_bytes = 0;

    Rows(const PlanSchedule& schedule, const PlanSchedule::Round& round, const Machine& machine)
        : nodes(static_cast<std::size_t>(schedule.nodes)),
          aggregators(schedule.aggregator_nodes.size()),
          targets(static_cast<std::size_t>(machine.targets)) {
        for (std::size_t pair = 0; pair < round.sent.size(); ++pair)
            send(schedule, pair, round.sent[pair]);
        for (std::size_t node = 0; node < round.gathered.size(); ++node)
            add(nodes[node].gathered, round.gathered[node], false, schedule.reads, 1);
        store(schedule, round, machine);
    }

    [[nodiscard]] RoundLoad load() const {
        return {nodes, aggregators, targets, messages, far_bytes};
    }

  private:
    void send(const PlanSchedule& schedule, std::size_t pair, const Flow& flow) {
        const bool is_far = schedule.is_far(pair);
        const std::size_t to = pair % aggregators.size();
        NodeLoad& from = nodes[pair / aggregators.size()];
        NodeLoad& into = nodes[schedule.aggregator_nodes[to]];
        const double times = schedule.stands_for[pair / aggregators.size()];
        add(from.sent, flow, is_far, schedule.reads, 1);
        add(into.received, flow, is_far, schedule.reads, times);
        add(aggregators[to].received, flow, is_far, schedule.reads, times);
        messages += times * static_cast<double>(flow.messages);
        if (!is_far) return;
        const auto [there, back] = ways_of(flow, schedule.reads);
        from.out_bytes += there;
        from.in_bytes += back;
        into.in_bytes += times * there;
        into.out_bytes += times * back;
        far_bytes += times * (there + back);
    }

    /// Adds the storage work of a round. The stripes of the file are on the targets in turn.
    void store(const PlanSchedule& schedule, const PlanSchedule::Round& round,
               const Machine& machine) {
        std::vector<bool> writes(targets.size() * aggregators.size());
        for (const PlanSchedule::Stored& one : round.stored) {
            const auto bytes = static_cast<double>(one.length);
            aggregators[one.aggregator].stored_bytes += bytes;
            nodes[schedule.aggregator_nodes[one.aggregator]].stored_bytes += bytes;
            const Offset end = one.begin + one.length;
            for (Offset at = one.begin; at < end;) {
                const Offset next = std::min(end, (at / machine.stripe + 1) * machine.stripe);
                const auto target = static_cast<std::size_t>(at / machine.stripe % machine.targets);
                targets[target].bytes += static_cast<double>(next - at);
                const std::size_t writer = target * aggregators.size() + one.aggregator;
                if (!writes[writer]) targets[target].writers += 1;
                writes[writer] = true;
                at = next;
            }
        }
    }
};

JobShape shape_of(const PlanSchedule& schedule, int cores) {
    const auto gives = [](const Flow& flow) { return flow.messages > 0; };
    const bool silent = std::ranges::none_of(schedule.rounds, [&](const auto& round) {
        return std::ranges::any_of(round.gathered, gives);
    });
    JobShape shape;
    shape.reads = schedule.reads;
    shape.ranks = schedule.ranks;
    shape.nodes = schedule.nodes;
    shape.cores = cores;
    shape.aggregators = static_cast<double>(schedule.aggregator_nodes.size());
    shape.senders = schedule.senders();
    shape.local_aggregators = schedule.local_aggregators;
    shape.in_windows = silent && method_of(schedule).layers_part().windows;
    shape.in_flight = schedule.in_flight;
    shape.slots = schedule.slots;
    return shape;
}

/// Returns the number of messages in both directions, including contents messages and replies.
double both_ways(const PlanSchedule& schedule, const Flow& flow) {
    const std::int64_t told = schedule.asks ? flow.senders : 0;
    return static_cast<double>(schedule.reads ? 2 * flow.messages + told : flow.messages);
}

/// Returns the ratio of all data to the data of the walked rounds.
double scale_of(const PlanSchedule& schedule) {
    double held = 0;
    for (const PlanSchedule::Round& round : schedule.rounds) {
        for (std::size_t pair = 0; pair < round.sent.size(); ++pair) {
            const Flow& flow = round.sent[pair];
            held += schedule.stands_for[pair / schedule.aggregator_nodes.size()] *
                    static_cast<double>(flow.bytes + flow.own);
        }
    }
    return static_cast<double>(schedule.bytes) / std::max(1.0, held);
}

Flow read_flow(std::istream& line) {
    Flow flow;
    line >> flow.senders >> flow.messages >> flow.pieces >> flow.bytes >> flow.described >>
        flow.own >> flow.own_pieces;
    return flow;
}

/// Reads a line with a node that was walked and the number of nodes that it represents. The first
/// such line means that not all nodes were walked, so all nodes count as not walked until they have
/// a line.
bool read_walked(PlanSchedule& schedule, std::istream& line) {
    std::size_t node = 0;
    double nodes = 0;
    line >> node >> nodes;
    if (line.fail() || node >= schedule.stands_for.size() || nodes < 1) return false;
    if (!std::exchange(schedule.is_sampled, true)) std::ranges::fill(schedule.stands_for, 0);
    schedule.stands_for[node] = nodes;
    return true;
}

/// Reads one line of those that follow "job". Returns false if its kind is unknown.
bool read_line(PlanSchedule& schedule, const std::string& kind, std::istream& line) {
    std::size_t from = 0;
    std::size_t to = 0;
    if (kind == "plan") {
        std::int64_t skipped = 0;  // receives the numbers that the closed form does not use
        line >> schedule.method >> to >> skipped >> schedule.slots >> skipped >>
            schedule.in_flight >> schedule.bytes >> skipped >> skipped >>
            schedule.local_aggregators;
        double seconds = 0;
        std::string direction;
        line >> seconds >> direction >> schedule.asks;
        schedule.reads = direction == name_of(Direction::read);
        schedule.aggregator_nodes.resize(to);
        schedule.stands_for.assign(static_cast<std::size_t>(schedule.nodes), 1);
        return !line.fail() && (schedule.reads || direction == name_of(Direction::write));
    }
    if (kind == "aggregators") {
        for (std::size_t& node : schedule.aggregator_nodes) line >> node;
        return !line.fail() && std::ranges::all_of(schedule.aggregator_nodes, [&](std::size_t n) {
            return n < static_cast<std::size_t>(schedule.nodes);
        });
    }
    const std::size_t aggregators = schedule.aggregator_nodes.size();
    const auto nodes = static_cast<std::size_t>(schedule.nodes);
    if (kind == "walked") return read_walked(schedule, line);
    if (kind == "round") {
        schedule.rounds.emplace_back().sent.resize(nodes * aggregators);
        if (schedule.local_aggregators > 0) schedule.rounds.back().gathered.resize(nodes);
        return true;
    }
    if (schedule.rounds.empty()) return false;
    PlanSchedule::Round& round = schedule.rounds.back();
    line >> from;
    if (kind == "region") {
        PlanSchedule::Stored stored{.aggregator = from};
        line >> stored.begin >> stored.length;
        round.stored.push_back(stored);
        return !line.fail() && from < aggregators;
    }
    line >> to;
    const bool gathers = kind == "gathered";
    if (line.fail() || (!gathers && kind != "sent")) return false;
    if (from >= nodes || to >= (gathers ? nodes : aggregators)) return false;
    if (gathers && round.gathered.empty()) return false;
    (gathers ? round.gathered[from] : round.sent[from * aggregators + to]) = read_flow(line);
    return !line.fail();
}

Machine read_machine(std::istream& line) {
    Machine machine;
    line >> machine.cores >> machine.targets >> machine.stripe;
    if (line.fail() || machine.cores < 1 || machine.targets < 1 || machine.stripe < 1)
        throw std::runtime_error("a machine needs CORES TARGETS STRIPE, each above 0");
    return machine;
}

void add_cost(Question& question, const std::string& text) {
    std::vector<std::string> warnings;
    if (question.machines.empty())
        throw std::runtime_error("a cost needs a machine in an earlier line: " + text);
    Costs& costs = question.machines.back().costs;
    costs = parse_costs(text, costs, warnings);
    if (!warnings.empty()) throw std::runtime_error(warnings.front());
}

}  // namespace

Question read_question(std::istream& in) {
    Question question;
    PlanSchedule& schedule = question.schedule;
    bool in_job = false;
    std::string text;
    while (std::getline(in, text)) {
        std::istringstream line(text);
        std::string kind;
        line >> kind;
        bool known = true;
        if (in_job) {
            known = read_line(schedule, kind, line);
        } else if (kind == "machine") {
            question.machines.push_back(read_machine(line));
        } else if (kind == "job") {
            line >> schedule.ranks >> schedule.nodes;
            known = in_job = !line.fail() && schedule.nodes > 0 && schedule.ranks > 0;
        } else {
            add_cost(question, text);
        }
        if (!known) throw std::runtime_error("can't parse the line: " + text);
    }
    if (question.machines.empty() || schedule.rounds.empty() || schedule.aggregator_nodes.empty())
        throw std::runtime_error(
            "the input must have a machine and a plan with aggregators and rounds");
    return question;
}

CostTerms terms_of(const PlanSchedule& schedule, const Machine& machine) {
    const JobShape shape = shape_of(schedule, machine.cores);
    std::vector<RoundTerms> rounds;
    for (const PlanSchedule::Round& round : schedule.rounds)
        rounds.push_back(terms_of(shape, Rows(schedule, round, machine).load(), machine.costs));
    const int reductions = reductions_by_messages(method_of(schedule));
    return terms_of(shape, rounds, scale_of(schedule),
                    agreements(machine.costs, shape.ranks, shape.nodes, reductions));
}

MessageCounts messages_of(const PlanSchedule& schedule) {
    MessageCounts counts;
    const std::size_t aggregators = schedule.aggregator_nodes.size();
    for (const PlanSchedule::Round& round : schedule.rounds) {
        std::vector<double> got(aggregators);
        for (std::size_t pair = 0; pair < round.sent.size(); ++pair) {
            const Flow& flow = round.sent[pair];
            const double times = schedule.stands_for[pair / aggregators];
            const double messages = times * both_ways(schedule, flow);
            counts.all += messages;
            if (schedule.is_far(pair)) counts.far += messages;
            got[pair % aggregators] += times * static_cast<double>(flow.messages);
        }
        for (std::size_t node = 0; node < round.gathered.size(); ++node)
            counts.all += schedule.stands_for[node] * both_ways(schedule, round.gathered[node]);
        counts.busiest = std::max(counts.busiest, std::ranges::max(got));
    }
    const double scale = scale_of(schedule);
    counts.all *= scale;
    counts.far *= scale;
    counts.depth = queue_depth(shape_of(schedule, 1), counts.busiest);
    return counts;
}

}  // namespace oratorio::count
