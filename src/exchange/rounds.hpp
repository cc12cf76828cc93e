// SPDX-License-Identifier: BSD-3-Clause
// Parts of the message exchange that belong to the aggregator's side.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/transport.hpp"

namespace oratorio {

/// What messages of one access are for; part of their tag. GO, and how it has ended, are of no
/// round.
enum class MessageKind : int {
    contents = 0,
    data = 1,
    reply = 2,
    roundless = 3,
    go = 4,
    ended = 5
};

/// Tags repeat after 4 accesses; a sender can't be that far ahead, as its sends end only when they
/// are received. And after 2^20 rounds (2^10 where the host has few tags, as none known has): a
/// rank whose first data lies so much further on is noticed by the head of its message.
[[nodiscard]] constexpr Tag tag_of(unsigned sequence, std::int64_t round, MessageKind kind) {
    constexpr std::int64_t kRounds = 1 << 20;
    return static_cast<Tag>(round % kRounds) << 4 | static_cast<Tag>(sequence % 4) << 2 |
           static_cast<Tag>(kind);
}

/// Of messages whose order alone tells what they are about: GO, how an access has ended, and those
/// between a rank and its local aggregator.
[[nodiscard]] constexpr Tag roundless_tag_of(unsigned sequence, MessageKind kind) {
    return tag_of(sequence, static_cast<std::int64_t>(kind), MessageKind::roundless);
}

/// Head of a data message (write) or of a request (read); the run table and, in writes, the payload
/// follow. A reply is a head (payload = bytes that are there) and that payload.
struct MessageHead {
    std::int64_t round = 0;
    Offset begin = 0;  ///< of the region, as the sender's plan has it
    Bytes payload = 0;
    std::int32_t table_bytes = 0;
    std::int32_t last = 0;
};

/// Receives from any rank, taken in the order they were posted, so that the messages of one sender
/// stay in order.
class ReceiveQueue {
  public:
    ReceiveQueue(Transport& transport, Tag tag) : transport_(&transport), tag_(tag) {}

    [[nodiscard]] std::int64_t posted() const { return static_cast<std::int64_t>(queue_.size()); }
    Result<void> post(std::span<std::byte> buffer);
    struct Received {
        Rank source = -1;
        std::span<std::byte> buffer;  ///< empty: nothing has come
    };
    Result<Received> take();

  private:
    struct Posted {
        Ticket ticket;
        std::span<std::byte> buffer;
    };
    Transport* transport_;
    Tag tag_;
    std::deque<Posted> queue_;
};

}  // namespace oratorio
