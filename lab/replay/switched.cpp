// SPDX-License-Identifier: BSD-3-Clause
// oratorio_switched RANKS NETWORK JOB KNOWN RATE LATENCY TAPER: simulates the exchange of a
// collective write on a SimGrid fat tree or dragonfly, with aggregators placed by switch (KNOWN is
// 1) or without regard to switches (0). Prints the seconds of the exchange, the bytes between nodes
// and those between switches. NETWORK and JOB are indices into the arrays of count/switches.hpp.
// Only links take time; RATE (bytes per second) is the rate of a node's link, LATENCY (seconds) the
// latency between nodes, TAPER the rate between switches as a share of the nodes' rates.
// lab/oratorio_lab/simulate/switched.py starts this program.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <simgrid/s4u.hpp>

#include "count/schedule.hpp"
#include "count/switches.hpp"

using namespace oratorio;
namespace sg4 = simgrid::s4u;

namespace {

struct Rates {
    double rate = 0;
    double latency = 0;
    double taper = 0;  ///< rate between switches as a share of the nodes' rates
};

unsigned links_for(double rates) {
    return static_cast<unsigned>(std::max(1.0, std::round(rates)));
}

/// Creates leaf switches, which are connected by as many top switches as the taper allows.
void make_fat_tree(const count::Network& network, const Rates& rates,
                   const sg4::ClusterCallbacks& made) {
    const auto leaves = static_cast<unsigned>(network.switches);
    const auto nodes = static_cast<unsigned>(network.of_switch);
    const unsigned tops = links_for(network.of_switch * rates.taper);
    sg4::create_fatTree_zone("tree", nullptr, {2, {nodes, leaves}, {1, tops}, {1, 1}}, made,
                             rates.rate, rates.latency / 4, sg4::Link::SharingPolicy::SPLITDUPLEX)
        ->seal();
}

/// Creates the groups. Each router connects four nodes, and each chassis has as many routers as
/// there are groups, because SimGrid's routing requires that. Links within a group are wide enough
/// for all its nodes. Any two groups are connected by as many links as the taper allows.
void make_dragonfly(const count::Network& network, const Rates& rates,
                    const sg4::ClusterCallbacks& made) {
    constexpr unsigned kOfRouter = 4;
    const auto groups = static_cast<unsigned>(network.switches);
    const auto nodes = static_cast<unsigned>(network.of_switch);
    const unsigned chassis = nodes / kOfRouter / groups;
    const unsigned links = links_for(network.of_switch * rates.taper / (network.switches - 1));
    sg4::create_dragonfly_zone(
        "groups", nullptr, {{groups, links}, {chassis, nodes}, {groups, nodes}, kOfRouter}, made,
        rates.rate, rates.latency / 4, sg4::Link::SharingPolicy::SPLITDUPLEX)
        ->seal();
}

/// Creates the network. Returns the hosts of the machine's nodes.
std::vector<sg4::Host*> make_machine(const count::Network& network, const Rates& rates) {
    std::vector<sg4::Host*> nodes;
    const sg4::ClusterCallbacks made(
        [&](sg4::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
            nodes.push_back(zone->create_host("node" + std::to_string(id), 1e9)->seal());
            return std::pair{nodes.back()->get_netpoint(),
                             static_cast<simgrid::kernel::routing::NetPoint*>(nullptr)};
        });
    const bool is_tree = network.kind == count::NetworkKind::fat_tree;
    (is_tree ? make_fat_tree : make_dragonfly)(network, rates, made);
    return nodes;
}

/// Returns the schedules of all rounds of the plan.
std::vector<count::RoundSchedule> all_rounds(const count::Job& job, const Plan& plan) {
    count::Sample all{.nodes = std::vector<int>(static_cast<std::size_t>(job.nodes.nodes()), 1)};
    all.rounds.resize(static_cast<std::size_t>(plan.rounds));
    std::iota(all.rounds.begin(), all.rounds.end(), 0);
    return count::schedule_of(job, plan, all);
}

/// The simulated exchange: the data that nodes send to the aggregators, round by round.
class Exchange {
  public:
    Exchange(const count::SwitchedJob& on, const Plan& plan, std::vector<sg4::Host*> machine)
        : on_(on), plan_(plan), machine_(std::move(machine)), rounds_(all_rounds(on.job, plan)) {}

    /// Starts an actor for each aggregator.
    void start() {
        for (std::size_t to = 0; to < plan_.aggregators.size(); ++to)
            sg4::Actor::create("aggregator", host(node_of(to)), [this, to] { receive(to); });
    }
    [[nodiscard]] Bytes between_nodes() const { return between_nodes_; }
    [[nodiscard]] Bytes between_switches() const { return between_switches_; }

  private:
    /// Receives the data for aggregator `to`, one round after another. In each round, all nodes
    /// send their data at once.
    void receive(std::size_t to) {
        for (const count::RoundSchedule& round : rounds_) {
            std::vector<sg4::CommPtr> under_way;
            for (std::size_t node = 0; node < on_.place.size(); ++node) {
                const count::Flow& flow = round.sent[node * plan_.aggregators.size() + to];
                const Bytes bytes = flow.bytes + flow.described;
                if (bytes == 0 || node == node_of(to)) continue;
                const auto& switch_of = on_.job.nodes.switch_of;
                between_nodes_ += bytes;
                between_switches_ += switch_of[node] == switch_of[node_of(to)] ? 0 : bytes;
                under_way.push_back(sg4::Comm::sendto_async(host(node), host(node_of(to)),
                                                            static_cast<std::uint64_t>(bytes)));
            }
            for (auto& comm : under_way) comm->wait();
        }
    }
    [[nodiscard]] std::size_t node_of(std::size_t aggregator) const {
        return static_cast<std::size_t>(on_.job.nodes.node(plan_.aggregators[aggregator]));
    }
    [[nodiscard]] sg4::Host* host(std::size_t node) const {
        return machine_[static_cast<std::size_t>(on_.place[node])];
    }

    const count::SwitchedJob& on_;
    const Plan& plan_;
    std::vector<sg4::Host*> machine_;
    std::vector<count::RoundSchedule> rounds_;
    Bytes between_nodes_ = 0;
    Bytes between_switches_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    sg4::Engine engine(&argc, argv);
    if (argc < 8) return 2;
    const count::Network& network = count::networks()[std::strtoul(argv[2], nullptr, 10)];
    const count::SwitchedJob job =
        count::jobs_on(network, std::atoi(argv[1]))[std::strtoul(argv[3], nullptr, 10)];
    const bool known = std::atoi(argv[4]) != 0;
    const Plan plan =
        count::plan_of(known ? job.job : count::without_switches(job.job), "two_phase");
    const Rates rates{std::atof(argv[5]), std::atof(argv[6]), std::atof(argv[7])};
    Exchange exchange(job, plan, make_machine(network, rates));
    exchange.start();
    engine.run();
    std::printf("%.9g %lld %lld\n", sg4::Engine::get_clock(),
                static_cast<long long>(exchange.between_nodes()),
                static_cast<long long>(exchange.between_switches()));
    return 0;
}
