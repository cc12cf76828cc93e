// SPDX-License-Identifier: BSD-3-Clause
// Transport: how bytes move between the ranks of a file. Knows ranks and bytes only; never storage.
// Everything is started and then tested, so that one engine serves blocking and nonblocking calls.
// The MPI one is mpi/mpi_transport; the fake for tests is tests/support/sim_transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/bell.hpp"
#include "base/message_memory.hpp"
#include "base/result.hpp"
#include "base/topology.hpp"

namespace oratorio {

/// 0 <= tag < 2^24. Where the host has fewer, tags that differ by a multiple of kTagsAtLeast may be
/// taken for each other.
using Tag = int;
inline constexpr Tag kTagsAtLeast = 1 << 14;
inline constexpr Rank kAnyRank = -1;

enum class ReduceOp { sum, max, min };

/// Names one started operation until `test` says it is done; then it may be reused by the
/// transport.
struct Ticket {
    std::int64_t id = -1;
    [[nodiscard]] bool valid() const { return id >= 0; }
};

struct Completion {
    bool done = false;
    Rank source = -1;  ///< receive: who sent it
    Bytes bytes = 0;   ///< receive: length of the message
};

/// What the ranks brought to a meeting, in rank order: blocks of equal length.
struct Blocks {
    std::byte* first = nullptr;
    std::size_t bytes = 0;   ///< of a block
    std::size_t stride = 0;  ///< from block to block
    Rank ranks = 0;
    [[nodiscard]] std::span<std::byte> of(Rank rank) const {
        return {first + static_cast<std::size_t>(rank) * stride, bytes};
    }
};
using Act = std::function<void(const Blocks& all)>;

/// What a rank claims of the number that all ranks share, and what it is given. At the head of the
/// block that it brings to a meeting.
struct Claim {
    std::int64_t by = 0;
    std::int64_t first = 0;              ///< what the number was before, for this rank
    ErrorKind failed = ErrorKind::none;  ///< of the number
    /// `first`, or why there is none.
    [[nodiscard]] Result<std::int64_t> given() const;
};

struct SharedOutcome;

/// Buffers stay the caller's and must live until the operation is done; lists of pieces only until
/// it is started. Messages of one pair with one tag arrive in the order they were sent. A failure
/// of the transport surfaces at start or at `test`.
class Transport {
  public:
    virtual ~Transport() = default;
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    [[nodiscard]] virtual const Topology& topology() const = 0;
    /// Done only when the receiver has begun to take it: bounds what may lie unexpected at a
    /// receiver.
    virtual Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) = 0;
    /// In pieces from a named rank only. Of a shorter message the first pieces are filled.
    virtual Result<Ticket> receive(Rank from, Tag tag, const ReceiveMemory& into) = 0;
    /// Collective, in the same order on all ranks. In place, all ranks get the result; sums are
    /// modulo 2^64.
    virtual Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) = 0;
    /// Collective. `all` holds size() blocks of mine.size() bytes, in rank order.
    virtual Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
    /// Memory of this rank's node for so many bytes, a multiple of the ranks, that a gather may be
    /// given as its `all`: what comes of it lies there once for all ranks of the node. Each may
    /// read it until it starts the next gather into it. Empty where there is none, on all ranks
    /// alike.
    [[nodiscard]] virtual std::span<std::byte> list_of_node(std::size_t /*bytes*/) const {
        return {};
    }
    /// Collective.
    virtual Result<Ticket> broadcast(Rank root, std::span<std::byte> data) = 0;
    virtual Result<Completion> test(Ticket ticket) = 0;
    /// Why this rank can't reach the others any more; no error while it can. An operation of some
    /// rank has failed, that rank has told the others, and they hear of it while they wait. From
    /// then on every operation fails, so that nobody waits for a rank that has given up.
    [[nodiscard]] virtual Error lost() const { return {}; }
    /// One number that all ranks of the transport share, 0 at first. Not collective. Adds and gives
    /// what it was before; sums are modulo 2^64.
    virtual Result<std::int64_t> fetch_add(std::int64_t by) = 0;
    /// Collective, waits for all: one rank, which where they share memory is the last to come, does
    /// `act` with what all of them brought; each gets its block back as that leaves it.
    virtual Result<void> meet(std::span<std::byte> mine, const Act& act);
    /// Bytes of a block up to which a meeting costs no message.
    [[nodiscard]] virtual std::size_t meeting_max() const { return 0; }
    /// Not collective. Who sets it must see to it that nobody else is at the number meanwhile.
    virtual Result<void> set_counter(std::int64_t to) = 0;
    /// For Turns (base/shared_outcome.hpp): null where the ranks share no memory.
    [[nodiscard]] virtual SharedOutcome* shared_outcome() const { return nullptr; }
    /// Of this rank: nothing is under way and nothing has failed, so that another may use it next.
    [[nodiscard]] virtual bool quiet() const = 0;
    /// Nothing could be done: lets others run. Called again and again while waiting; must not spin
    /// hard. With a bell it may sleep until that has rung, but not for long: messages
    /// ring no bell.
    virtual void idle(const Rest& rest) = 0;
    void idle() { idle(rest()); }
    /// What the operation that was started or tested last waits for.
    [[nodiscard]] virtual Rest rest() const { return {}; }
    /// Collectives of a rank's size (a summary, an error) need no messages: any thread may start
    /// and test them, whatever the host MPI allows.
    [[nodiscard]] virtual bool in_memory() const { return topology().size == 1; }
};

/// Steps until `ticket` is done.
Result<Completion> wait(Transport& transport, Ticket ticket);
Result<void> reduce(Transport& transport, std::span<std::uint64_t> values, ReduceOp op);
Result<void> broadcast(Transport& transport, Rank root, std::span<std::byte> data);
Result<void> gather(Transport& transport, std::span<const std::byte> mine,
                    std::span<std::byte> all);
/// By the rank that acts in a meeting, for the claims at the heads of all blocks: as if the ranks
/// did fetch_add one after the other, in their order, with nobody else between.
void claim_for_all(Transport& transport, const Blocks& all);
/// Collective: such a meeting, for this alone.
Result<std::int64_t> claim(Transport& transport, std::int64_t by);

}  // namespace oratorio
