// SPDX-License-Identifier: BSD-3-Clause
// The closed form (plan/model) of a schedule that was counted of a whole plan: what
// `oratorio simulate` asks it, and in which words.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "count/schedule.hpp"
#include "plan/model.hpp"

namespace oratorio::count {

/// A plan and some of its rounds, which stand for all, as `oratorio_schedules` prints them.
struct PlanSchedule {
    struct Stored {
        std::size_t aggregator = 0;
        Offset begin = 0;
        Bytes length = 0;
    };
    struct Round {
        std::vector<Stored> stored;
        std::vector<Flow> sent;      ///< node * aggregators + aggregator
        std::vector<Flow> gathered;  ///< by node
    };

    int ranks = 1;
    int nodes = 1;
    std::string method;
    std::vector<std::size_t> aggregator_nodes;
    int slots = 1;
    int in_flight = 1;
    Bytes bytes = 0;            ///< of all rounds
    int local_aggregators = 0;  ///< 0: one layer
    bool reads = false;
    bool asks = false;               ///< aggregators are told beforehand what a round will hold
    bool is_sampled = false;         ///< not all nodes were walked
    std::vector<double> stands_for;  ///< by node: of how many; 0: it wasn't walked
    std::vector<Round> rounds;

    [[nodiscard]] int senders() const { return local_aggregators > 0 ? local_aggregators : ranks; }
    [[nodiscard]] bool is_far(std::size_t pair) const {
        const std::size_t aggregators = aggregator_nodes.size();
        return pair / aggregators != aggregator_nodes[pair % aggregators];
    }
};

/// What a file of costs (plan/costs) doesn't tell of a machine.
struct Machine {
    int cores = 1;  ///< of a node
    std::int64_t targets = 1;
    Bytes stripe = 1 << 20;
    Costs costs;
};

/// What is asked: machines, each a line "machine CORES TARGETS STRIPE" and lines of costs; a line
/// "job RANKS NODES"; and a plan's lines.
struct Question {
    std::vector<Machine> machines;
    PlanSchedule schedule;
};
/// Throws std::runtime_error where it isn't like that.
[[nodiscard]] Question read_question(std::istream& in);

/// Nanoseconds, of all rounds.
[[nodiscard]] CostTerms terms_of(const PlanSchedule& schedule, const Machine& machine);

/// Of messages, whatever the machine.
struct MessageCounts {
    double all = 0;  ///< to aggregators and to local ones, and their answers
    double far = 0;
    double depth = 0;    ///< most entries that a message is looked for among
    double busiest = 0;  ///< that one aggregator gets in a round, answers apart
};
[[nodiscard]] MessageCounts messages_of(const PlanSchedule& schedule);

}  // namespace oratorio::count
