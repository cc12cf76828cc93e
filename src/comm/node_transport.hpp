// SPDX-License-Identifier: BSD-3-Clause
// NodeTransport: runs reductions, gathers and broadcasts in memory that the ranks of a node share.
// With several nodes the first ranks of all nodes then exchange the results of their nodes. On one
// node the shared counter lies in that memory, too. Messages, and collectives with long operands or
// results, go to the inner transport. With more ranks than cores, collectives in memory are many
// times faster than messages, because the receivers of messages must poll.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "comm/node_boards.hpp"
#include "comm/node_services.hpp"
#include "comm/transport.hpp"

namespace oratorio {

class NodeTransport final : public Transport, private NodeServices {
  public:
    /// Collective over all ranks. Returns a transport of the first ranks of all nodes, in the
    /// nodes' order; null on other ranks.
    using OpenLeaders = std::function<Result<std::unique_ptr<Transport>>()>;
    /// Collective. Makes a transport over `inner`. Returns `inner` itself if each rank has a node
    /// of its own, if memory can't be shared, or if there are several nodes and `open_leaders` is
    /// empty or fails. With several nodes, each node gets memory for lists with an entry per rank
    /// if NodeBoards::kListed bytes per rank are more than `listed_from`, unless the nodes' sizes
    /// are so uneven that most of that memory would be unused. If the memory is refused, or a list
    /// doesn't fit, each rank has a list of its own.
    static Result<std::unique_ptr<Transport>> over(
        std::unique_ptr<Transport> inner, const OpenLeaders& open_leaders = {},
        const Agreed<std::size_t>& listed_from = NodeBoards::usually_listed_from());

    [[nodiscard]] const Topology& topology() const override { return inner_->topology(); }
    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override {
        wants_message_ = true;
        return inner_->send(to, tag, data);
    }
    Result<Ticket> receive(Rank from, Tag tag, const ReceiveMemory& into) override {
        wants_message_ = true;
        return inner_->receive(from, tag, into);
    }
    /// Operations with long operands or results go through the inner transport.
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override;
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override;
    Result<Completion> test(Ticket ticket) override;
    [[nodiscard]] const Error& lost() const override { return inner_->lost(); }
    /// On one node the counter lies in shared memory, so its calls need no message and no other
    /// rank.
    [[nodiscard]] SharedCounter& counter() override {
        return in_memory() ? counter_ : inner_->counter();
    }
    [[nodiscard]] NodeServices* node_services() override { return this; }
    [[nodiscard]] bool quiet() const override;
    void idle(const WaitHint& wait_hint) override;
    [[nodiscard]] WaitHint wait_hint() const override;
    [[nodiscard]] bool in_memory() const override { return !place().several_nodes(); }
    using Transport::idle;

  private:
    using Board = NodeBoards::Board;
    /// A `list` is a gather with one result per node.
    enum class Kind { reduce, gather, list, broadcast, rendezvous };
    /// An operation that this rank has started and not finished.
    struct Operation {
        std::uint64_t number = 0;
        Kind kind = Kind::gather;
        ReduceOp op = ReduceOp::max;
        Rank root = 0;
        std::span<const std::byte> mine = {};
        std::span<std::byte> result = {};
        const RendezvousAction* action = nullptr;  ///< used by a rendezvous only
        bool posted = false;
        Ticket across = {};  ///< the exchange between the nodes' first ranks
    };

    NodeTransport(std::unique_ptr<Transport> inner, NodeBoards boards,
                  std::unique_ptr<Transport> leaders)
        : inner_(std::move(inner)),
          boards_(std::move(boards)),
          leaders_(std::move(leaders)),
          counter_(boards_.head().counter) {}
    [[nodiscard]] std::span<std::byte> list(std::size_t bytes) const override;
    [[nodiscard]] std::size_t rendezvous_max() const override {
        return in_memory() ? NodeBoards::kOperandMax : 0;
    }
    Result<void> rendezvous(std::span<std::byte> mine, const RendezvousAction& action) override;
    [[nodiscard]] SharedFlushStatus* flush_status() const override;
    [[nodiscard]] const NodePlace& place() const { return boards_.place(); }
    /// Returns true once the inner transport refuses every operation. Then this rank must not post
    /// on boards any more: it has skipped an operation, and the other ranks would take its next
    /// operation for that one.
    [[nodiscard]] bool is_lost() const { return lost().kind != ErrorKind::none; }
    Ticket start(Operation operation);
    void post_waiting();
    [[nodiscard]] bool post(Operation& operation);
    void ring_others() const;
    [[nodiscard]] bool all_here(const Operation& operation) const;
    [[nodiscard]] bool is_acted(const Operation& operation) const;
    [[nodiscard]] bool is_complete(const Operation& operation) const;
    [[nodiscard]] bool wanted_complete() const;
    void finish();
    void combine(const Operation& operation, const Board& board);
    void reduce_here(const Operation& operation, const Board& board,
                     std::span<std::byte> into) const;
    void go_across();
    void begin_across(Operation& operation);
    [[nodiscard]] Result<Ticket> start_across(const Operation& operation);
    [[nodiscard]] Result<Ticket> start_gather(const Operation& operation, const Board& board);
    void end_across(const Operation& operation, ErrorKind failed);
    [[nodiscard]] bool is_across() const;

    std::unique_ptr<Transport> inner_;
    NodeBoards boards_;
    std::unique_ptr<Transport> leaders_;  ///< set on each node's first rank, with several nodes
    MemoryCounter counter_;               ///< used if there is one node
    ErrorKind lost_ = ErrorKind::none;  ///< why this rank can't exchange with other nodes any more
    std::uint64_t started_ = 0;
    std::vector<Operation> operations_;
    std::uint64_t wanted_ = 0;    ///< the operation started or tested last
    bool wants_message_ = false;  ///< the operation started or tested last belongs to `inner_`
    /// Value of this rank's `rings` before it last looked at the operations.
    std::uint32_t heard_ = 0;
    unsigned idles_across_ = 0;
};

}  // namespace oratorio
