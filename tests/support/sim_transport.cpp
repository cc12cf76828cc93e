// SPDX-License-Identifier: BSD-3-Clause
#include "support/sim_transport.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "support/baton.hpp"
#include "support/pretended_nodes.hpp"
#include "support/random.hpp"
#include "support/sim_operation.hpp"

namespace oratorio::test {
namespace {

Nodes nodes_of(const SimOptions& options, bool switches_known) {
    Nodes nodes = pretended_nodes(options.ranks, options.ranks_per_node, options.node_of);
    if (switches_known) nodes.switch_of = options.switch_of;
    return nodes;
}

struct SimAbort {};  // thrown in each rank to unwind its stack after a failure

class Network {
  public:
    explicit Network(const SimOptions& options)
        : options_(options),
          nodes_(nodes_of(options, true)),
          random_(options.seed),
          baton_(options.ranks, random_),
          ranks_(options.ranks) {
        report_.counters.resize(options.ranks);
    }

    SimReport run(const std::function<void(Transport&)>& body);
    Result<Ticket> start(Rank me, Operation operation);
    Result<Ticket> start_collective(Rank me, Operation operation);
    Result<Completion> test(Rank me, Ticket ticket);
    Result<std::int64_t> fetch_add(Rank me, std::int64_t by);
    Result<void> set_counter(Rank me, std::int64_t to);
    [[nodiscard]] bool quiet(Rank me) const { return ranks_[me].operations.empty(); }
    [[nodiscard]] const Error& lost(Rank me) const { return ranks_[me].lost; }
    void idle(Rank me);
    [[nodiscard]] const SimOptions& options() const { return options_; }

  private:
    void live(Rank me, const std::function<void(Transport&)>& body);
    bool step(Rank me, int switch_percent);
    void hear(Rank me);
    void note(std::uint64_t event, Rank me, std::uint64_t detail);
    [[noreturn]] void fail(const std::string& text);
    [[nodiscard]] std::string who_waits() const;
    Ticket post(Rank me, Operation operation);
    void match_send(Rank from, Operation& send);
    void match_receive(Rank me, Operation& receive);
    void deliver(Rank from, Operation& send, Rank to, Operation& receive);
    void join(Rank me, Operation& operation);
    [[nodiscard]] bool ready(const Operation& operation);
    void take_result(Operation& operation);

    SimOptions options_;
    Nodes nodes_;
    Random random_;
    Baton baton_;
    std::vector<RankState> ranks_;
    std::map<std::size_t, Collective> collectives_;
    std::int64_t counter_ = 0;
    SimReport report_;
    Error told_;  ///< a send's failure that the other ranks learn of in idle()
    std::string failure_;
    std::uint64_t idles_ = 0;  // idle calls of all ranks since the last progress
};

/// One rank's access to the number that all ranks share.
class SimCounter final : public SharedCounter {
  public:
    SimCounter(Network& network, Rank me) : network_(network), me_(me) {}
    Result<std::int64_t> fetch_add(std::int64_t by) override { return network_.fetch_add(me_, by); }
    Result<void> set(std::int64_t to) override { return network_.set_counter(me_, to); }

  private:
    Network& network_;
    Rank me_;
};

class SimTransport final : public Transport {
  public:
    SimTransport(Network& network, Rank me)
        : network_(network),
          me_(me),
          counter_(network, me),
          topology_{nodes_of(network.options(), network.options().switches_known), me} {}
    const Topology& topology() const override { return topology_; }
    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override {
        return network_.start(me_, {.kind = OpKind::send,
                                    .peer = to,
                                    .tag = tag,
                                    .size = static_cast<std::size_t>(data.bytes()),
                                    .from = pieces_of(data)});
    }
    Result<Ticket> receive(Rank from, Tag tag, const ReceiveMemory& into) override {
        return network_.start(me_, {.kind = OpKind::receive,
                                    .peer = from,
                                    .tag = tag,
                                    .size = static_cast<std::size_t>(into.bytes()),
                                    .into = pieces_of(into)});
    }
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override {
        auto bytes = std::as_writable_bytes(values);
        return network_.start_collective(
            me_,
            {.kind = OpKind::reduce, .size = bytes.size(), .out = bytes, .in = bytes, .op = op});
    }
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        return network_.start_collective(
            me_, {.kind = OpKind::gather, .size = mine.size(), .out = mine, .in = all});
    }
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override {
        return network_.start_collective(me_, {.kind = OpKind::broadcast,
                                               .peer = root,
                                               .size = data.size(),
                                               .out = data,
                                               .in = data});
    }
    Result<Completion> test(Ticket ticket) override { return network_.test(me_, ticket); }
    SharedCounter& counter() override { return counter_; }
    bool quiet() const override { return network_.quiet(me_); }
    const Error& lost() const override { return network_.lost(me_); }
    void idle(const WaitHint&) override { network_.idle(me_); }

