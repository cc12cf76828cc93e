// SPDX-License-Identifier: BSD-3-Clause
// oratorio_replay < FILE: simulates one round of a schedule on SimGrid S4U and prints the seconds
// of its phases: gather, exchange, storage. In reads the storage comes before the exchange. Actors
// are parts of nodes, aggregators and storage targets. lab/oratorio_lab/simulate/s4u.py writes the
// file and runs this program.
#include <cstdio>
#include <deque>
#include <iostream>
#include <memory>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "platform.hpp"

using namespace oratorio::replay;
namespace sg4 = simgrid::s4u;

namespace {

/// The messages from a part of a node to an aggregator, which are simulated as one transfer.
struct Flow {
    int aggregator = 0;
    double bytes = 0;
    double messages = 0;
    double sending = 0;  ///< seconds of the node's senders to send the messages
    double placing = 0;  ///< seconds of the aggregator to place the data, without `receive`
    // The following members are only for reads.
    double answer = 0;     ///< bytes of the reply
    double answering = 0;  ///< seconds of the aggregator to make the reply
    double taking = 0;     ///< seconds of the node's senders to take the reply
};

/// A flow, and the index of the part of a node that sends it.
struct Parcel {
    const Flow* flow = nullptr;
    int sender = 0;
};

struct Store {
    int target = 0;
    double bytes = 0;
};

struct Job {
    bool reads = false;
    Links links;
    double receive = 0;  ///< seconds of an aggregator per message
    double look = 0;     ///< seconds to examine a waiting message in search of another
    double client = 0;
    double call = 0;
    /// Most flows under way at the same time, for a part of a node and for an aggregator.
    int window = 1;
    int parts = 1;  ///< parts into which the ranks of a node are divided; each sends independently
    std::vector<double> gather;
    std::vector<std::vector<Flow>> sent;
    std::vector<int> aggregators;  ///< node of each aggregator
    /// For each aggregator: seconds to place data that needs no message.
    std::vector<double> own;
    std::vector<std::vector<Store>> stores;
    int targets = 0;
};

Job read(std::istream& in) {
    Job job;
    int nodes = 0;
    int aggregators = 0;
    in >> job.reads >> nodes >> aggregators >> job.targets >> job.window >> job.parts >>
        job.links.rate >> job.links.latency >> job.links.middle >> job.links.memory >>
        job.receive >> job.look >> job.client >> job.links.target >> job.call;
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
            in >> flow.aggregator >> flow.bytes >> flow.messages >> flow.sending >> flow.placing >>
                flow.answer >> flow.answering >> flow.taking;
            for (double* one :
                 {&flow.bytes, &flow.messages, &flow.placing, &flow.answer, &flow.answering})
                *one /= job.parts;
            job.sent[from].push_back(flow);
        } else {
            Store store;
            in >> store.target >> store.bytes;
            job.stores[from].push_back(store);
        }
    }
    return job;
}

/// A set of transfers that are under way.
class Under {
  public:
    [[nodiscard]] std::size_t count() const { return comms_.size(); }
    void add(sg4::CommPtr comm) { comms_.push_back(std::move(comm)); }
    void wait_for_one() { comms_.erase(comms_.begin() + sg4::Comm::wait_any(comms_)); }
    void wait_for_all() {
        for (auto& comm : comms_) comm->wait();
        comms_.clear();
    }

  private:
    std::vector<sg4::CommPtr> comms_;
};

/// Receives the parcels of one mailbox; several receives may be under way.
class Inbox {
  public:
    explicit Inbox(sg4::Mailbox* box) : box_(box) {}
    void ask() {
        into_.push_back(std::make_unique<Parcel*>());
        comms_.push_back(box_->get_async<Parcel>(into_.back().get()));
    }
    [[nodiscard]] std::size_t asked() const { return comms_.size(); }
    Parcel take() {
        const auto done = sg4::Comm::wait_any(comms_);
        const Parcel parcel = **into_[static_cast<std::size_t>(done)];
        comms_.erase(comms_.begin() + done);
        into_.erase(into_.begin() + done);
        return parcel;
    }

  private:
    sg4::Mailbox* box_;
    std::vector<sg4::CommPtr> comms_;
    std::vector<std::unique_ptr<Parcel*>> into_;
};

class Replay {
  public:
    Replay(const Job& job) : job_(job), waiting_(job.aggregators.size()) {
        const std::size_t senders = job.sent.size() * static_cast<std::size_t>(job.parts);
        gathered_ = sg4::Barrier::create(job.reads ? senders + job.aggregators.size() : senders);
        loaded_ = sg4::Barrier::create(senders + job.aggregators.size());
        exchanged_ = sg4::Barrier::create(senders + job.aggregators.size());
    }

