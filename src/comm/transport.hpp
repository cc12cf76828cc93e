// SPDX-License-Identifier: BSD-3-Clause
// Transport: moves bytes between the ranks of a file. It knows ranks and bytes, but not storage.
// Every operation is started and then tested, so that one engine serves blocking and nonblocking
// calls. The MPI implementation is mpi/mpi_transport; the simulated one for tests is
// tests/support/sim_transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/result.hpp"
#include "comm/doorbell.hpp"
#include "comm/message_memory.hpp"
#include "comm/topology.hpp"

namespace oratorio {

/// The tag of a message: 0 <= tag < 2^24. If the host MPI has fewer tags, tags that differ by a
/// multiple of kTagsAtLeast may be treated as equal.
using Tag = int;
inline constexpr Tag kTagsAtLeast = 1 << 14;
inline constexpr Rank kAnyRank = -1;

enum class ReduceOp { sum, max, min };

/// Names one started operation until `test` reports that it is done. After that the transport may
/// reuse the ticket.
struct Ticket {
    std::int64_t id = -1;
    [[nodiscard]] bool valid() const { return id >= 0; }
};

struct Completion {
    bool done = false;
    Rank source = -1;  ///< the sender, if the operation is a receive
    Bytes bytes = 0;   ///< length of the message, if the operation is a receive
};

/// The ranks' blocks in a rendezvous, of equal length and in rank order.
struct Blocks {
    std::byte* first = nullptr;
    std::size_t bytes = 0;   ///< length of a block
    std::size_t stride = 0;  ///< bytes from the begin of a block to that of the next
    Rank ranks = 0;
    [[nodiscard]] std::span<std::byte> of(Rank rank) const {
        return {first + static_cast<std::size_t>(rank) * stride, bytes};
    }
};
using RendezvousAction = std::function<void(const Blocks& all)>;

/// A rank's request to add `by` to the number that all ranks share, and the result. It lies at the
/// head of the rank's block in a rendezvous.
struct Reservation {
    std::int64_t by = 0;
    std::int64_t first = 0;              ///< value of the number before this rank's addition
    ErrorKind failed = ErrorKind::none;  ///< why the number couldn't be changed
    /// Returns `first`, or an error if the number couldn't be changed.
    [[nodiscard]] Result<std::int64_t> value() const;
};

struct SharedFlushStatus;

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
    /// shorter than all pieces fills the first ones.
    virtual Result<Ticket> receive(Rank from, Tag tag, const ReceiveMemory& into) = 0;
    /// Collective; all ranks call it in the same order. Starts a reduction in place, with the
    /// result on all ranks. Sums are modulo 2^64.
    virtual Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) = 0;
    /// Collective. Starts a gather to all ranks. `all` holds size() blocks of mine.size() bytes, in
    /// rank order.
    virtual Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
    /// Returns memory of this rank's node for `bytes` bytes, a multiple of the number of ranks. If
    /// all ranks pass this memory to gather() as `all`, the result lies there once for all ranks of
    /// the node. Each rank may read the result until it starts the next gather into this memory.
    /// Returns an empty span where there is no such memory, on all ranks alike.
    [[nodiscard]] virtual std::span<std::byte> list_of_node(std::size_t /*bytes*/) const {
        return {};
    }
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
    /// Adds `by` to the number that all ranks of the transport share, and returns its value before.
    /// The number is 0 at first, and sums are modulo 2^64. Not collective.
    virtual Result<std::int64_t> fetch_add(std::int64_t by) = 0;
    /// Collective rendezvous; waits for all ranks. One rank calls `action` with the blocks of all
    /// ranks; where the ranks share memory, that is the last rank to arrive. Each rank gets its
    /// block back as `action` leaves it.
    virtual Result<void> rendezvous(std::span<std::byte> mine, const RendezvousAction& action);
    /// Returns the longest block, in bytes, with which a rendezvous costs no message.
    [[nodiscard]] virtual std::size_t rendezvous_max() const { return 0; }
    /// Sets the shared number. Not collective. REQUIRES: no other rank uses the number during the
    /// call.
    virtual Result<void> set_counter(std::int64_t to) = 0;
    /// Returns the memory for FlushStatus (comm/flush_status.hpp), or null where the ranks share no
    /// memory.
    [[nodiscard]] virtual SharedFlushStatus* shared_flush_status() const { return nullptr; }
    /// Returns true if no operation of this rank is pending and none has failed, so that the
    /// transport can be reused.
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
/// Serves the Reservation at the head of each block, as if the ranks called fetch_add one after the
/// other, in rank order, with no other call between them. REQUIRES: the caller is the rank that
/// acts in a rendezvous.
void reserve_for_all(Transport& transport, const Blocks& all);
/// Collective. Adds `by` to the shared number for each rank, in rank order, in a rendezvous of its
/// own. Returns the number before this rank's addition.
Result<std::int64_t> reserve(Transport& transport, std::int64_t by);

}  // namespace oratorio
