// SPDX-License-Identifier: BSD-3-Clause
// GroupMember: the state that a local aggregator keeps for one rank of its group (itself included):
// the rank's messages as they arrive, the runs in them, and in reads the answers. The local
// aggregator's own data takes the form of messages that it writes itself.
#pragma once

#include <array>

#include "exchange/messages/peer.hpp"
#include "type/run_table.hpp"

namespace oratorio {

/// State shared by all members of a group.
struct GroupContext {
    Transport& transport;
    const Plan& plan;
    Stats& stats;
    unsigned sequence = 0;
    DataPort& own;         ///< the local aggregator's own data
    bool differs = false;  ///< a message named a different region than the plan
    Error failed = {};     ///< of the first damaged message; the exchange continues

    [[nodiscard]] bool reading() const { return plan.direction == Direction::read; }
    [[nodiscard]] Rank rank() const { return transport.topology().rank; }
    void note_damage(std::int64_t round) {
        if (failed.kind == ErrorKind::none) failed = damaged_message(round);
    }
};

class GroupMember {
  public:
    static constexpr int messages_max = kMessagesOfMember;
    /// Returns the number of buffers, each of layers.message_bytes(), that a member needs.
    [[nodiscard]] static constexpr int buffers(Direction direction) {
        return direction == Direction::read ? 2 * messages_max : messages_max;
    }

    GroupMember(GroupContext& context, Rank rank, std::span<std::byte> memory);

    /// Receives messages, posts receives, sends answers.
    Result<Step> step();
    /// Returns true if no message is held and no answer is in flight.
    [[nodiscard]] bool idle() const;
    [[nodiscard]] bool is_own() const { return rank_ == context_.rank(); }
    [[nodiscard]] bool touches(const Region& region) const { return region.touches(hull_); }

    /// Returns true if the member's next runs belong to `region`.
    [[nodiscard]] bool stands_at(const Region& region) const { return begin_ == region.begin; }
    enum class Has { run, nothing_yet, end };
    /// Looks for the next run in the member's current region.
    Has look();
    /// Returns the run that look() found. REQUIRES: look() returned Has::run.
    [[nodiscard]] const StridedRun& run() const { return run_; }
    [[nodiscard]] bool ended() const { return ended_; }
    /// Returns the data of the run. REQUIRES: the access is a write.
    [[nodiscard]] const std::byte* data() const {
        return current().view.payload.data() + current().merged;
    }
    /// Returns the run's offset in its message's answer.
    [[nodiscard]] Bytes position() const { return current().merged; }
    /// Returns the index of the message that holds the run.
    [[nodiscard]] int message() const { return next_; }
    /// Takes `pieces` pieces of the run; take_part() takes only `bytes` of its first piece.
    void take(std::int64_t pieces);
    void take_part(Bytes bytes);
    /// Enters the next region. REQUIRES: all members have finished the current one.
    void advance();

    /// Returns where the bytes at `position` of a message's answer go. REQUIRES: the access is a
    /// read.
    [[nodiscard]] std::byte* answer(int message, Bytes position) {
        return messages_[static_cast<std::size_t>(message)].reply.data() + sizeof(MessageHead) +
               position;
    }
    /// Records that `bytes` more bytes of a message's answer are decided: `there` of them were
    /// read, and the rest lies past the end of the file or couldn't be read. When the answer is
    /// complete and is the local aggregator's own, copies it to the user's buffer and returns the
    /// bytes copied; else returns 0.
    Bytes decide(int message, Bytes bytes, Bytes there);
    /// Copies the data of the current region that has arrived between its messages and the region's
    /// buffer.
    Bytes copy(const Region& region, const RoundBuffer& buffer, Offset valid_until);

    /// The contents that the member reports for one region.
    struct Contents {
        Offset begin = 0;
        RoundContents contents;
    };
    /// Returns the member's next report; nothing until it has arrived.
    [[nodiscard]] std::optional<Contents> take_told();

  private:
    /// The state of a message. In `coming`, a receive is posted; in `here`, the message has
    /// arrived. Only reads have the last three states: in `taken`, the message's runs are merged
    /// and their data is being requested; in `answered`, the answer is complete; in `leaving`, the
    /// answer is being sent.
    enum class State { free, coming, here, taken, answered, leaving };
    struct Message {
        State state = State::free;
        std::span<std::byte> buffer;
        std::span<std::byte> reply;
        Ticket ticket;
        MessageView view;
        Bytes promised = 0;  ///< bytes of the runs that look() returned
        Bytes merged = 0;    ///< bytes of these runs merged into chunks
        Bytes decided = 0;   ///< reads: merged bytes that a reply has answered
        Bytes there = 0;     ///< reads: decided bytes that were read
        Chunk own;
    };
    [[nodiscard]] const Message& current() const {
        return messages_[static_cast<std::size_t>(next_)];
    }
    [[nodiscard]] Message& current() { return messages_[static_cast<std::size_t>(next_)]; }
    Result<Step> post();
    Result<Step> receive();
    void accept(Message& message);
    void stand_at_region();
    bool open_message();
    void write_own();
    void end_message();
    Bytes end_answer(Message& message);
    Result<Step> send_answers();
    Result<void> send_answer(Message& message);
    Result<Step> receive_told();

    GroupContext& context_;
    Rank rank_;
    Extent hull_;
    std::array<Message, messages_max> messages_;
    RankRegions coming_;  ///< region of the next message to arrive
    RankRegions after_;   ///< the region after that
    int posted_ = 0;      ///< index of the next message to post a receive for
    int arriving_ = 0;    ///< index of the first message that hasn't arrived
    RankRegions at_;      ///< region that runs are taken from
    Offset begin_ = INT64_MIN;
    int answering_ = 0;   ///< index of the next answer to send
    int next_ = 0;        ///< index of the message that runs are taken from
    bool open_ = false;   ///< runs are being read from message next_
    bool ended_ = false;  ///< the region has no more runs
    RunTableReader reader_;
    StridedRun run_;
    StridedRun rest_;   ///< runs that follow run_, when run_ is part of a piece
    RankRegions told_;  ///< region of the next report
    RoundContents contents_;
    Ticket telling_;
    bool is_told_ = false;
};

}  // namespace oratorio
