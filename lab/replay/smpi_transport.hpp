// SPDX-License-Identifier: BSD-3-Clause
// SmpiTransport: the library's Transport over SimGrid's MPI, for one rank. SMPI simulates the links
// and the protocol, but doesn't know the costs at the ends of a message, for which this transport
// puts the rank to sleep.
#pragma once

#include <smpi/smpi.h>

#include <vector>

#include "comm/transport.hpp"

namespace oratorio::replay {

/// The costs at the ends of messages, in seconds.
struct Endpoint {
    double send = 0;
    double receive = 0;
    double look = 0;   ///< cost of examining a waiting message
    double byte = 0;   ///< cost of copying a byte
    double piece = 0;  ///< cost of describing a piece
    double place = 0;  ///< cost of placing or merging a piece
};

/// The costs for messages to aggregators (exchange) and to local aggregators (gather).
struct Ends {
    Endpoint exchange;
    Endpoint gather;
};

/// The measurements of all ranks, which share this process. Times are those of SimGrid's clock.
struct Seen {
    explicit Seen(int ranks) : waiting(static_cast<std::size_t>(ranks)) {}
    /// For each rank: the number of messages sent to it that it has not taken yet.
    std::vector<double> waiting;
    double planned = 0;  ///< time at which the last rank began to send or receive
    double taken = 0;    ///< time at which the last message was taken
    std::int64_t messages = 0;
    Bytes bytes = 0;
};

/// The transport of one access. A collective returns only when it is done, as the ranks have
/// nothing else to do. Unlike the library's transport over MPI, it learns from SMPI when a message
/// has arrived, so it waits without polls, which would cost simulated time.
class SmpiTransport final : public Transport {
  public:
    /// Collective. Makes a communicator for this transport: with MPI_COMM_WORLD a receive from any
    /// rank crashes SimGrid 3.32 unless smpirun started SMPI's ranks.
    SmpiTransport(Topology topology, const Ends& ends, Seen& seen);
    ~SmpiTransport() override;

    [[nodiscard]] const Topology& topology() const override { return topology_; }
    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override;
    Result<Ticket> receive(Rank from, Tag tag, const ReceiveMemory& into) override;
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override;
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override;
    Result<Completion> test(Ticket ticket) override;
    [[nodiscard]] bool quiet() const override { return free_.size() == slots_.size(); }
    void idle(const WaitHint& wait_hint) override;

  private:
    struct Slot {
        MPI_Request request = MPI_REQUEST_NULL;
        bool used = false;
        bool done = false;
        std::span<std::byte> into = {};  ///< memory of a receive
        MPI_Status status = {};
    };
    Ticket keep(const Slot& slot);
    void note_begin();
    void take(const Slot& slot, Bytes bytes);
    [[nodiscard]] const Endpoint& costs_of(Tag tag) const;

    Topology topology_;
    Ends ends_;
    Seen& seen_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    bool begun_ = false;
    std::vector<Slot> slots_;        ///< index: id of a ticket
    std::vector<std::size_t> free_;  ///< indices of unused slots
};

}  // namespace oratorio::replay
