// SPDX-License-Identifier: BSD-3-Clause
// Messages that arrive damaged: the access ends with an error on all ranks, and no rank hangs.
#include <algorithm>
#include <cstring>
#include <functional>
#include <list>

#include "exchange/messages/rounds.hpp"
#include "sim/case.hpp"
#include "sim/file_ranks.hpp"
#include "support/message_pieces.hpp"
#include "support/rank_file.hpp"

namespace oratorio::test::damaged_message_test {
namespace {

using Damage = std::function<void(std::vector<std::byte>& message)>;

/// The choice of the messages to damage.
struct Aim {
    MessageKind kind = MessageKind::data;
    Rank rank = 0;  ///< the sender
    /// If true, messages between a rank and its local aggregator are damaged.
    bool local = false;
    /// The method of the access; null: two_layer if `local`, else two_phase and two_layer in turn.
    const char* method = nullptr;

    [[nodiscard]] bool hits(Tag tag) const {
        constexpr Tag kOfAccess = 4096;
        return local ? tag % kOfAccess == roundless_tag_of(0, kind)
                     : tag % 4 == static_cast<Tag>(kind);
    }
};

/// The transport of one rank, which damages the chosen messages when the rank sends them.
class Damaging final : public Lent {
  public:
    Damaging(Transport& below, Aim aim, Damage damage)
        : Lent(below), aim_(aim), damage_(std::move(damage)) {}

    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override {
        if (topology().rank != aim_.rank || !aim_.hits(tag)) return Lent::send(to, tag, data);
        sent_.push_back(gathered(pieces_of(data)));
        damage_(sent_.back());
        return Lent::send(to, tag, std::span<const std::byte>(sent_.back()));
    }

    [[nodiscard]] std::size_t damaged() const { return sent_.size(); }

