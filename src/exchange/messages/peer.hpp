// SPDX-License-Identifier: BSD-3-Clause
// The two sides of the exchange by messages. A participant walks its data and exchanges messages
// with aggregators, or with its local aggregator; an aggregator serves the participants of its open
// rounds. peer.cpp combines them. A rank copies the data in its own regions without a message.
//
// In a write, a participant sends data messages (head, run table, payload) for each region, until
// the head says `last`. In a read, it sends the same messages without payload as requests, and the
// aggregator answers each with a reply. If the plan says asks_contents(), each participant first
// sends its RoundContents of each region. With zero-copy, the payload travels in a message of its
// own, tagged as a reply in both directions.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "exchange/data_port.hpp"
#include "exchange/messages/message_buffers.hpp"
#include "exchange/messages/rounds.hpp"
#include "exchange/messages/zero_copy.hpp"

namespace oratorio {

/// State that both sides share for the length of one access.
struct PeerContext {
    Transport& transport;
    const Plan& plan;
    DataPort& runs;  ///< the data of this rank, or of its group
    Stats& stats;
    unsigned sequence = 0;
    std::span<std::byte> lists;  ///< zero-copy: memory for one message's piece list; else empty
    MessageBuffers buffers;

    [[nodiscard]] Rank rank() const { return transport.topology().rank; }
    [[nodiscard]] Tag tag(std::int64_t round, MessageKind kind) const {
        return tag_of(sequence, round, kind);
    }
    /// Returns the most buffers that the participant side uses at once: for each message in flight
    /// one and, in a read with packed replies, one for the reply; and for the contents of rounds.
    [[nodiscard]] int participant_buffers_max() const {
        const bool replies = plan.direction == Direction::read && lists.empty();
        return plan.messages_in_flight * (1 + (replies ? 1 : 0) + (plan.asks_contents() ? 1 : 0));
    }
};

/// The parts of a data message or request in its buffer. Both spans are empty if the message is
/// damaged: its head claims more bytes than the buffer holds.
struct MessageView {
    MessageHead head;
    std::span<std::byte> table;
    std::span<std::byte> payload;
    bool damaged = false;
};
[[nodiscard]] MessageView view_message(std::span<std::byte> buffer, bool with_payload);
/// Returns the error of a rank that received a message no correct rank sends.
[[nodiscard]] Error damaged_message(std::int64_t round);

class AggregatorSide {
  public:
    explicit AggregatorSide(PeerContext& context);

    // REQUIRES, for these three: this rank is an aggregator, and the rounds are its own.
    void expect(std::int64_t round);
    [[nodiscard]] std::optional<RoundContents> contents(std::int64_t round) const;
    void open(std::int64_t round, const RoundBuffer& buffer, Offset valid_until);
    /// Returns true if the round is open; is_served() and serve_own() require that.
    [[nodiscard]] bool is_open(std::int64_t round) const { return open_.contains(round); }
    [[nodiscard]] bool is_served(std::int64_t round) const { return open_.at(round).is_served(); }
    bool close_if_served(std::int64_t round, Bytes& held);
    Result<Step> step();
    /// Returns true if all replies have been sent.
    [[nodiscard]] bool finished() const { return replies_.empty(); }
    /// Returns true if a message named a different region than this rank's plan.
    [[nodiscard]] bool differs() const { return differs_; }
    /// Returns the error of the first damaged message from a participant. The exchange continues:
    /// the message's data is lost, but no participant waits forever.
    [[nodiscard]] const Error& failed() const { return failed_; }
    /// Copies the available part of this rank's own data in an open round, without a message.
    Copied serve_own(std::int64_t round);

  private:
    struct Expected {
        ReceiveQueue queue;
        Region region;
        std::int64_t senders = 0;  ///< ranks that haven't reported yet
        bool own = false;          ///< this rank's own contents are still to be added
        RoundContents contents;
    };
    struct OpenRound {
        ReceiveQueue queue;
        Region region;
        RoundBuffer buffer;
        Offset valid_until = 0;
        std::int64_t senders = 0;  ///< ranks that have more to send
        bool own = false;          ///< this rank's own data hasn't been copied yet
        Bytes bytes = 0;           ///< writes: bytes placed in the buffer
        bool spoiled = false;      ///< a dropped message may have overwritten the buffer

