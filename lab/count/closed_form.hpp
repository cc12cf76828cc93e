// SPDX-License-Identifier: BSD-3-Clause
// The closed form (plan/model) of the schedule of a whole plan, and the format of the questions
// that `oratorio simulate` asks it.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "count/schedule.hpp"
#include "plan/model.hpp"

namespace oratorio::count {

/// A plan and a sample of its rounds that represents all rounds, as `oratorio_schedules` prints it.
struct PlanSchedule {
    struct Stored {
        std::size_t aggregator = 0;
        Offset begin = 0;
        Bytes length = 0;
    };
    struct Round {
        std::vector<Stored> stored;
        std::vector<Flow> sent;      ///< index: node * aggregators + aggregator
        std::vector<Flow> gathered;  ///< index: node
    };

    int ranks = 1;
    int nodes = 1;
    std::string method;
    std::vector<std::size_t> aggregator_nodes;
    int slots = 1;
    int in_flight = 1;
    Bytes bytes = 0;            ///< data of all rounds
    int local_aggregators = 0;  ///< 0: the plan has one layer
    bool reads = false;
    bool asks = false;  ///< aggregators receive contents messages before the requests of a round
    bool is_sampled = false;  ///< not all nodes were walked
    /// For each node: the number of nodes that it represents, or 0 if it wasn't walked.
    std::vector<double> stands_for;
    std::vector<Round> rounds;

    [[nodiscard]] int senders() const { return local_aggregators > 0 ? local_aggregators : ranks; }
    [[nodiscard]] bool is_far(std::size_t pair) const {
        const std::size_t aggregators = aggregator_nodes.size();
        return pair / aggregators != aggregator_nodes[pair % aggregators];
    }
};

/// A machine: its costs (plan/costs), and facts that are not in a cost file.
struct Machine {
    int cores = 1;  ///< cores of a node
    std::int64_t targets = 1;
    Bytes stripe = 1 << 20;
    Costs costs;
};

/// A question to the closed form. The format is: for each machine a line "machine CORES TARGETS
/// STRIPE" and lines of costs; then a line "job RANKS NODES" and the lines of a plan.
struct Question {
    std::vector<Machine> machines;
    PlanSchedule schedule;
};
/// Reads a question. Throws std::runtime_error if the input has another format.
[[nodiscard]] Question read_question(std::istream& in);

/// Returns the nanoseconds that all rounds take, by term of the cost model.
[[nodiscard]] CostTerms terms_of(const PlanSchedule& schedule, const Machine& machine);

/// Counts of messages, which don't depend on the machine.
struct MessageCounts {
    double all = 0;  ///< messages to aggregators and to local aggregators, including replies
    double far = 0;
    double depth = 0;  ///< most entries that the search for a message may have to look at
    /// Most messages that one aggregator receives in a round, without replies.
    double busiest = 0;
};
[[nodiscard]] MessageCounts messages_of(const PlanSchedule& schedule);

}  // namespace oratorio::count
