// SPDX-License-Identifier: BSD-3-Clause
// Member: what a local aggregator knows of one rank that it serves, itself among them: the rank's
// messages as they come, the runs in them, and the answers of reads. Its own data comes as messages
// that it writes itself.
#pragma once

#include <array>

#include "exchange/peer.hpp"
#include "type/run_table.hpp"

namespace oratorio {

/// Of all members of a group.
struct GroupContext {
    Transport& transport;
    const Plan& plan;
    Stats& stats;
    unsigned sequence = 0;
    Runs& own;             ///< data of the local aggregator itself
    bool differs = false;  ///< a message spoke of another region than the plan
    Error failed = {};     ///< a message that couldn't be used; all else goes on

    [[nodiscard]] bool reading() const { return plan.direction == Direction::read; }
    [[nodiscard]] Rank rank() const { return transport.topology().rank; }
    void note_damage(std::int64_t round) {
        if (failed.kind == ErrorKind::none) failed = damaged_message(round);
    }
};

class Member {
  public:
    static constexpr int messages_max = kMessagesOfMember;
    /// Buffers, each of the plan's layers.message_bytes(), that a member takes.
    [[nodiscard]] static constexpr int buffers(Direction direction) {
        return direction == Direction::read ? 2 * messages_max : messages_max;
    }

    Member(GroupContext& context, Rank rank, std::span<std::byte> memory);

    /// Takes what has come, asks for more, sends answers.
    Result<bool> step();
    /// No message is in hand and no answer on its way.
    [[nodiscard]] bool idle() const;
    [[nodiscard]] bool is_own() const { return rank_ == context_.rank(); }
    [[nodiscard]] bool touches(const Region& region) const { return region.touches(hull_); }

    /// Its next runs are of that region.
    [[nodiscard]] bool stands_at(const Region& region) const { return begin_ == region.begin; }
    enum class Has { run, nothing_yet, end };
    /// Looks for its next run in the region where it stands.
    Has look();
    /// As look() found it.
    [[nodiscard]] const StridedRun& run() const { return run_; }
    [[nodiscard]] bool ended() const { return ended_; }
    /// Writes: the data of the run.
    [[nodiscard]] const std::byte* data() const {
        return current().view.payload.data() + current().merged;
    }
    /// Where the run's data lies in the answer, and which message's answer that is.
    [[nodiscard]] Bytes position() const { return current().merged; }
    [[nodiscard]] int message() const { return next_; }
    /// `pieces` of the run are taken, or of its first piece, if that is all, `bytes`.
    void take(std::int64_t pieces);
    void take_part(Bytes bytes);
    /// All members have ended the region.
    void advance();

    /// Reads: where what was taken of a message shall come to lie.
    [[nodiscard]] std::byte* answer(int message, Bytes position) {
        return messages_[static_cast<std::size_t>(message)].reply.data() + sizeof(MessageHead) +
               position;
    }
    /// `bytes` of that are decided, `there` of them are there. Gives the bytes that reached this
    /// rank's own memory.
    Bytes decide(int message, Bytes bytes, Bytes there);
    /// What there is of the region where it stands, between its messages and the region's buffer.
    Bytes copy(const Region& region, const RoundBuffer& buffer, Offset valid_until);

    /// What it has in the next region that it tells of; nothing while that hasn't come.
    struct Told {
        Offset begin = 0;
        RoundContents contents;
    };
    [[nodiscard]] std::optional<Told> take_told();

  private:
    /// Taken: its runs are merged, and reads wait for what they want.
    enum class State { free, coming, here, taken, answered, leaving };
    struct Message {
        State state = State::free;
        std::span<std::byte> buffer;
        std::span<std::byte> reply;
        Ticket ticket;
        MessageView view;
        Bytes promised = 0;  ///< bytes of the runs that were looked at
        Bytes merged = 0;    ///< and taken
        Bytes decided = 0;   ///< reads: and answered
        Bytes there = 0;     ///< reads: of those, bytes that there are
        Chunk own;
    };
    [[nodiscard]] const Message& current() const {
        return messages_[static_cast<std::size_t>(next_)];
    }
    [[nodiscard]] Message& current() { return messages_[static_cast<std::size_t>(next_)]; }
    Result<bool> post();
    Result<bool> receive();
    void accept(Message& message);
    void stand_at_region();
    bool open_message();
    void write_own();
    void end_message();
    Bytes end_answer(Message& message);
    Result<bool> send_answers();
    Result<void> send_answer(Message& message);
    Result<bool> receive_told();

    GroupContext& context_;
    Rank rank_;
    Extent hull_;
    std::array<Message, messages_max> messages_;
    RankRegions coming_;  ///< of the next message to come
    RankRegions after_;   ///< the region behind that
    int posted_ = 0;      ///< the message that is received next, once it is free
    int arriving_ = 0;    ///< the first that hasn't come
    RankRegions at_;      ///< whose runs are taken
    Offset begin_ = INT64_MIN;
    int answering_ = 0;   ///< the next whose answer leaves
    int next_ = 0;        ///< the message whose runs are taken
    bool open_ = false;   ///< it has been begun
    bool ended_ = false;  ///< no run is left in the region
    RunTableReader reader_;
    StridedRun run_;
    StridedRun rest_;   ///< comes after run_, which is part of a piece
    RankRegions told_;  ///< of the next contents to come
    RoundContents contents_;
    Ticket telling_;
    bool is_told_ = false;
};

}  // namespace oratorio
