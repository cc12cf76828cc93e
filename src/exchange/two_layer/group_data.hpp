// SPDX-License-Identifier: BSD-3-Clause
// GroupData: the data of all ranks that a local aggregator serves, as the data of one participant:
// the request aggregation of two-layer two-phase I/O (Kang et al. 2019, section IV-A). It merges
// the members' messages by offset and joins pieces that touch: where a group's share of a region is
// dense, its run table holds one run. It holds at most two messages per member. In reads, bytes
// that several members want are requested once per message.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "exchange/two_layer/group_member.hpp"
#include "exchange/two_layer/group_source.hpp"

namespace oratorio {

class GroupData final : public GroupSource {
  public:
    /// Returns the memory that a local aggregator of `ranks` ranks needs. It holds
    /// kMessagesOfMember messages of each rank. In writes, it also holds one message of the local
    /// aggregator; in reads, an answer to each message of a rank, and the records that say where
    /// the bytes of each reply go.
    [[nodiscard]] static Bytes bytes_needed(Direction direction, const PlanOptions& options,
                                            int ranks);

    /// Returns the maximum number of shares that one message of a read can request. A share is one
    /// run of a member, or part of a run.
    static std::size_t shares_max(Bytes message_bytes);

    /// Returns true if this rank is a local aggregator and other ranks of its group have data.
    [[nodiscard]] static bool needed(const Plan& plan, Rank rank);

    /// `own` and everything in `context` outlive the object. `memory` has bytes_needed() bytes.
    GroupData(const ExchangeContext& context, DataPort& own, std::span<std::byte> memory);

    /// Receives messages of the members, and sends answers.
    Result<Step> step() override;
    [[nodiscard]] bool finished() const override;
    [[nodiscard]] bool differs() const override { return context_.differs; }
    [[nodiscard]] const Error& failed() const override { return context_.failed; }

    bool ready(const Region& region) override;
    std::size_t next(const Region& region, std::span<std::byte> table_and_payload,
                     Chunk& chunk) override;
    std::optional<RoundContents> contents(const Region& region) override;
    void pack(const Chunk& chunk, std::span<std::byte> payload) override;
    Bytes unpack(const Chunk& chunk, std::span<const std::byte> payload) override;
    Copied copy(const Region& region, std::byte* buffer, std::byte* mask,
                Offset valid_until) override;

  private:
    /// The bytes of a reply that go to one member's answer: one of its runs or part of one, or
    /// `count` equal pieces that are `stride` apart in the reply.
    struct Share {
        std::int32_t at = 0;  ///< offset in the reply's payload
        std::int32_t bytes = 0;
        std::int32_t position = 0;  ///< offset in the answer's payload
        std::int32_t message = 0;   ///< index over the messages of all members
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
    void take_bytes(GroupMember& member, Bytes bytes);
    bool take_rows(Merge& merge);
    [[nodiscard]] bool continues_piece(const Merge& merge) const;
    [[nodiscard]] bool splits_piece(const Merge& merge);
    Rows find_rows(const Merge& merge);
    bool look_again(std::size_t index);
    Head pop();
    void push(Head head);
    void share(std::size_t index, Bytes at, Bytes bytes, Merge& merge);
    void advance(const Region& region);

    GroupContext context_;
    std::vector<GroupMember> members_;
    std::span<std::byte> payload_;  ///< writes: payload of the chunk that is being made
    std::vector<Record> records_;
    std::vector<std::size_t> row_;  ///< members of the rows being examined, in file order
    int patience_ = 0;              ///< pieces to take before the next search for rows
    std::vector<Head> heap_;        ///< members with a run; the lowest offset is on top
    /// Contents that members reported, by the first byte of their region.
    std::map<Offset, Sum> told_;
};

}  // namespace oratorio