  private:
    Network& network_;
    Rank me_;
    SimCounter counter_;
    Topology topology_;
};

Error aborted() {
    return Error::make(ErrorKind::internal, "the simulation was aborted");
}

SimReport Network::run(const std::function<void(Transport&)>& body) {
    std::vector<std::thread> threads;
    for (Rank r = 0; r < options_.ranks; ++r) {
        threads.emplace_back([this, r, &body] { live(r, body); });
    }
    baton_.begin();
    for (auto& thread : threads) thread.join();
    if (!failure_.empty()) {
        throw SimFailure("seed " + std::to_string(options_.seed) + ", " +
                         std::to_string(options_.ranks) + " ranks: " + failure_);
    }
    return report_;
}

void Network::live(Rank me, const std::function<void(Transport&)>& body) {
    baton_.wait_for(me);
    const std::string name = "rank " + std::to_string(me);
    try {
        if (failure_.empty()) {
            SimTransport transport(*this, me);
            body(transport);
            if (!ranks_[me].operations.empty() && options_.fail_send == 0) {
                fail(name + " ended with operations it never finished" + who_waits());
            }
        }
    } catch (const SimAbort&) {
    } catch (const std::exception& exception) {
        if (failure_.empty()) failure_ = name + " threw: " + exception.what();
    } catch (...) {
        if (failure_.empty()) failure_ = name + " threw something other than a std::exception";
    }
    ranks_[me].ended = true;
    baton_.leave(me);
}

// Lets other ranks run. Returns false if the simulation has failed and this rank's stack is being
// unwound: a destructor that still waits gets an error instead of a second exception.
bool Network::step(Rank me, int switch_percent) {
    const bool unwinding = std::uncaught_exceptions() > 0;
    if (failure_.empty() && random_.chance(switch_percent)) baton_.pass(me);
    if (failure_.empty()) return true;
    if (!unwinding) throw SimAbort{};
    return false;
}

void Network::note(std::uint64_t event, Rank me, std::uint64_t detail) {
    for (std::uint64_t word : {event, static_cast<std::uint64_t>(me), detail}) {
        report_.trace = (report_.trace ^ word) * 0x100000001b3ULL + 1;
    }
}

void Network::fail(const std::string& text) {
    if (failure_.empty()) failure_ = text;
    throw SimAbort{};
}

std::string Network::who_waits() const {
    std::string text;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        text += "\n  rank " + std::to_string(r) + (ranks_[r].ended ? " (ended)" : "") + ":";
        if (ranks_[r].operations.empty()) text += " no operation";
        for (const auto& [ticket, operation] : ranks_[r].operations) {
            text += " [" + operation.describe() + (operation.matched ? ", matched]" : "]");
        }
    }
    return text;
}

Ticket Network::post(Rank me, Operation operation) {
    const Ticket ticket{ranks_[me].next_ticket++};
    note(1 + static_cast<std::uint64_t>(operation.kind), me, operation.size);
    ranks_[me].operations.emplace(ticket.id, std::move(operation));
    idles_ = 0;
    return ticket;
}

