// SPDX-License-Identifier: BSD-3-Clause
// Network: the transport of one open file's ranks, over fibers. The order in which messages arrive,
// collectives end and completions are reported is drawn from the fibers' seed.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "comm/transport.hpp"
#include "oracle/fibers.hpp"
#include "support/message_pieces.hpp"

namespace oratorio::oracle {

class Network {
  public:
    /// `node_of` holds the node of each rank; nodes are numbered by first appearance.
    /// `late_percent` is the chance that a test for completion reports a finished operation as
    /// unfinished.
    Network(Fibers& fibers, std::vector<int> node_of, int cores, int late_percent);
    /// Returns the transport of one rank; the network lives as long as any of its transports.
    static std::unique_ptr<Transport> transport(const std::shared_ptr<Network>& network, Rank rank);

  private:
    friend class NetworkTransport;
    enum class Kind { send, receive, reduce, gather, broadcast };
    struct Operation {
        std::int64_t ticket = 0;
        Kind kind = Kind::send;
        Rank peer = -1;
        Tag tag = 0;
        test::Pieces<const std::byte> from = {};  ///< the data of a send
        test::Pieces<std::byte> into = {};        ///< the buffer of a receive
        std::span<const std::byte> out = {};      ///< this rank's contribution to a collective
        std::span<std::byte> in = {};
        ReduceOp op = ReduceOp::sum;
        std::size_t collective = 0;
        /// A receive from any rank on several nodes, which gets a message only when it is tested,
        /// as with MpiTransport.
        bool sought = false;
        bool matched = false;
        Rank source = -1;
        std::vector<std::byte> arrived = {};  ///< copied to `into` when the completion is reported
    };
    struct Collective {
        Kind kind = Kind::reduce;
        std::size_t bytes = 0;
        Rank root = -1;
        int joined = 0;
        int told = 0;
        bool root_joined = false;
        std::vector<std::byte> data;
        std::vector<std::uint64_t> values;
    };
    struct Member {
        std::vector<Operation> operations;
        std::int64_t tickets = 0;
        std::size_t collectives = 0;
    };

    [[nodiscard]] bool one_node() const;
    Result<Ticket> start(Rank me, Operation operation);
    Result<Ticket> join(Rank me, Operation operation);
    void match_send(Rank from, Operation& send);
    void match_receive(Rank me, Operation& receive);
    void deliver(Rank from, Operation& send, Operation& receive);
    [[nodiscard]] Collective& collective(std::size_t number);
    [[nodiscard]] bool ready(const Operation& operation);
    void take_result(Operation& operation);
    Result<Completion> test(Rank me, Ticket ticket);
    void idle(Rank me, const WaitHint& wait_hint);

    Fibers& fibers_;
    std::vector<int> node_of_;
    int cores_;
    int late_percent_;
    std::vector<Member> members_;
    /// The collectives that some rank has not finished, from number `first_` on.
    std::vector<Collective> collectives_;
    std::size_t first_ = 0;
    std::atomic<std::int64_t> number_{0};
    MemoryCounter counter_{number_};
};

}  // namespace oratorio::oracle