  private:
    Aim aim_;
    Damage damage_;
    std::list<std::vector<std::byte>> sent_;  ///< a sender must keep its data until the send is
                                              ///< done
};

template <class Change>
Damage of_head(Change change) {
    return [change](std::vector<std::byte>& message) {
        MessageHead head;
        std::memcpy(&head, message.data(), sizeof head);
        change(head);
        std::memcpy(message.data(), &head, sizeof head);
    };
}

void flip_table(std::vector<std::byte>& message) {
    MessageHead head;
    std::memcpy(&head, message.data(), sizeof head);
    std::fill_n(message.begin() + sizeof head, head.table_bytes, std::byte{0xff});
}

/// The results of four ranks in an access in which messages of one rank are damaged.
struct Came {
    std::vector<Outcome> outcomes = std::vector<Outcome>(4);
    std::size_t damaged = 0;
};

Came run_damaged(Direction direction, Aim aim, const Damage& damage, std::uint64_t seed) {
    Case made = make_case(seed, 4, false);
    MemoryDisk disk;
    if (direction == Direction::read)
        disk.write(0, std::vector<std::byte>(std::size_t{1} << 17, std::byte{1}));
    const bool layers = aim.local || seed % 2 == 0;
    const std::string usual = layers ? "two_layer" : "two_phase";
    FlatTerms options = small_options(aim.method != nullptr ? aim.method : usual, seed);
    options.cb_nodes = 4;
    options.local_aggregators_per_node = 2;  // rank 0 serves ranks 0 and 1, rank 2 serves ranks 2
                                             // and 3
    Came came;
    run_ranks({.ranks = 4, .seed = seed}, [&](Transport& transport) {
        const auto rank = static_cast<std::size_t>(transport.topology().rank);
        Damaging lossy(transport, aim, damage);
        MemoryStore store(disk);
        Stats stats;
        RankPart& part = made.parts[rank];
        part.access.direction = direction;
        part.access.buffer = part.memory.empty() ? nullptr : part.base();
        RankFile file(lossy, store, options, stats);
        came.outcomes[rank] = file.access(part.access);
        if (transport.topology().rank == aim.rank) came.damaged = lossy.damaged();
    });
    return came;
}

void expect_agreed(ErrorKind expected, Direction direction, Aim aim, const Damage& damage) {
    std::size_t damaged = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const Came came = run_damaged(direction, aim, damage, seed);
        damaged += came.damaged;
        for (const Outcome& outcome : came.outcomes)
            EXPECT_EQ(outcome.error.kind, came.damaged > 0 ? expected : ErrorKind::none)
                << "seed " << seed << ": " << describe(outcome.error, "");
    }
    EXPECT_GT(damaged, 0U);
}

constexpr auto kTooLong = [](MessageHead& head) { head.payload = Bytes{1} << 50; };
constexpr auto kNegative = [](MessageHead& head) { head.payload = -1; };
constexpr auto kLongTable = [](MessageHead& head) { head.table_bytes = 1 << 30; };
constexpr auto kNegativeTable = [](MessageHead& head) { head.table_bytes = -1; };

TEST(DamagedMessage, InAWriteIsAnErrorOnAllRanks) {
    for (const Damage& damage : {of_head(kTooLong), of_head(kNegative), of_head(kLongTable),
                                 of_head(kNegativeTable), Damage(flip_table)})
        expect_agreed(ErrorKind::internal, Direction::write, {MessageKind::data}, damage);
}

TEST(DamagedMessage, InARequestIsAnErrorOnAllRanks) {
    for (const Damage& damage : {of_head(kLongTable), of_head(kNegativeTable), Damage(flip_table)})
        expect_agreed(ErrorKind::internal, Direction::read, {MessageKind::data}, damage);
}

TEST(DamagedMessage, ThatTellsWhichPiecesComeIsAnErrorOnAllRanks) {
    constexpr Aim kTable{MessageKind::data, 0, false, "cb_gather"};
    for (const Damage& damage : {of_head(kTooLong), of_head(kNegative), of_head(kLongTable),
                                 of_head(kNegativeTable), Damage(flip_table)})
        expect_agreed(ErrorKind::internal, Direction::write, kTable, damage);
    for (const Damage& damage : {of_head(kLongTable), of_head(kNegativeTable), Damage(flip_table)})
        expect_agreed(ErrorKind::internal, Direction::read, kTable, damage);
}

TEST(DamagedMessage, InAReplyIsAnErrorOnAllRanks) {
    for (const Damage& damage : {of_head(kTooLong), of_head(kNegative)})
        expect_agreed(ErrorKind::internal, Direction::read, {MessageKind::reply}, damage);
}

TEST(DamagedMessage, EveryRequestIsAnsweredInItsRound) {
    const auto damage = of_head([](MessageHead& head) { head.round = -5; });
    expect_agreed(ErrorKind::none, Direction::read, {MessageKind::data}, damage);
}

TEST(DamagedMessage, FromARankToItsLocalAggregatorIsAnErrorOnAllRanks) {
    constexpr Aim kMember{MessageKind::data, 1, true};
    for (const Damage& damage : {of_head(kTooLong), of_head(kNegative), of_head(kLongTable),
                                 of_head(kNegativeTable), Damage(flip_table)})
        expect_agreed(ErrorKind::internal, Direction::write, kMember, damage);
    for (const Damage& damage : {of_head(kLongTable), of_head(kNegativeTable), Damage(flip_table)})
        expect_agreed(ErrorKind::internal, Direction::read, kMember, damage);
}

TEST(DamagedMessage, FromALocalAggregatorToItsRanksIsAnErrorOnAllRanks) {
    constexpr Aim kAnswer{MessageKind::reply, 0, true};
    for (const Damage& damage : {of_head(kTooLong), of_head(kNegative)})
        expect_agreed(ErrorKind::internal, Direction::read, kAnswer, damage);
}

/// Writes bytes that belong to the ranks in turn, in eight rounds, in each of which every rank has
/// the same share. Rank 1's message of round `damaged` names another region. Returns the bytes that
/// each rank's status counts.
std::vector<Bytes> stored_with_a_wrong_region(std::int64_t damaged, MemoryDisk& disk) {
    constexpr int kRanks = 3;
    constexpr Bytes kEach = 8 * kPage;
    std::vector<Bytes> stored(kRanks);
    const auto damage = of_head([damaged](MessageHead& head) {
        if (head.round == damaged) head.begin += 1;
    });
    run_ranks({.ranks = kRanks, .seed = 5}, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        Damaging wrong(transport, {.rank = 1}, damage);
        MemoryStore store(disk);
        Stats stats;
        FlatTerms options;
        options.method = find_method("two_phase");
        options.cb_nodes = 1;
        options.cb_buffer_size = kRanks * kPage;
        std::vector<std::byte> memory(kEach, static_cast<std::byte>(1 + rank));
        Access access;
        access.direction = Direction::write;
        access.file = {Shape::run(1), kRanks, rank, kEach};
        access.memory = {Shape::run(kEach), kEach, 0, 1};
        access.buffer = memory.data();
        RankFile file(wrong, store, options, stats);
        const Outcome outcome = file.access(access);
        EXPECT_EQ(outcome.error.kind, ErrorKind::internal) << describe(outcome.error, "");
        stored[static_cast<std::size_t>(rank)] = outcome.bytes;
    });
    return stored;
}

TEST(DamagedMessage, OfAnotherRegionLeavesTheStatusOfAWriteTrue) {
    for (const std::int64_t round : {0, 3, 7}) {
        MemoryDisk disk;
        const std::vector<Bytes> stored = stored_with_a_wrong_region(round, disk);
        const std::vector<std::byte> there = disk.contents();
        for (std::size_t rank = 0; rank < stored.size(); ++rank) {
            EXPECT_EQ(stored[rank], round * kPage) << rank;
            EXPECT_EQ(stored[rank], std::ranges::count(there, static_cast<std::byte>(1 + rank)));
        }
    }
}

}  // namespace
}  // namespace oratorio::test::damaged_message_test
