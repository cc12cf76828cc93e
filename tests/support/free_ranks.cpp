// SPDX-License-Identifier: BSD-3-Clause
#include "support/free_ranks.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "support/pretended_nodes.hpp"
#include "support/sim_operation.hpp"

namespace oratorio::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLongest = 240s;  // a run that takes longer ends the program

/// A send that has been started, shared by the sender and the channel.
struct Message {
    Tag tag = 0;
    Pieces<const std::byte> data;
    bool taken = false;
};

/// The messages from one rank to another that have been sent but not received.
struct Channel {
    std::mutex lock;
    std::list<std::shared_ptr<Message>> waiting;
};

/// One collective of all ranks: the k-th that each rank starts. It holds the data that each rank
/// has contributed so far.
struct FreeCollective {
    std::mutex lock;
    std::vector<std::optional<std::vector<std::byte>>> brought;
    int joined = 0;
};

/// State that the ranks share.
class Between {
  public:
    explicit Between(const FreeOptions& wanted)
        : options(wanted),
          channels_(static_cast<std::size_t>(wanted.ranks) *
                    static_cast<std::size_t>(wanted.ranks)) {}

    Channel& channel(Rank from, Rank to) {
        return channels_[static_cast<std::size_t>(from) * static_cast<std::size_t>(options.ranks) +
                         static_cast<std::size_t>(to)];
    }
    FreeCollective& collective(std::size_t number) {
        const std::lock_guard hold(lock_);
        FreeCollective& all = collectives_[number];
        all.brought.resize(static_cast<std::size_t>(options.ranks));
        return all;
    }
    void end_if_late() const {
        if (Clock::now() < until_) return;
        std::fprintf(stderr, "free_ranks: the ranks haven't ended in four minutes\n");
        std::abort();
    }

    const FreeOptions options;
    std::atomic<std::int64_t> counter{0};

  private:
    std::vector<Channel> channels_;
    std::mutex lock_;
    std::map<std::size_t, FreeCollective> collectives_;
    const Clock::time_point until_ = Clock::now() + kLongest;
};

struct Started : Operation {
    std::shared_ptr<Message> message;
    FreeCollective* all = nullptr;
};

class FreeTransport final : public Transport {
  public:
    FreeTransport(Between& between, Rank me)
        : between_(between),
          counter_(between.counter),
          topology_{pretended_nodes(between.options.ranks, between.options.ranks_per_node), me} {}
    const Topology& topology() const override { return topology_; }
    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override;
    Result<Ticket> receive(Rank from, Tag tag, const ReceiveMemory& into) override;
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override;
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override;
    Result<Completion> test(Ticket ticket) override;
    SharedCounter& counter() override { return counter_; }
    bool quiet() const override { return started_.empty(); }
    void idle(const WaitHint& wait_hint) override;

  private:
    Ticket keep(Started operation);
    Ticket join(Started operation, std::span<const std::byte> mine);
    void match_receives();
    [[nodiscard]] bool match(Started& receive, Rank from);
    [[nodiscard]] bool ended(Started& operation);
    [[nodiscard]] bool collective_ended(const Started& operation);
    void combine(const Started& operation) const;

    Between& between_;
    MemoryCounter counter_;
    Topology topology_;
    std::map<std::int64_t, Started> started_;  ///< operations that this rank has started, by ticket
    std::int64_t next_ticket_ = 0;
    std::size_t next_collective_ = 0;
};

Ticket FreeTransport::keep(Started operation) {
    const Ticket ticket{next_ticket_++};
    started_.emplace(ticket.id, std::move(operation));
    return ticket;
}

Result<Ticket> FreeTransport::send(Rank to, Tag tag, const SendMemory& data) {
    Started send{{.kind = OpKind::send, .peer = to, .tag = tag}, {}, nullptr};
    send.message = std::make_shared<Message>(Message{tag, pieces_of(data)});
    Channel& channel = between_.channel(topology_.rank, to);
    const std::lock_guard hold(channel.lock);
    channel.waiting.push_back(send.message);
    return keep(std::move(send));
}

Result<Ticket> FreeTransport::receive(Rank from, Tag tag, const ReceiveMemory& into) {
    return keep({{.kind = OpKind::receive, .peer = from, .tag = tag, .into = pieces_of(into)},
                 {},
                 nullptr});
}

/// Matches receives in the order in which they were started, so that a message that arrives between
/// two checks does not go to a later receive.
void FreeTransport::match_receives() {
    std::vector<const Started*> pending;
    const auto comes_before = [](const Started& one, const Started& other) {
        return one.tag == other.tag &&
               (one.peer == other.peer || one.peer == kAnyRank || other.peer == kAnyRank);
    };
    for (auto& [ticket, receive] : started_) {
        if (receive.kind != OpKind::receive || receive.matched) continue;
        const bool waits = std::ranges::any_of(
            pending, [&](const Started* one) { return comes_before(*one, receive); });
        pending.push_back(&receive);
        if (waits) continue;
        for (Rank from = 0; from < topology_.size && !receive.matched; ++from)
            if (receive.peer == from || receive.peer == kAnyRank)
                receive.matched = match(receive, from);
        if (receive.matched) pending.pop_back();
    }
}