    /// Sends the flows of one part of a node. Parts begin at consecutive aggregators, as ranks do.
    void send(int node, int part) {
        sg4::this_actor::sleep_for(job_.gather[node]);
        gathered_->wait();
        gather_end = sg4::Engine::get_clock();
        if (job_.reads) loaded_->wait();
        const int sender = node * job_.parts + part;
        const auto& flows = job_.sent[node];
        std::deque<Parcel> parcels;  // each is kept until it has been received
        Under under_way;
        Inbox answers(sender_box(sender));
        for (std::size_t i = 0; i < flows.size(); ++i) {
            const Flow& flow = flows[(i + static_cast<std::size_t>(sender)) % flows.size()];
            if (static_cast<int>(job_.reads ? answers.asked() : under_way.count()) == job_.window) {
                if (job_.reads) take_answer(answers);
                if (!job_.reads) under_way.wait_for_one();
            }
            sg4::this_actor::sleep_for(flow.sending);
            waiting_[flow.aggregator] += flow.messages;
            if (job_.reads) answers.ask();
            under_way.add(put(box(flow.aggregator), parcels, {&flow, sender}, flow.bytes));
        }
        while (answers.asked() > 0) take_answer(answers);
        under_way.wait_for_all();
        exchanged_->wait();
    }

    void aggregate(int index) {
        if (job_.reads) {
            gathered_->wait();
            move(index);
            loaded_->wait();
            loaded_end = sg4::Engine::get_clock();
        }
        exchange(index);
        exchanged_->wait();
        exchange_end = sg4::Engine::get_clock();
        if (!job_.reads) move(index);
    }

    void serve(int target) {
        Under under_way;
        static Parcel nothing;
        std::deque<Parcel*> into;
        for (std::size_t index = 0; index < job_.stores.size(); ++index) {
            for (const Store& one : job_.stores[index]) {
                if (one.target != target) continue;
                if (job_.reads) {
                    under_way.add(stored(storage_box(static_cast<int>(index)), nothing, one,
                                         job_.stores[index].size()));
                } else {
                    into.push_back(nullptr);
                    under_way.add(target_box(target)->get_async<Parcel>(&into.back()));
                }
            }
        }
        under_way.wait_for_all();
    }

    double gather_end = 0;
    double loaded_end = 0;
    double exchange_end = 0;

  private:
    void exchange(int index) {
        std::size_t left = 0;
        for (const auto& flows : job_.sent)
            for (const Flow& flow : flows) left += flow.aggregator == index ? job_.parts : 0;
        sg4::this_actor::sleep_for(job_.own[index]);
        Inbox inbox(box(index));
        std::deque<Parcel> parcels;
        Under answers;
        for (; left > 0; --left) {
            while (inbox.asked() < left && static_cast<int>(inbox.asked()) < job_.window)
                inbox.ask();
            const Parcel parcel = inbox.take();
            take(index, *parcel.flow);
            if (!job_.reads) continue;
            sg4::this_actor::sleep_for(parcel.flow->answering);
            answers.add(put(sender_box(parcel.sender), parcels, parcel, parcel.flow->answer));
        }
        answers.wait_for_all();
    }
    static void take_answer(Inbox& answers) {
        sg4::this_actor::sleep_for(answers.take().flow->taking);
    }
    /// Takes the messages of a flow. The aggregator searches for each message among all that wait.
    void take(int index, const Flow& flow) {
        double& waiting = waiting_[index];
        const double looked = flow.messages * waiting - flow.messages * flow.messages / 2;
        waiting -= flow.messages;
        sg4::this_actor::sleep_for(flow.messages * job_.receive + looked * job_.look +
                                   flow.placing);
    }
    /// Moves data between an aggregator and its targets.
    void move(int index) {
        static Parcel nothing;
        sg4::this_actor::sleep_for(job_.call);
        const auto& stores = job_.stores[index];
        Under under_way;
        std::deque<Parcel*> into;
        for (const Store& one : stores) {
            if (job_.reads) {
                into.push_back(nullptr);
                under_way.add(storage_box(index)->get_async<Parcel>(&into.back()));
            } else {
                under_way.add(stored(target_box(one.target), nothing, one, stores.size()));
            }
        }
        under_way.wait_for_all();
    }
    static sg4::CommPtr put(sg4::Mailbox* to, std::deque<Parcel>& parcels, Parcel parcel,
                            double bytes) {
        parcels.push_back(parcel);
        return to->put_async(&parcels.back(), static_cast<std::uint64_t>(bytes));
    }
    /// Starts one of the `all` transfers to or from storage that an aggregator makes at the same
    /// time. They share the rate of the client.
    sg4::CommPtr stored(sg4::Mailbox* to, Parcel& nothing, const Store& store,
                        std::size_t all) const {
        auto comm = to->put_init(&nothing, static_cast<std::uint64_t>(store.bytes));
        comm->set_rate(job_.client / static_cast<double>(all));
        return comm->start();
    }
    static sg4::Mailbox* box(int aggregator) {
        return sg4::Mailbox::by_name("aggregator" + std::to_string(aggregator));
    }
    static sg4::Mailbox* storage_box(int aggregator) {
        return sg4::Mailbox::by_name("storage" + std::to_string(aggregator));
    }
    static sg4::Mailbox* sender_box(int sender) {
        return sg4::Mailbox::by_name("sender" + std::to_string(sender));
    }
    static sg4::Mailbox* target_box(int target) {
        return sg4::Mailbox::by_name("target" + std::to_string(target));
    }

    const Job& job_;
    std::vector<double> waiting_;
    sg4::BarrierPtr gathered_;
    sg4::BarrierPtr loaded_;
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
    const double end = sg4::Engine::get_clock();
    const double gather = replay.gather_end;
    const double storage = job.reads ? replay.loaded_end - gather : end - replay.exchange_end;
    std::printf("%.9g %.9g %.9g\n", gather, end - gather - storage, storage);
    return 0;
}
