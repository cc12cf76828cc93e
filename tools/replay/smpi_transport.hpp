// SPDX-License-Identifier: BSD-3-Clause
// SmpiTransport: the library's Transport over SimGrid's MPI, for one rank. SMPI gives the links and
// the protocol; what a message costs at its ends it doesn't know, so the rank sleeps for that.
#pragma once

#include <smpi/smpi.h>

#include <vector>

#include "base/transport.hpp"

namespace oratorio::replay {

/// What the ends of messages cost, in seconds.
struct Endpoint {
    double send = 0;
    double receive = 0;
    double look = 0;   ///< for each message that waits
    double byte = 0;   ///< of a copy
    double piece = 0;  ///< of describing it
    double place = 0;  ///< and of placing or merging it
};

/// Of messages to aggregators, and to local aggregators.
struct Ends {
    Endpoint exchange;
    Endpoint gather;
};

/// What the ranks of a process have seen, all together. Times are SimGrid's.
struct Seen {
    explicit Seen(int ranks) : waiting(static_cast<std::size_t>(ranks)) {}
    std::vector<double> waiting;  ///< by rank: messages sent to it and not taken yet
    double planned = 0;           ///< the last rank began to send or receive
    double taken = 0;             ///< the last message was
    std::int64_t messages = 0;
    Bytes bytes = 0;
};

/// Of one access. A collective returns when it is done, as the ranks do nothing
/// meanwhile. Other than the library's transport over MPI it is told by SMPI when something has
/// come, so waiting takes no polls: those would cost simulated time.
class SmpiTransport final : public Transport {
  public:
    /// Collective. The communicator is its own: with MPI_COMM_WORLD a receive from any rank crashes
    /// SimGrid 3.32 where SMPI's ranks weren't started by smpirun.
    SmpiTransport(Topology topology, const Ends& ends, Seen& seen);
    ~SmpiTransport() override;

    [[nodiscard]] const Topology& topology() const override { return topology_; }
    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override;
    Result<Ticket> receive(Rank from, Tag tag, const ReceiveMemory& into) override;
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override;
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override;
    Result<Completion> test(Ticket ticket) override;
    Result<std::int64_t> fetch_add(std::int64_t by) override;
    Result<void> set_counter(std::int64_t to) override;
    [[nodiscard]] bool quiet() const override { return free_.size() == slots_.size(); }
    void idle(const Rest& rest) override;

  private:
    struct Slot {
        MPI_Request request = MPI_REQUEST_NULL;
        bool used = false;
        bool done = false;
        std::span<std::byte> into = {};  ///< of a receive
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
    std::vector<Slot> slots_;        ///< a ticket's id is an index
    std::vector<std::size_t> free_;  ///< slots to use again
};

}  // namespace oratorio::replay
