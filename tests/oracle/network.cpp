// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/network.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "oracle/scarcity.hpp"
#include "support/pretended_nodes.hpp"

namespace oratorio::oracle {

namespace {

Error stopped() {
    return Error::make(ErrorKind::internal, "the simulation was stopped");
}

}  // namespace

class NetworkTransport final : public Transport {
  public:
    NetworkTransport(std::shared_ptr<Network> network, Rank rank)
        : network_(std::move(network)),
          me_(rank),
          topology_{test::pretended_nodes(network_->node_of_), rank} {
        topology_.cores = network_->cores_;
        // With an even number of cores the nodes are on two switches in turn.
        for (int node = 0; node < topology_.nodes() && topology_.cores % 2 == 0; ++node)
            topology_.switch_of.push_back(node % 2);
    }
    const Topology& topology() const override { return topology_; }
    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override {
        const Spared spared;
        return network_->start(
            me_,
            {.kind = Network::Kind::send, .peer = to, .tag = tag, .from = test::pieces_of(data)});
    }
    Result<Ticket> receive(Rank from, Tag tag, const ReceiveMemory& into) override {
        const Spared spared;
        return network_->start(me_, {.kind = Network::Kind::receive,
                                     .peer = from,
                                     .tag = tag,
                                     .into = test::pieces_of(into)});
    }
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override {
        const auto bytes = std::as_writable_bytes(values);
        return network_->join(me_,
                              {.kind = Network::Kind::reduce, .out = bytes, .in = bytes, .op = op});
    }
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        return network_->join(me_, {.kind = Network::Kind::gather, .out = mine, .in = all});
    }
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override {
        return network_->join(
            me_, {.kind = Network::Kind::broadcast, .peer = root, .out = data, .in = data});
    }
    Result<Completion> test(Ticket ticket) override { return network_->test(me_, ticket); }
    SharedCounter& counter() override {
        network_->fibers_.maybe();  // another rank may use the number first
        return network_->counter_;
    }
    bool quiet() const override {
        return network_->members_[static_cast<std::size_t>(me_)].operations.empty();
    }
    void idle(const WaitHint& wait_hint) override { network_->idle(me_, wait_hint); }

  private:
    std::shared_ptr<Network> network_;
    Rank me_;
    Topology topology_;
};

Network::Network(Fibers& fibers, std::vector<int> node_of, int cores, int late_percent)
    : fibers_(fibers),
      node_of_(std::move(node_of)),
      cores_(cores),
      late_percent_(late_percent),
      members_(node_of_.size()) {}

std::unique_ptr<Transport> Network::transport(const std::shared_ptr<Network>& network, Rank rank) {
    return std::make_unique<NetworkTransport>(network, rank);
}

bool Network::one_node() const {
    return std::ranges::all_of(node_of_, [](int node) { return node == 0; });
}

Result<Ticket> Network::start(Rank me, Operation operation) {
    const Spared spared;
    fibers_.maybe();
    if (fibers_.stopping()) return stopped();
    fibers_.moved();
    Member& member = members_[static_cast<std::size_t>(me)];
    operation.ticket = member.tickets++;
    operation.sought = operation.kind == Kind::receive && operation.peer == kAnyRank && !one_node();
    member.operations.push_back(std::move(operation));
    Operation& posted = member.operations.back();
    const Ticket ticket{posted.ticket};
    if (posted.kind == Kind::send) match_send(me, posted);
    if (posted.kind == Kind::receive && !posted.sought) match_receive(me, posted);
    return ticket;
}

/// Delivers the message to the earliest posted receive that matches.
void Network::match_send(Rank from, Operation& send) {
    for (Operation& receive : members_[static_cast<std::size_t>(send.peer)].operations) {
        if (receive.kind != Kind::receive || receive.matched || receive.tag != send.tag) continue;
        if ((receive.peer != from && receive.peer != kAnyRank) || receive.sought) continue;
        return deliver(from, send, receive);
    }
}

/// Receives the earliest matching message of a source. If several sources have one, the source is
/// drawn at random.
void Network::match_receive(Rank me, Operation& receive) {
    std::vector<std::pair<Rank, Operation*>> candidates;
    for (std::size_t from = 0; from < members_.size(); ++from) {
        if (receive.peer != kAnyRank && receive.peer != static_cast<Rank>(from)) continue;
        for (Operation& send : members_[from].operations) {
            if (send.kind != Kind::send || send.matched || send.peer != me) continue;
            if (send.tag != receive.tag) continue;
            candidates.emplace_back(static_cast<Rank>(from), &send);
            break;
        }
    }
    if (candidates.empty()) return;
    const auto [from, send] = candidates[fibers_.random().below(candidates.size())];
    deliver(from, *send, receive);
}

