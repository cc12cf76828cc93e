// SPDX-License-Identifier: BSD-3-Clause
// oratorio_schedules WORKLOAD DIRECTION RANKS NODES ROUNDS HINTS...: prints the data that the nodes
// of a made-up job send to the aggregators in a collective write or read of the workload, by a plan
// for each HINTS (as in ORATORIO_HINTS; the method is one of them). WORKLOAD is described in
// lab/count/workload.hpp. lab/oratorio_lab/simulate/schedule.py reads the output.
//
// oratorio_schedules terms < QUESTION: prints the time of one of those plans by the closed form
// (count/closed_form.hpp), one line for each machine, for lab/oratorio_lab/simulate/model.py.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "count/closed_form.hpp"
#include "count/schedule.hpp"
#include "count/workload.hpp"
#include "plan/methods.hpp"

using namespace oratorio;
using namespace oratorio::count;

namespace {

// Most pieces that are walked for one plan.
constexpr std::int64_t kPiecesOfSample = 100'000'000;
constexpr std::int64_t kRanksOfSample = 32'768;

using Number = long long;

void print(const char* kind, std::size_t from, std::size_t to, const Flow& flow) {
    if (flow == Flow{}) return;
    std::printf("%s %zu %zu %lld %lld %lld %lld %lld %lld %lld\n", kind, from, to,
                Number{flow.senders}, Number{flow.messages}, Number{flow.pieces},
                Number{flow.bytes}, Number{flow.described}, Number{flow.own},
                Number{flow.own_pieces});
}

void print_plan(const Job& job, const Plan& plan, std::int64_t pieces, double seconds) {
    std::printf("plan %s %zu %lld %d %lld %d %lld %lld %lld %zu %.6f %s %d\n",
                plan.method->name.data(), plan.aggregators.size(), Number{plan.rounds}, plan.slots,
                Number{plan.message_bytes}, in_flight_of(plan), Number{plan.bytes}, Number{pieces},
                Number{count_edges(plan)},
                plan.layers().two() ? plan.layers().local_aggregators_in_all() : 0, seconds,
                name_of(plan.direction), plan.asks_contents() ? 1 : 0);
    std::printf("aggregators");
    for (const Rank rank : plan.aggregators) std::printf(" %d", job.nodes.node(rank));
    std::printf("\n");
}

/// Prints how many nodes each walked node represents, unless each represents only itself.
void print_sample(const std::vector<int>& nodes) {
    if (std::ranges::count(nodes, 1) == std::ssize(nodes)) return;
    for (std::size_t node = 0; node < nodes.size(); ++node)
        if (nodes[node] > 0) std::printf("walked %zu %d\n", node, nodes[node]);
}

void print_round(const RoundSchedule& round) {
    std::printf("round %lld\n", Number{round.round});
    const std::size_t aggregators = round.regions.size();
    for (std::size_t i = 0; i < aggregators; ++i) {
        for (std::int64_t part = 0; part < round.regions[i].count; ++part) {
            const Extent extent = round.regions[i].extent(part);
            if (!extent.empty())
                std::printf("region %zu %lld %lld\n", i, Number{extent.begin},
                            Number{extent.length()});
        }
    }
    for (std::size_t i = 0; i < round.sent.size(); ++i)
        print("sent", i / aggregators, i % aggregators, round.sent[i]);
    for (std::size_t i = 0; i < round.gathered.size(); ++i)
        print("gathered", i, i, round.gathered[i]);
}

void tell(Job job, const Agreed<Summaries>& summaries, int rounds, const std::string& hints) {
    job.options = options_of(hints);
    const auto begin = std::chrono::steady_clock::now();
    Plan plan = plan_of(job, summaries, job.options.method->name);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (plan.partners() != Partners::by_hull) plan = thinned(job, std::move(plan));
    std::int64_t pieces = 0;
    for (const AccessSummary& one : *summaries) pieces += one.pieces;
    print_plan(job, plan, pieces, taken.count());
    Sample sample{.nodes = sampled_nodes(job.nodes, plan, kRanksOfSample)};
    print_sample(sample.nodes);
    const auto walked = std::ranges::count_if(sample.nodes, [](int one) { return one > 0; });
    sample.rounds =
        sampled_rounds(plan, pieces / job.nodes.nodes() * walked, rounds, kPiecesOfSample);
    for (const RoundSchedule& round : schedule_of(job, plan, sample)) print_round(round);
}

int tell_terms() {
    const Question question = read_question(std::cin);
    const MessageCounts sent = messages_of(question.schedule);
    for (const Machine& machine : question.machines) {
        const CostTerms terms = terms_of(question.schedule, machine);
        std::printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %s\n", terms.agreements,
                    terms.gather, terms.exchange, terms.storage, terms.all, sent.all, sent.far,
                    sent.depth, sent.busiest, terms.waits.data());
    }
    return 0;
}

int tell_plans(int argc, char** argv) {
    const bool reads = std::strcmp(argv[2], name_of(Direction::read)) == 0;
    const int ranks = std::stoi(argv[3]);
    const int nodes = std::stoi(argv[4]);
    if (nodes < 1 || ranks < 1 || ranks % nodes != 0)
        throw std::runtime_error("ranks must be a multiple of nodes");
    const Job job{.direction = reads ? Direction::read : Direction::write,
                  .nodes = nodes_of(ranks, nodes),
                  .layout_of = layouts_of(argv[1], ranks),
                  .summary_of = summaries_by_rule(argv[1], ranks),
                  .thorough = !reads && !leaves_no_holes(argv[1]),
                  .tiles = !reads && leaves_no_holes(argv[1])};
    const auto summaries = summaries_of(job);
    for (int i = 6; i < argc; ++i) tell(job, summaries, std::stoi(argv[5]), argv[i]);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const bool asks_terms = argc == 2 && std::strcmp(argv[1], "terms") == 0;
    if (argc < 7 && !asks_terms) {
        std::fprintf(stderr,
                     "oratorio_schedules WORKLOAD DIRECTION RANKS NODES ROUNDS HINTS... | terms < "
                     "QUESTION\n");
        return 2;
    }
    try {
        return asks_terms ? tell_terms() : tell_plans(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
