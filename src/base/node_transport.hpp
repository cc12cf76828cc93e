// SPDX-License-Identifier: BSD-3-Clause
// NodeTransport: the ranks of a node meet in memory that they share for reductions, gathers and
// broadcasts; where there are several nodes the first rank of each goes on with the first ranks of
// the others. On one node the counter lies there, too. Messages stay with the transport beneath.
// With more ranks than cores this is many times quicker than messages, whose receivers must poll.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/node_boards.hpp"
#include "base/transport.hpp"

namespace oratorio {

class NodeTransport final : public Transport {
  public:
    /// Collective: a transport of the first ranks of all nodes, in the nodes' order. Null on
    /// others.
    using OpenLeaders = std::function<Result<std::unique_ptr<Transport>>()>;
    /// Collective. Gives `inner` back as it is where each rank has a node of its own, where memory
    /// can't be shared, and of several nodes if there is no `open_leaders`. Lists of all ranks lie
    /// once for a node of several if they are longer than `listed_from`; where there is too little
    /// memory for that, each rank has its own.
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
    /// Long operands and results go by the transport beneath.
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override;
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
    [[nodiscard]] std::span<std::byte> list_of_node(std::size_t bytes) const override;
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override;
    Result<Completion> test(Ticket ticket) override;
    [[nodiscard]] Error lost() const override { return inner_->lost(); }
    /// On one node in the memory that the ranks share: no message, and no other rank takes part.
    Result<std::int64_t> fetch_add(std::int64_t by) override;
    Result<void> meet(std::span<std::byte> mine, const Act& act) override;
    [[nodiscard]] std::size_t meeting_max() const override {
        return in_memory() ? NodeBoards::kOperandMax : 0;
    }
    Result<void> set_counter(std::int64_t to) override;
    [[nodiscard]] SharedOutcome* shared_outcome() const override;
    [[nodiscard]] bool quiet() const override;
    void idle(const Rest& rest) override;
    [[nodiscard]] Rest rest() const override;
    [[nodiscard]] bool in_memory() const override { return !place().several_nodes(); }
    using Transport::idle;

  private:
    using Board = NodeBoards::Board;
    enum class Kind { reduce, gather, list, broadcast, meet };  ///< a list is gathered once for all
    /// An operation this rank has started and not finished.
    struct Operation {
        std::uint64_t number = 0;
        Kind kind = Kind::gather;
        ReduceOp op = ReduceOp::max;
        Rank root = 0;
        std::span<const std::byte> mine = {};
        std::span<std::byte> result = {};
        const Act* act = nullptr;  ///< of a meeting
        bool posted = false;
        Ticket across = {};  ///< of the first ranks
    };

    NodeTransport(std::unique_ptr<Transport> inner, NodeBoards boards,
                  std::unique_ptr<Transport> leaders)
        : inner_(std::move(inner)), boards_(std::move(boards)), leaders_(std::move(leaders)) {}
    [[nodiscard]] const NodePlace& place() const { return boards_.place(); }
    /// Then the transport beneath refuses every operation. One on a board would be taken for
    /// another that this rank has left out.
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
    std::unique_ptr<Transport> leaders_;  ///< null but on the first ranks of several nodes
    ErrorKind lost_ = ErrorKind::none;    ///< why this rank can't go on with those of other nodes
    std::uint64_t started_ = 0;
    std::vector<Operation> operations_;
    std::uint64_t wanted_ = 0;    ///< the operation started or tested last
    bool wants_message_ = false;  ///< what was started or tested last is beneath
    std::uint32_t heard_ = 0;     ///< rings before the operations were last looked at
    unsigned idles_across_ = 0;
};

}  // namespace oratorio
