// SPDX-License-Identifier: BSD-3-Clause
// MpiTransport: the Transport over messages of the host MPI, on a communicator of its own.
//
// If an operation fails on a rank, that rank sends an alarm to all others, on a tag that no other
// message uses (lose). A waiting rank looks for alarms (look_for_alarm, hear). From then on, every
// operation of the failed rank, and of each rank that has received its alarm, fails with an error
// of that kind, so that no rank waits for a rank that gave up.
#pragma once

#include <climits>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/agreed.hpp"
#include "comm/transport.hpp"
#include "mpi/comm.hpp"
#include "net/rank_zero_counter.hpp"

namespace oratorio {

/// Counts of messages and collectives that this transport has started through the host, whether or
/// not they are done.
struct MessageCounters {
    std::int64_t sends = 0;
    std::int64_t receives = 0;
    std::int64_t collectives = 0;
    Bytes bytes_sent = 0;      ///< bytes of all sends
    Bytes bytes_received = 0;  ///< bytes of all receives that are done
};

/// The Transport over messages of the host. Sends and broadcasts may have any length; the blocks of
/// a gather and the values of a reduction are limited to INT_MAX (ErrorKind::count beyond).
/// REQUIRES: used by one thread at a time.
class MpiTransport final : public Transport {
  public:
    /// A function that this rank calls while it waits in idle(); null for none. Returns true if
    /// something progressed: there may be more to do.
    using Chores = bool (*)();
    /// Messages longer than `chunk` are sent as one element of a type made of chunks; tests make
    /// `chunk` small.
    MpiTransport(Comm comm, Topology topology, Chores chores = nullptr, Bytes chunk = INT_MAX);
    /// Collective over `program`. Discovers the nodes, and makes the communicator and the
    /// transport. See discover() for ranks_per_node.
    static Result<std::unique_ptr<MpiTransport>> open(
        MPI_Comm program, const Agreed<int>& ranks_per_node = agreed_from([] { return 0; }));
    /// Collective. Shares the counter between ranks that share no memory (RankZeroCounter::share).
    void share_counter(CounterService& service) { counter_.share(*this, service); }
    /// Cancels receives that are still in flight (of a file closed after an error). Sends and
    /// collectives have a second to complete, then they are left to MPI. The communicator is left
    /// to MPI if lost() is set. Local.
    ~MpiTransport() override;

    [[nodiscard]] const Topology& topology() const override { return topology_; }
    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override;
    Result<Ticket> receive(Rank from, Tag tag, const ReceiveMemory& into) override;
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override;
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override;
    Result<Completion> test(Ticket ticket) override;
    [[nodiscard]] const Error& lost() const override { return lost_; }
    [[nodiscard]] SharedCounter& counter() override { return counter_; }
    [[nodiscard]] bool quiet() const override {
        return !failed_ && !counter_.has_failed() && free_.size() == slots_.size();
    }
    /// Yields the core in the first calls, then sleeps for growing times up to 0.1 ms. With a
    /// doorbell spins or yields, then sleeps until it rings, up to 1 ms. A completion restarts the
    /// sequence. Before each sleep, the host and the chores make progress.
    void idle(const WaitHint& wait_hint) override;
    using Transport::idle;

    [[nodiscard]] const MessageCounters& counters() const { return counters_; }
    [[nodiscard]] MPI_Comm comm() const { return comm_.get(); }

  private:
    enum class Kind { free, send, receive, sought, collective, alone };
    struct Slot {
        MPI_Request request = MPI_REQUEST_NULL;
        Kind kind = Kind::free;
        std::span<std::byte> into = {};  ///< where Kind::sought receives a message from any rank
        Tag tag = 0;
        std::span<std::uint64_t> compared = {};  ///< values to flip() once they are reduced
    };

    Result<void> seek(Slot& slot);
    Result<void> checked(int code, std::string_view doing);
    Ticket keep(MPI_Request request, Kind kind);
    void release(std::size_t slot);
    void cancel_receives();
    [[nodiscard]] bool settle();
    [[nodiscard]] bool see_to_others();
    void look_for_alarm();
    [[nodiscard]] bool is_lost() const { return lost_.kind != ErrorKind::none; }
    void lose(const Error& error);
    [[nodiscard]] Error losing(const Error& error);
    void hear(MPI_Message message, Rank from);
    void give_up();

    Comm comm_;
    Topology topology_;
    Bytes chunk_;
    Tag tag_mask_;  ///< mask of the tags that the host tells apart
    bool several_nodes_;
    std::vector<Slot> slots_;        ///< a ticket's id is an index here
    std::vector<std::size_t> free_;  ///< slots to use again
    RankZeroCounter counter_;
    Chores chores_;
    bool failed_ = false;      ///< an operation has failed at some time
    Error lost_;               ///< see lost()
    std::uint64_t alarm_ = 0;  ///< the message to all other ranks when an operation fails
    int idle_calls_ = 0;       ///< place in idle()'s sequence of yields and sleeps
    MessageCounters counters_;
};

}  // namespace oratorio
