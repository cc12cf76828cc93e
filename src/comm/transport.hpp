// SPDX-License-Identifier: BSD-3-Clause
// Transport: moves bytes between the ranks of a file. It knows ranks and bytes, but not storage.
// Every operation is started and then tested, so that one engine serves blocking and nonblocking
// calls. The MPI implementation is mpi/mpi_transport; the simulated one for tests is
// tests/support/sim_transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "comm/doorbell.hpp"
#include "comm/message_memory.hpp"
#include "comm/shared_counter.hpp"
#include "comm/topology.hpp"

namespace oratorio {

/// The tag of a message: 0 <= tag < 2^24. If the host MPI has fewer tags, tags that differ by a
/// multiple of kTagsAtLeast may be treated as equal.
using Tag = int;
inline constexpr Tag kTagsAtLeast = 1 << 14;
inline constexpr Rank kAnyRank = -1;

enum class ReduceOp { sum, max, min };

/// Identifies one started operation until `test` reports that it is done. After that the transport
/// may reuse the ticket.
struct Ticket {
    std::int64_t id = -1;
    [[nodiscard]] bool valid() const { return id >= 0; }
};

struct Completion {
    bool done = false;
    Rank source = -1;  ///< the sender, if the operation is a receive
    Bytes bytes = 0;   ///< length of the message, if the operation is a receive
};

class NodeServices;

/// The caller owns buffers, and must keep them until the operation is done. It must keep lists of
/// pieces only until the operation is started. Messages between the same two ranks with the same
/// tag arrive in the order they were sent. A failure of the transport is returned by the call that
/// starts an operation or by `test`.
class Transport {
  public:
    virtual ~Transport() = default;
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    [[nodiscard]] virtual const Topology& topology() const = 0;
    /// Starts to send. The operation is done only when the receiver has begun to receive. This
    /// bounds the number of unexpected messages at a receiver.
    virtual Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) = 0;
    /// Starts to receive. `from` may be kAnyRank only if `into` is one block. A message that is
    /// shorter than the pieces together fills the pieces from the first on.
    virtual Result<Ticket> receive(Rank from, Tag tag, const ReceiveMemory& into) = 0;
    /// Collective; all ranks call it in the same order. Starts a reduction in place, with the
    /// result on all ranks. Sums are modulo 2^64.
    virtual Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) = 0;
    /// Collective. Starts a gather to all ranks. `all` holds size() blocks of mine.size() bytes, in
    /// rank order.
    virtual Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
    /// Collective. Starts a broadcast of root's bytes.
    virtual Result<Ticket> broadcast(Rank root, std::span<std::byte> data) = 0;
    virtual Result<Completion> test(Ticket ticket) = 0;
    /// Returns the reason why this rank can't reach the others any more; no error while it can.
    /// After an operation of some rank has failed, that rank notifies the others, which notice it
    /// while they wait. From then on every operation fails, so that no rank waits for a rank that
    /// has given up.
    [[nodiscard]] virtual const Error& lost() const {
        static const Error none;
        return none;
    }
    /// Returns the counter that all ranks of the transport share. If they share none, its functions
    /// return an error.
    [[nodiscard]] virtual SharedCounter& counter();
    /// Returns the services of ranks of a node that share memory; null if they share none.
    [[nodiscard]] virtual NodeServices* node_services() { return nullptr; }
    /// Returns true if no operation of this rank is pending and none has failed: the transport can
    /// then be reused.
    [[nodiscard]] virtual bool quiet() const = 0;
    /// Lets other ranks run when no progress was possible. Waiting ranks call this function
    /// repeatedly, so it must not spin hard. If `wait_hint` has a doorbell, the function may sleep
    /// until the doorbell has rung, but not for long, because messages ring no doorbell.
    virtual void idle(const WaitHint& wait_hint) = 0;
    void idle() { idle(wait_hint()); }
    /// Returns what the operation that was started or tested last waits for.
    [[nodiscard]] virtual WaitHint wait_hint() const { return {}; }
    /// Returns true if collectives of a small size per rank (a summary, an error) need no messages.
    /// Any thread may then start and test them, whatever thread level the host MPI has.
    [[nodiscard]] virtual bool in_memory() const { return topology().size == 1; }
};

/// Waits until the operation of `ticket` is done.
Result<Completion> wait(Transport& transport, Ticket ticket);
Result<void> reduce(Transport& transport, std::span<std::uint64_t> values, ReduceOp op);
Result<void> broadcast(Transport& transport, Rank root, std::span<std::byte> data);
Result<void> gather(Transport& transport, std::span<const std::byte> mine,
                    std::span<std::byte> all);

}  // namespace oratorio
