// SPDX-License-Identifier: BSD-3-Clause
// GroupRuns: the data of all ranks that a local aggregator serves, as one participant's (Kang et
// al. 2019, section IV-A). The members' messages are merged by offset, and pieces that touch become
// one: where a group's share of a region is dense, one run is all that is told of it. Never more
// than two messages of a member are here. In reads, what several members want is asked for once.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "exchange/member.hpp"
#include "exchange/spoken_runs.hpp"

namespace oratorio {

class GroupRuns final : public SpokenRuns {
  public:
    /// Memory that the local aggregator of so many ranks needs: kMessagesOfMember messages of each
    /// rank, and in reads as many answers; a message of its own; in reads where the bytes of each
    /// of its messages in flight go.
    [[nodiscard]] static Bytes bytes_needed(Direction direction, const PlanOptions& options,
                                            int ranks);

    /// Reads: most parts of an answer, each for one run of a member or a part of it, that are asked
    /// for in one message.
    static std::size_t shares_max(Bytes message_bytes);

    /// This rank has other ranks' data to speak for.
    [[nodiscard]] static bool needed(const Plan& plan, Rank rank);

    /// `own` and all in `context` outlive it. `memory`: bytes_needed().
    GroupRuns(const ExchangeContext& context, Runs& own, std::span<std::byte> memory);

    /// Takes what has come of the members, and sends answers.
    Result<bool> step() override;
    /// All answers have left.
    [[nodiscard]] bool finished() const override;
    [[nodiscard]] bool differs() const override { return context_.differs; }
    [[nodiscard]] const Error& failed() const override { return context_.failed; }

    bool ready(const Region& region) override;
    std::size_t next(const Region& region, std::span<std::byte> table_and_payload,
                     Chunk& chunk) override;
    std::optional<RoundContents> contents(const Region& region) override;
    void pack(const Chunk& chunk, std::span<std::byte> payload) override;
    Bytes unpack(const Chunk& chunk, std::span<const std::byte> payload) override;
    Copied copy(const Region& region, std::byte* buffer, std::byte* given,
                Offset valid_until) override;

  private:
    /// Bytes of a reply that go to a member: as much as one of its runs, or a part of one; or
    /// `count` such pieces, `stride` apart in the reply.
    struct Share {
        std::int32_t at = 0;  ///< in the reply's payload
        std::int32_t bytes = 0;
        std::int32_t position = 0;  ///< in the answer's payload
        std::int32_t message = 0;   ///< of all members' messages
        std::int32_t count = 1;
        std::int32_t stride = 0;
    };
    static Bytes deal(const Share& share, std::span<const std::byte> payload, std::byte* to);
    struct Record {
        std::span<Share> memory;
        std::size_t used = 0;
        bool in_use = false;
    };
    struct Head {
        Offset offset = 0;
        std::size_t member = 0;
        bool operator>(const Head& other) const {
            return offset != other.offset ? offset > other.offset : member > other.member;
        }
    };
    struct Merge;
    struct Rows;
    struct Sum {
        RoundContents contents;
        std::int64_t told = 0;
    };
    void lay_out_records(std::span<std::byte> memory);
    int take_record();
    void take_from(std::size_t index, Offset limit, Merge& merge);
    void take_bytes(Member& member, Bytes bytes);
    bool take_rows(Merge& merge);
    Rows find_rows(const Merge& merge);
    bool look_again(std::size_t index);
    Head pop();
    void push(Head head);
    void share(std::size_t index, Bytes at, Bytes bytes, Merge& merge);
    void advance(const Region& region);

    GroupContext context_;
    std::vector<Member> members_;
    std::span<std::byte> payload_;  ///< writes: of the chunk that is being made
    std::vector<Record> records_;
    std::vector<std::size_t> row_;  ///< members whose pieces touch, in their order
    int patience_ = 0;              ///< pieces to be taken before rows are looked for again
    std::vector<Head> heap_;        ///< members with a run, the first in the file on top
    std::map<Offset, Sum> told_;    ///< what members have in a region, by its begin
};

}  // namespace oratorio
