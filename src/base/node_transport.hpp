// SPDX-License-Identifier: BSD-3-Clause
// NodeTransport: a transport whose ranks are all on one node does its reductions, gathers and
// broadcasts in memory that they share, where its counter lies, too. Messages stay with the
// transport beneath. With more ranks than cores this is many times quicker than messages, whose
// receivers must poll.
#pragma once

#include <memory>
#include <vector>

#include "base/shared_memory.hpp"
#include "base/transport.hpp"

namespace oratorio {

class NodeTransport final : public Transport {
  public:
    /// Collective. Gives `inner` back as it is where the ranks are on several nodes, or are one, or
    /// shared memory can't be had.
    static Result<std::unique_ptr<Transport>> over(std::unique_ptr<Transport> inner);

    [[nodiscard]] const Topology& topology() const override { return inner_->topology(); }
    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override {
        return inner_->send(to, tag, data);
    }
    Result<Ticket> receive(Rank from, Tag tag, const ReceiveMemory& into) override {
        return inner_->receive(from, tag, into);
    }
    /// Long operands go by the transport beneath.
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override;
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override;
    Result<Completion> test(Ticket ticket) override;
    /// In the memory that the ranks share: no message, and no other rank takes part.
    Result<std::int64_t> fetch_add(std::int64_t by) override;
    Result<void> meet(std::span<std::byte> mine, const Act& act) override;
    [[nodiscard]] std::size_t meeting_max() const override { return kOperandMax; }
    Result<void> set_counter(std::int64_t to) override;
    [[nodiscard]] SharedOutcome* shared_outcome() const override;
    [[nodiscard]] bool quiet() const override { return operations_.empty() && inner_->quiet(); }
    void idle(const Rest& rest) override { inner_->idle(rest); }
    [[nodiscard]] Rest rest() const override;
    [[nodiscard]] bool in_memory() const override { return true; }
    using Transport::idle;

  private:
    static constexpr std::size_t kOperandMax = 512;  ///< bytes of one rank
    static constexpr std::uint64_t kBoards = 8;      ///< operations that may overlap
    struct Head;
    struct Board;
    struct Member;
    enum class Kind { reduce, gather, broadcast, meet };
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
    };

    NodeTransport(std::unique_ptr<Transport> inner, SharedMemory memory)
        : inner_(std::move(inner)), memory_(std::move(memory)) {}
    static void lay_out(std::span<std::byte> memory, const Topology& topology);
    Ticket start(Operation operation);
    void post_waiting();
    [[nodiscard]] bool post(Operation& operation);
    [[nodiscard]] bool is_complete(const Operation& operation) const;
    [[nodiscard]] bool wanted_complete() const;
    void finish();
    void combine(const Operation& operation, const Board& board);
    [[nodiscard]] std::span<std::byte> operand(const Board& board, Rank rank) const;
    [[nodiscard]] Head& head() const;
    [[nodiscard]] Board& board(std::uint64_t number) const;
    [[nodiscard]] Member& member(Rank rank) const;

    std::unique_ptr<Transport> inner_;
    SharedMemory memory_;
    std::uint64_t started_ = 0;
    std::vector<Operation> operations_;
    std::uint64_t wanted_ = 0;  ///< the operation started or tested last
    std::uint32_t heard_ = 0;   ///< rings before the operations were last looked at
};

}  // namespace oratorio