bool FreeTransport::match(Started& receive, Rank from) {
    Channel& channel = between_.channel(from, topology_.rank);
    const std::lock_guard hold(channel.lock);
    const auto found = std::ranges::find_if(
        channel.waiting, [&](const auto& message) { return message->tag == receive.tag; });
    if (found == channel.waiting.end()) return false;
    Message& message = **found;
    const std::vector<std::byte> data = gathered(message.data);
    if (data.size() > size_of(receive.into)) std::abort();
    scatter(data, receive.into);
    receive.source = from;
    receive.size = data.size();
    message.taken = true;
    channel.waiting.erase(found);
    return true;
}

Ticket FreeTransport::join(Started operation, std::span<const std::byte> mine) {
    operation.all = &between_.collective(next_collective_++);
    {
        const std::lock_guard hold(operation.all->lock);
        operation.all->brought[static_cast<std::size_t>(topology_.rank)].emplace(mine.begin(),
                                                                                 mine.end());
        ++operation.all->joined;
    }
    return keep(std::move(operation));
}

Result<Ticket> FreeTransport::reduce(std::span<std::uint64_t> values, ReduceOp op) {
    const auto bytes = std::as_writable_bytes(values);
    return join({{.kind = OpKind::reduce, .in = bytes, .op = op}, {}, nullptr}, bytes);
}

Result<Ticket> FreeTransport::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
    return join({{.kind = OpKind::gather, .in = all}, {}, nullptr}, mine);
}

Result<Ticket> FreeTransport::broadcast(Rank root, std::span<std::byte> data) {
    return join({{.kind = OpKind::broadcast, .peer = root, .in = data}, {}, nullptr}, data);
}

bool FreeTransport::collective_ended(const Started& operation) {
    const std::lock_guard hold(operation.all->lock);
    const bool told =
        operation.kind == OpKind::broadcast
            ? operation.all->brought[static_cast<std::size_t>(operation.peer)] != std::nullopt
            : operation.all->joined == topology_.size;
    if (told) combine(operation);
    return told;
}

void FreeTransport::combine(const Started& operation) const {
    const auto& brought = operation.all->brought;
    auto to = operation.in.begin();
    if (operation.kind == OpKind::broadcast) {
        std::ranges::copy(*brought[static_cast<std::size_t>(operation.peer)], to);
    } else if (operation.kind == OpKind::gather) {
        for (const auto& block : brought) to = std::ranges::copy(*block, to).out;
    } else {
        for (std::size_t at = 0; at < operation.in.size(); at += sizeof(std::uint64_t)) {
            std::uint64_t sum = 0;
            for (const auto& block : brought) {
                std::uint64_t value = 0;
                std::memcpy(&value, block->data() + at, sizeof value);
                sum = &block == &brought.front()      ? value
                      : operation.op == ReduceOp::sum ? sum + value
                      : operation.op == ReduceOp::max ? std::max(sum, value)
                                                      : std::min(sum, value);
            }
            std::memcpy(operation.in.data() + at, &sum, sizeof sum);
        }
    }
}

bool FreeTransport::ended(Started& operation) {
    if (operation.all != nullptr) return collective_ended(operation);
    if (operation.kind == OpKind::receive) return operation.matched;
    Channel& channel = between_.channel(topology_.rank, operation.peer);
    const std::lock_guard hold(channel.lock);
    return operation.message->taken;
}

Result<Completion> FreeTransport::test(Ticket ticket) {
    match_receives();
    const auto found = started_.find(ticket.id);
    if (found == started_.end()) std::abort();
    Started& operation = found->second;
    if (!ended(operation)) return Completion{};
    Completion completion{.done = true};
    if (operation.kind == OpKind::receive) {
        completion.source = operation.source;
        completion.bytes = static_cast<Bytes>(operation.size);
    }
    started_.erase(found);
    return completion;
}

void FreeTransport::idle(const WaitHint& wait_hint) {
    between_.end_if_late();
    if (wait_hint.doorbell != nullptr)
        wait_until_rung(*wait_hint.doorbell, wait_hint.heard, 200us);
    else
        sched_yield();
}

}  // namespace

void run_free_ranks(const FreeOptions& options, const std::function<void(Transport&)>& body) {
    Between between(options);
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < options.ranks; ++rank)
        threads.emplace_back([&between, &body, rank] {
            FreeTransport transport(between, rank);
            body(transport);
        });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace oratorio::test
