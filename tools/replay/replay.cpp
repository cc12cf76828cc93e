// SPDX-License-Identifier: BSD-3-Clause
// replay < FILE: one round of a schedule on SimGrid S4U; prints when its phases end, in seconds:
// gather, exchange, storage. Actors are nodes, aggregators and storage targets.
// tools/oratorio/sim_s4u.py writes the file and starts this.
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "platform.hpp"

using namespace oratorio::replay;
namespace sg4 = simgrid::s4u;

namespace {

/// What a node sends an aggregator, in one transfer for all its messages.
struct Flow {
    int aggregator = 0;
    double bytes = 0;
    double messages = 0;
    double sending = 0;  ///< seconds of the node's senders
    double placing = 0;  ///< seconds of the aggregator, beside its messages'
};

struct Store {
    int target = 0;
    double bytes = 0;
};

struct Job {
    Links links;
    double receive = 0;  ///< seconds of a message
    double look = 0;     ///< seconds for each message that waits
    double client = 0;
    double call = 0;
    int window = 1;  ///< flows of a part of a node, and of an aggregator, under way
    int parts = 1;   ///< of a node's ranks, which send by themselves
    std::vector<double> gather;
    std::vector<std::vector<Flow>> sent;
    std::vector<int> aggregators;  ///< nodes
    std::vector<double> own;       ///< seconds of placing what needs no message
    std::vector<std::vector<Store>> stores;
    int targets = 0;
};

Job read(std::istream& in) {
    Job job;
    int nodes = 0;
    int aggregators = 0;
    in >> nodes >> aggregators >> job.targets >> job.window >> job.parts >> job.links.rate >>
        job.links.latency >> job.links.middle >> job.links.memory >> job.receive >> job.look >>
        job.client >> job.links.target >> job.call;
    job.gather.resize(nodes);
    job.sent.resize(nodes);
    job.aggregators.resize(aggregators);
    job.own.resize(aggregators);
    job.stores.resize(aggregators);
    for (double& seconds : job.gather) in >> seconds;
    for (int& node : job.aggregators) in >> node;
    for (double& seconds : job.own) in >> seconds;
    std::string kind;
    while (in >> kind) {
        int from = 0;
        in >> from;
        if (kind == "sent") {
            Flow flow;
            in >> flow.aggregator >> flow.bytes >> flow.messages >> flow.sending >> flow.placing;
            flow.bytes /= job.parts;
            flow.messages /= job.parts;
            flow.placing /= job.parts;
            job.sent[from].push_back(flow);
        } else {
            Store store;
            in >> store.target >> store.bytes;
            job.stores[from].push_back(store);
        }
    }
    return job;
}

class Replay {
  public:
    Replay(const Job& job) : job_(job), waiting_(job.aggregators.size()) {
        const std::size_t senders = job.sent.size() * static_cast<std::size_t>(job.parts);
        gathered_ = sg4::Barrier::create(senders);
        exchanged_ = sg4::Barrier::create(senders + job.aggregators.size());
    }

    /// Parts begin at aggregators that follow one another, as ranks do.
    void send(int node, int part) {
        sg4::this_actor::sleep_for(job_.gather[node]);
        gathered_->wait();
        gather_end = sg4::Engine::get_clock();
        std::vector<sg4::CommPtr> under_way;
        const auto& flows = job_.sent[node];
        for (std::size_t i = 0; i < flows.size(); ++i) {
            const Flow& flow =
                flows[(i + static_cast<std::size_t>(node * job_.parts + part)) % flows.size()];
            if (static_cast<int>(under_way.size()) == job_.window)
                under_way.erase(under_way.begin() + sg4::Comm::wait_any(under_way));
            sg4::this_actor::sleep_for(flow.sending);
            waiting_[flow.aggregator] += flow.messages;
            under_way.push_back(
                box(flow.aggregator)
                    ->put_async(const_cast<Flow*>(&flow), static_cast<std::uint64_t>(flow.bytes)));
        }
        for (auto& comm : under_way) comm->wait();
        exchanged_->wait();
    }

