// SPDX-License-Identifier: BSD-3-Clause
// Message kinds, tags, heads and the receive queue of the exchange by messages.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "comm/transport.hpp"

namespace oratorio {

/// The purposes of an access's messages; part of their tags. `roundless` marks the tags of
/// roundless_tag_of(), which have a purpose in place of the round. `go` and `ended` messages have
/// only such tags.
enum class MessageKind : int {
    contents = 0,
    data = 1,
    reply = 2,
    roundless = 3,
    go = 4,
    ended = 5
};

/// Returns the tag of a message. Tags repeat after 2 accesses, because each has two sequence
/// numbers (Run::number). A sender can't be that far ahead, because its sends complete only when
/// they are received. They also repeat after 2^20 rounds, or after fewer, but at least 2^10, if the
/// MPI library has too few tags (kTagsAtLeast). If a message of a later round has the tag of an
/// earlier one, its head reveals that.
[[nodiscard]] constexpr Tag tag_of(unsigned sequence, std::int64_t round, MessageKind kind) {
    constexpr std::int64_t kRounds = 1 << 20;
    return static_cast<Tag>(round % kRounds) << 4 | static_cast<Tag>(sequence % 4) << 2 |
           static_cast<Tag>(kind);
}

/// Returns the tag of messages that are identified by their order alone: GO, the outcome of an
/// access, and the messages between a rank and its local aggregator.
[[nodiscard]] constexpr Tag roundless_tag_of(unsigned sequence, MessageKind kind) {
    return tag_of(sequence, static_cast<std::int64_t>(kind), MessageKind::roundless);
}

/// Head of a data message (write) or of a request (read). The run table follows, and in packed
/// writes the payload. A packed reply is this head and the payload; its `payload` is the number of
/// requested bytes before the round's `valid_until` (Exchange::open).
struct MessageHead {
    std::int64_t round = 0;
    Offset begin = 0;  ///< first byte of the region, according to the sender's plan
    Bytes payload = 0;
    std::int32_t table_bytes = 0;
    std::int32_t last = 0;
};

/// A queue of receives from any rank. They are completed in the order in which they were posted, so
/// that the messages of one sender stay in order.
class ReceiveQueue {
  public:
    ReceiveQueue(Transport& transport, Tag tag) : transport_(&transport), tag_(tag) {}

    [[nodiscard]] std::int64_t posted() const { return static_cast<std::int64_t>(queue_.size()); }
    Result<void> post(std::span<std::byte> buffer);
    struct Received {
        Rank source = -1;
        std::span<std::byte> buffer;  ///< empty: nothing has arrived
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
