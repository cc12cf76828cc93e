// SPDX-License-Identifier: BSD-3-Clause
// Straight: messages that go straight between other ranks' memory and the buffers of an
// aggregator's open rounds, in pieces, by datatypes of the host. Each was announced by a message
// with its table.
#pragma once

#include <vector>

#include "exchange/given.hpp"
#include "exchange/rounds.hpp"
#include "plan/plan.hpp"
#include "stats/stats.hpp"

namespace oratorio {

/// The part of an open round that such messages need.
struct StraightRound {
    std::int64_t number = 0;
    Tag tag = 0;  ///< of messages with data
    Region region;
    RoundBuffer buffer;
    Offset valid_until = 0;  ///< reads: what lies behind isn't sent
};

class Straight {
  public:
    /// `lists`: memory for the list of one message, as long as one. Empty where there are none.
    Straight(Transport& transport, const Plan& plan, Stats& stats, std::span<std::byte> lists)
        : transport_(transport), plan_(plan), stats_(stats), lists_(lists) {}

    /// Messages go straight.
    [[nodiscard]] bool used() const { return !lists_.empty(); }
    /// Another message must wait.
    [[nodiscard]] bool full() const { return std::ssize(moving_) >= plan_.messages_in_flight; }
    [[nodiscard]] bool moves_in(std::int64_t round) const;
    /// Begins to take (writes) or to send (reads) the `payload` bytes that `table` tells of, whose
    /// buffer is kept until that is done. False where the table can't be used: it was dropped.
    Result<bool> start(const StraightRound& round, Rank other, std::span<std::byte> buffer,
                       std::span<const std::byte> table, Bytes payload);
    /// Instead: what comes is taken over all that lies in the round's buffer, or nothing is sent.
    Result<void> drop(const StraightRound& round, Rank other, std::span<std::byte> buffer);
    struct Done {
        std::int64_t round = -1;  ///< -1: none is
        Bytes bytes = 0;          ///< that came into the round's buffer
        bool sound = true;        ///< writes: as many as the table told
        std::span<std::byte> buffer;
    };
    /// One that is done, if there is one.
    Result<Done> take();

  private:
    struct Moving {
        Ticket ticket;
        std::int64_t round = 0;
        std::span<std::byte> buffer;
        std::span<const std::byte> table;
        Region region;
        std::span<std::byte> given;
        Bytes payload = 0;
        bool placed = true;  ///< what comes is
    };
    [[nodiscard]] bool reading() const { return plan_.direction == Direction::read; }
    Result<Ticket> send(const StraightRound& round, Rank other, const PieceList& pieces);

    Transport& transport_;
    const Plan& plan_;
    Stats& stats_;
    std::span<std::byte> lists_;
    std::vector<Moving> moving_;
};

}  // namespace oratorio