void Network::deliver(Rank from, Operation& send, Operation& receive) {
    if (test::size_of(send.from) > test::size_of(receive.into))
        return fibers_.fail("transport: a message is longer than its receive");
    receive.arrived = test::gathered(send.from);
    receive.source = from;
    send.matched = receive.matched = true;
}

Network::Collective& Network::collective(std::size_t number) {
    return collectives_[number - first_];
}

Result<Ticket> Network::join(Rank me, Operation operation) {
    const Spared spared;
    const std::size_t number = members_[static_cast<std::size_t>(me)].collectives++;
    if (number >= first_ + collectives_.size()) collectives_.resize(number - first_ + 1);
    Collective& all = collective(number);
    operation.collective = number;
    if (all.joined++ == 0) {
        all.kind = operation.kind;
        all.bytes = operation.out.size();
        all.root = operation.peer;
    } else if (all.kind != operation.kind || all.bytes != operation.out.size() ||
               all.root != operation.peer) {
        fibers_.fail("collectives differ: rank " + std::to_string(me) +
                     " is in another one than an earlier rank");
        return stopped();
    }
    if (operation.kind == Kind::broadcast && operation.peer == me) {
        all.root_joined = true;
        all.data.assign(operation.out.begin(), operation.out.end());
    } else if (operation.kind == Kind::gather) {
        all.data.resize(all.bytes * members_.size());
        std::ranges::copy(operation.out,
                          all.data.begin() + static_cast<std::ptrdiff_t>(
                                                 static_cast<std::size_t>(me) * all.bytes));
    } else if (operation.kind == Kind::reduce) {
        std::vector<std::uint64_t> mine(all.bytes / sizeof(std::uint64_t));
        std::memcpy(mine.data(), operation.out.data(), all.bytes);
        const bool first = all.values.empty();
        if (first) all.values = mine;
        for (std::size_t i = 0; i < mine.size() && !first; ++i) {
            std::uint64_t& value = all.values[i];
            value = operation.op == ReduceOp::sum   ? value + mine[i]
                    : operation.op == ReduceOp::max ? std::max(value, mine[i])
                                                    : std::min(value, mine[i]);
        }
    }
    return start(me, std::move(operation));
}

/// Returns true if the operation may be reported as done. A broadcast needs only its root to have
/// joined: as in MPI, it is no barrier.
bool Network::ready(const Operation& operation) {
    if (operation.kind == Kind::send || operation.kind == Kind::receive) return operation.matched;
    const Collective& all = collective(operation.collective);
    if (operation.kind == Kind::broadcast) return all.root_joined;
    return all.joined == static_cast<int>(members_.size());
}

void Network::take_result(Operation& operation) {
    if (operation.kind == Kind::send) return;
    if (operation.kind == Kind::receive) {
        test::scatter(operation.arrived, operation.into);
        return;
    }
    Collective& all = collective(operation.collective);
    if (operation.kind == Kind::reduce) {
        std::memcpy(operation.in.data(), all.values.data(), all.bytes);
    } else {
        std::ranges::copy(all.data, operation.in.begin());
    }
    ++all.told;
    while (!collectives_.empty() &&
           collectives_.front().told == static_cast<int>(members_.size())) {
        collectives_.erase(collectives_.begin());
        ++first_;
    }
}

Result<Completion> Network::test(Rank me, Ticket ticket) {
    const Spared spared;
    fibers_.maybe();
    if (fibers_.stopping()) return stopped();
    auto& operations = members_[static_cast<std::size_t>(me)].operations;
    const auto found = std::ranges::find(operations, ticket.id, &Operation::ticket);
    if (found == operations.end()) {
        fibers_.fail("transport: a ticket without an operation was tested");
        return stopped();
    }
    if (found->sought && !found->matched) {
        match_receive(me, *found);
        if (found->matched) fibers_.moved();
        return Completion{};
    }
    if (!ready(*found) || fibers_.random().chance(late_percent_)) return Completion{};
    take_result(*found);
    Completion completion{.done = true};
    if (found->kind == Kind::receive) {
        completion.source = found->source;
        completion.bytes = static_cast<Bytes>(found->arrived.size());
    }
    operations.erase(found);
    fibers_.moved();
    return completion;
}

/// Sleeps until another rank rings the doorbell, if the caller names one. By chance the rank wakes
/// early, as a real sleep may.
void Network::idle(Rank, const WaitHint& wait_hint) {
    const Spared spared;
    if (wait_hint.doorbell == nullptr || fibers_.random().chance(2)) return fibers_.idle();
    Doorbell& doorbell = *wait_hint.doorbell;
    const std::uint32_t heard = wait_hint.heard;
    doorbell.heard.store(heard);
    doorbell.sleep.store(Doorbell::asleep);
    fibers_.wait(
        [&doorbell, heard] {
            return doorbell.rings.load() != heard || doorbell.sleep.load() == Doorbell::called;
        },
        "its doorbell", true);
    doorbell.sleep.store(Doorbell::awake);
}

}  // namespace oratorio::oracle