Result<Ticket> Network::start(Rank me, Operation operation) {
    if (!step(me, options_.switch_percent)) return aborted();
    if (ranks_[me].lost.kind != ErrorKind::none) return ranks_[me].lost;
    const bool any = operation.kind == OpKind::receive && operation.peer == kAnyRank;
    if ((operation.peer < 0 || operation.peer >= options_.ranks) && !any) {
        fail("rank " + std::to_string(me) + ": no such peer: " + operation.describe());
    }
    if (operation.kind == OpKind::receive) {
        operation.sought = any && !nodes_.one_node();
        const Ticket ticket = post(me, std::move(operation));
        Operation& posted = ranks_[me].operations.at(ticket.id);
        if (!posted.sought) match_receive(me, posted);
        return ticket;
    }
    SimCounters& counters = report_.counters[me];
    ++counters.messages;
    if (me == options_.fail_rank && counters.messages == options_.fail_send) {
        const Error failure = Error::make(ErrorKind::other, "injected failure of a send").on(me);
        if (options_.failure_is_told) told_ = failure;
        hear(me);
        return failure;
    }
    counters.bytes += operation.size;
    if (nodes_.switch_at(me) != nodes_.switch_at(operation.peer)) {
        ++counters.messages_between_switches;
        counters.bytes_between_switches += operation.size;
    }
    const Ticket ticket = post(me, std::move(operation));
    match_send(me, ranks_[me].operations.at(ticket.id));
    return ticket;
}

// Delivers a send to the earliest posted receive that matches. No earlier send of the same pair of
// ranks and tag can be waiting, because it would have matched that receive.
void Network::match_send(Rank from, Operation& send) {
    for (auto& [ticket, receive] : ranks_[send.peer].operations) {
        if (receive.kind != OpKind::receive || receive.matched || receive.tag != send.tag) continue;
        if ((receive.peer != from && receive.peer != kAnyRank) || receive.sought) continue;
        return deliver(from, send, send.peer, receive);
    }
}

// Matches a receive with the earliest matching send of a rank. If several ranks have one, the
// scheduler picks a rank at random.
void Network::match_receive(Rank me, Operation& receive) {
    std::vector<std::pair<Rank, Operation*>> candidates;
    for (Rank from = 0; from < options_.ranks; ++from) {
        if (receive.peer != kAnyRank && receive.peer != from) continue;
        for (auto& [ticket, send] : ranks_[from].operations) {
            if (send.kind != OpKind::send || send.matched || send.peer != me) continue;
            if (send.tag != receive.tag) continue;
            candidates.emplace_back(from, &send);
            break;
        }
    }
    if (candidates.empty()) return;
    const auto [from, send] = candidates[random_.below(candidates.size())];
    deliver(from, *send, me, receive);
}

void Network::deliver(Rank from, Operation& send, Rank to, Operation& receive) {
    if (send.size > receive.size) {
        fail("rank " + std::to_string(from) + "'s " + send.describe() + " is too long for rank " +
             std::to_string(to) + "'s " + receive.describe());
    }
    receive.arrived = gathered(send.from);
    receive.source = from;
    receive.size = send.size;
    send.matched = receive.matched = true;
    note(10 + static_cast<std::uint64_t>(from), to, send.size);
}

Result<Ticket> Network::start_collective(Rank me, Operation operation) {
    if (!step(me, options_.switch_percent)) return aborted();
    if (ranks_[me].lost.kind != ErrorKind::none) return ranks_[me].lost;
    operation.collective = ranks_[me].next_collective++;
    ++report_.counters[me].collectives;
    if (operation.kind == OpKind::gather && operation.in.size() != operation.size * ranks_.size()) {
        fail("rank " + std::to_string(me) +
             ": a gather needs a buffer with one block for each rank");
    }
    join(me, operation);
    return post(me, std::move(operation));
}