        [[nodiscard]] bool is_served() const { return senders == 0 && !own; }
    };
    struct Reply {
        Ticket ticket;
        std::span<std::byte> buffer;
    };
    [[nodiscard]] static std::int64_t more_receives_max(const PeerContext& context);
    [[nodiscard]] std::int64_t more_receives() const;
    [[nodiscard]] bool has_own(std::int64_t round) const;
    [[nodiscard]] std::int64_t senders_in(std::int64_t round) const;
    /// Adds this rank's own contents once they are known. Returns true if this call added them.
    bool add_own(Expected& expected);
    Result<void> post_receives(OpenRound& round);
    Result<Step> step_expected(Expected& expected);
    Result<Step> step_open(std::int64_t number, OpenRound& round);
    /// Places a write's payload. Returns false if the message is damaged.
    bool place(OpenRound& round, const MessageView& message);
    std::optional<Bytes> fetch(const OpenRound& round, const MessageView& message,
                               std::span<std::byte> into);
    Result<void> serve(std::int64_t number, OpenRound& round, Rank source,
                       std::span<std::byte> buffer);
    Result<void> serve_straight(std::int64_t number, OpenRound& round, Rank source,
                                const MessageView& message, std::span<std::byte> buffer);
    Result<Step> reap_straight();
    Result<void> reply(std::int64_t number, Rank to, const MessageHead& head,
                       std::span<std::byte> buffer);
    void note_damage(std::int64_t round);
    Result<Step> reap_replies();

    PeerContext& context_;
    int index_ = -1;
    std::size_t own_;  ///< this rank's participant index
    const std::int64_t more_receives_max_;
    std::map<std::int64_t, Expected> expected_;
    std::map<std::int64_t, OpenRound> open_;
    std::vector<Reply> replies_;
    ZeroCopyMessages zero_copy_;
    bool differs_ = false;
    Error failed_;
    Error deferred_;  ///< a failure of open(), returned by the next step()
};

class ParticipantSide {
  public:
    explicit ParticipantSide(PeerContext& context);

    /// Makes progress. `own` is this rank's aggregator side, for data in its own regions.
    Result<Step> step(AggregatorSide& own);
    [[nodiscard]] bool finished() const {
        return regions_.at_end() && outgoing_.empty() && announcements_done();
    }
    [[nodiscard]] Bytes received() const { return received_; }
    /// Returns the error of the first damaged reply. The exchange continues without its data.
    [[nodiscard]] const Error& failed() const { return failed_; }

  private:
    /// A message in flight: a write's data, or a read's request until its reply is unpacked. With
    /// zero-copy, the message with the run table, until the data itself was sent or has arrived.
    struct Outgoing {
        std::int64_t round = 0;
        std::span<std::byte> message;
        std::span<std::byte> reply;
        Ticket sent;
        Ticket replied;
        Ticket zero_copy;     ///< writes: the message with the zero-copy data
        bool leaving = true;  ///< `message` is still being sent
        Chunk chunk;  ///< the chunk that `message` describes; the reply has at most its payload
    };
    struct Announcement {
        Ticket ticket;
        std::span<std::byte> message;
    };
    [[nodiscard]] bool announcements_done() const {
        return announced_.at_end() && announcements_.empty();
    }
    Result<Step> announce();
    Result<Step> reap_outgoing();
    Result<Step> finish(Outgoing& outgoing);
    Result<Step> hand_over(AggregatorSide& own);
    Result<void> send_chunk(std::span<std::byte> message);
    void unpack(const Chunk& chunk, std::span<const std::byte> payload);
    MessageView fill(std::span<std::byte> message);
    [[nodiscard]] std::span<std::byte> place_of_reply();
    Result<void> receive_reply(Rank to, Outgoing& outgoing);
    Result<void> send_straight(Rank to, Outgoing& outgoing);
    Result<Step> finish_straight(Outgoing& outgoing);
    [[nodiscard]] bool goes_straight() const { return !context_.lists.empty(); }
    void count_sent(std::size_t bytes, Rank to);
    /// Returns the rank that serves this rank's data of a region.
    [[nodiscard]] Rank partner(const RankRegions& regions) const {
        if (local_ >= 0) return local_;
        return context_.plan.aggregators[static_cast<std::size_t>(regions.aggregator())];
    }
    [[nodiscard]] Tag tag(std::int64_t round, MessageKind kind) const {
        return local_ >= 0 ? roundless_tag_of(context_.sequence, kind) : context_.tag(round, kind);
    }

    PeerContext& context_;
    bool reading_;
    Rank local_;           ///< this rank's local aggregator; -1: the rank sends for itself
    RankRegions regions_;  ///< at the first region with data not sent or requested yet
    Chunk chunk_;
    std::vector<Outgoing> outgoing_;
    RankRegions announced_;
    std::vector<Announcement> announcements_;
    Bytes received_ = 0;
    Error failed_;
};

}  // namespace oratorio