    void aggregate(int index) {
        std::size_t left = 0;
        for (const auto& flows : job_.sent)
            for (const Flow& flow : flows) left += flow.aggregator == index ? job_.parts : 0;
        sg4::this_actor::sleep_for(job_.own[index]);
        std::vector<sg4::CommPtr> under_way;
        std::vector<std::unique_ptr<Flow*>> received;
        std::size_t posted = 0;
        while (left > 0) {
            while (posted < left && static_cast<int>(under_way.size()) < job_.window) {
                received.push_back(std::make_unique<Flow*>());
                under_way.push_back(box(index)->get_async<Flow>(received.back().get()));
                ++posted;
            }
            const auto done = sg4::Comm::wait_any(under_way);
            const Flow& flow = **received[done];
            take(index, flow);
            under_way.erase(under_way.begin() + done);
            received.erase(received.begin() + done);
            --left;
            --posted;
        }
        exchanged_->wait();
        exchange_end = sg4::Engine::get_clock();
        store(index);
    }

    void serve(int target) {
        std::size_t calls = 0;
        for (const auto& stores : job_.stores)
            for (const Store& one : stores) calls += one.target == target ? 1 : 0;
        std::vector<std::unique_ptr<double*>> into;
        std::vector<sg4::CommPtr> under_way;
        for (std::size_t i = 0; i < calls; ++i) {
            into.push_back(std::make_unique<double*>());
            under_way.push_back(target_box(target)->get_async<double>(into.back().get()));
        }
        for (auto& comm : under_way) comm->wait();
    }

    double gather_end = 0;
    double exchange_end = 0;

  private:
    /// Each message is looked for among those that wait.
    void take(int index, const Flow& flow) {
        double& waiting = waiting_[index];
        const double looked = flow.messages * waiting - flow.messages * flow.messages / 2;
        waiting -= flow.messages;
        sg4::this_actor::sleep_for(flow.messages * job_.receive + looked * job_.look +
                                   flow.placing);
    }
    void store(int index) {
        static double nothing = 0;
        sg4::this_actor::sleep_for(job_.call);
        std::vector<sg4::CommPtr> under_way;
        for (const Store& one : job_.stores[index]) {
            auto comm =
                target_box(one.target)->put_init(&nothing, static_cast<std::uint64_t>(one.bytes));
            comm->set_rate(job_.client / static_cast<double>(job_.stores[index].size()));
            under_way.push_back(comm->start());
        }
        for (auto& comm : under_way) comm->wait();
    }
    static sg4::Mailbox* box(int aggregator) {
        return sg4::Mailbox::by_name("aggregator" + std::to_string(aggregator));
    }
    static sg4::Mailbox* target_box(int target) {
        return sg4::Mailbox::by_name("target" + std::to_string(target));
    }

    const Job& job_;
    std::vector<double> waiting_;
    sg4::BarrierPtr gathered_;
    sg4::BarrierPtr exchanged_;
};

}  // namespace

int main(int argc, char** argv) {
    sg4::Engine engine(&argc, argv);
    const Job job = read(std::cin);
    make_platform(job.links, static_cast<int>(job.sent.size()), job.targets);
    Replay replay(job);
    const auto start = [&](const std::string& name, const std::string& host, auto&& code) {
        sg4::Actor::create(name, engine.host_by_name(host), code);
    };
    for (int n = 0; n < static_cast<int>(job.sent.size()); ++n)
        for (int p = 0; p < job.parts; ++p)
            start("n", name_of_node(n), [&replay, n, p] { replay.send(n, p); });
    for (int a = 0; a < static_cast<int>(job.aggregators.size()); ++a)
        start("a", name_of_node(job.aggregators[a]), [&replay, a] { replay.aggregate(a); });
    for (int t = 0; t < job.targets; ++t)
        start("t", name_of_target(t), [&replay, t] { replay.serve(t); });
    engine.run();
    std::printf("%.9g %.9g %.9g\n", replay.gather_end, replay.exchange_end,
                sg4::Engine::get_clock());
    return 0;
}