void Network::join(Rank me, Operation& operation) {
    Collective& all = collectives_[operation.collective];
    const std::string signature = operation.describe();
    if (all.joined++ == 0) {
        all.signature = signature;
        all.first = me;
    } else if (all.signature != signature) {
        fail("collectives differ: rank " + std::to_string(all.first) + " " + all.signature +
             ", rank " + std::to_string(me) + " " + signature);
    }
    switch (operation.kind) {
        case OpKind::broadcast:
            if (operation.peer != me) return;
            all.root_joined = true;
            all.data.assign(operation.out.begin(), operation.out.end());
            return;
        case OpKind::gather:
            all.data.resize(operation.size * ranks_.size());
            std::ranges::copy(operation.out,
                              all.data.begin() + static_cast<std::ptrdiff_t>(me * operation.size));
            return;
        default:
            break;
    }
    std::vector<std::uint64_t> mine(operation.size / sizeof(std::uint64_t));
    if (!mine.empty()) std::memcpy(mine.data(), operation.out.data(), operation.size);
    if (all.joined == 1) {
        all.values = std::move(mine);
        return;
    }
    for (std::size_t i = 0; i < mine.size(); ++i) {
        std::uint64_t& value = all.values[i];
        if (operation.op == ReduceOp::sum) value += mine[i];
        if (operation.op == ReduceOp::max) value = std::max(value, mine[i]);
        if (operation.op == ReduceOp::min) value = std::min(value, mine[i]);
    }
}

// Returns true if the operation may be reported as done. A broadcast needs only its root to have
// joined: as in MPI, it is no barrier.
bool Network::ready(const Operation& operation) {
    if (operation.kind == OpKind::send || operation.kind == OpKind::receive)
        return operation.matched;
    const Collective& all = collectives_.at(operation.collective);
    if (operation.kind == OpKind::broadcast) return all.root_joined;
    return all.joined == options_.ranks;
}

void Network::take_result(Operation& operation) {
    if (operation.kind == OpKind::send) return;
    if (operation.kind == OpKind::receive) {
        scatter(operation.arrived, operation.into);
        return;
    }
    Collective& all = collectives_.at(operation.collective);
    const auto result = operation.kind == OpKind::reduce ? std::as_bytes(std::span(all.values))
                                                         : std::as_bytes(std::span(all.data));
    std::ranges::copy(result, operation.in.begin());
    if (++all.told == options_.ranks) collectives_.erase(operation.collective);
}

/// Reports the failure to the rank, if there is one, and cancels the rank's operations.
void Network::hear(Rank me) {
    if (told_.kind == ErrorKind::none || ranks_[me].lost.kind != ErrorKind::none) return;
    ranks_[me].lost = told_;
    ranks_[me].operations.clear();
    idles_ = 0;
}

Result<Completion> Network::test(Rank me, Ticket ticket) {
    if (!step(me, options_.switch_percent)) return aborted();
    if (ranks_[me].lost.kind != ErrorKind::none) return ranks_[me].lost;
    auto found = ranks_[me].operations.find(ticket.id);
    if (found == ranks_[me].operations.end()) {
        fail("rank " + std::to_string(me) + " tests ticket " + std::to_string(ticket.id) +
             ", which is finished or was never started");
    }
    Operation& operation = found->second;
    if (operation.sought && !operation.matched) {
        match_receive(me, operation);
        if (operation.matched) idles_ = 0;
        return Completion{};
    }
    if (!ready(operation) || random_.chance(options_.late_percent)) return Completion{};
    take_result(operation);
    Completion completion{.done = true};
    if (operation.kind == OpKind::receive) {
        completion.source = operation.source;
        completion.bytes = static_cast<Bytes>(operation.size);
    }
    note(5'000, me, static_cast<std::uint64_t>(ticket.id));
    ranks_[me].operations.erase(found);
    idles_ = 0;
    return completion;
}

Result<std::int64_t> Network::fetch_add(Rank me, std::int64_t by) {
    if (!step(me, options_.switch_percent)) return aborted();
    note(6'000, me, static_cast<std::uint64_t>(by));
    return std::exchange(counter_, counter_ + by);
}

Result<void> Network::set_counter(Rank me, std::int64_t to) {
    if (!step(me, options_.switch_percent)) return aborted();
    note(7'000, me, static_cast<std::uint64_t>(to));
    counter_ = to;
    return {};
}

void Network::idle(Rank me) {
    if (!step(me, 100)) return;
    ++report_.counters[me].idles;
    hear(me);
    if (++idles_ > options_.idle_limit)
        fail("deadlock: no message moved in " + std::to_string(options_.idle_limit) +
             " idle calls" + who_waits());
}

}  // namespace

SimReport run_ranks(const SimOptions& options, const std::function<void(Transport&)>& body) {
    return Network(options).run(body);
}

}  // namespace oratorio::test
