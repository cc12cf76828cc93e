// SPDX-License-Identifier: BSD-3-Clause
// ZeroCopyMessages: the aggregator's side of zero-copy messages. A zero-copy message goes between
// another rank's memory and the buffer of an open round, in pieces described by MPI datatypes. A
// message with the run table precedes it.
#pragma once

#include <vector>

#include "exchange/messages/rounds.hpp"
#include "exchange/write_mask.hpp"
#include "plan/plan.hpp"
#include "stats/stats.hpp"

namespace oratorio {

/// The part of an open round that zero-copy messages need.
struct ZeroCopyRound {
    std::int64_t number = 0;
    Tag tag = 0;  ///< tag of the messages with data
    Region region;
    RoundBuffer buffer;
    Offset valid_until = 0;  ///< reads: bytes at or after this offset aren't sent
};

class ZeroCopyMessages {
  public:
    /// `lists`: memory for the list of one message, as long as a message. Empty: zero-copy isn't
    /// used.
    ZeroCopyMessages(Transport& transport, const Plan& plan, Stats& stats,
                     std::span<std::byte> lists)
        : transport_(transport), plan_(plan), stats_(stats), lists_(lists) {}

    /// Returns true if messages are zero-copy.
    [[nodiscard]] bool used() const { return !lists_.empty(); }
    /// Returns true if no further message may start now.
    [[nodiscard]] bool full() const { return std::ssize(moving_) >= plan_.messages_in_flight; }
    [[nodiscard]] bool moves_in(std::int64_t round) const;
    /// Starts to receive (writes) or to send (reads) the `payload` bytes that `table` describes.
    /// `buffer`, which holds the table, stays in use until take() returns it. Returns false if the
    /// table is invalid; the message was then dropped. REQUIRES: used() and not full().
    Result<bool> start(const ZeroCopyRound& round, Rank other, std::span<std::byte> buffer,
                       std::span<const std::byte> table, Bytes payload);
    /// Starts a message whose data can't be placed. A write's data is received at the start of the
    /// round's buffer, so the buffer's contents are lost. A read's reply is empty.
    Result<void> drop(const ZeroCopyRound& round, Rank other, std::span<std::byte> buffer);
    struct Done {
        std::int64_t round = -1;  ///< -1: no message has completed
        Bytes bytes = 0;          ///< writes: bytes placed in the round's buffer
        bool sound = true;        ///< false: a write moved fewer bytes than its table says
        std::span<std::byte> buffer;
    };
    /// Returns a completed message, if any.
    Result<Done> take();

  private:
    struct Moving {
        Ticket ticket;
        std::int64_t round = 0;
        std::span<std::byte> buffer;
        std::span<const std::byte> table;
        Region region;
        std::span<std::byte> mask;
        Bytes payload = 0;
        bool placed = true;  ///< false for a dropped message
    };
    [[nodiscard]] bool reading() const { return plan_.direction == Direction::read; }
    Result<Ticket> send(const ZeroCopyRound& round, Rank other, const PieceList& pieces);

    Transport& transport_;
    const Plan& plan_;
    Stats& stats_;
    std::span<std::byte> lists_;
    std::vector<Moving> moving_;
};

}  // namespace oratorio
