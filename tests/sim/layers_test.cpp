// SPDX-License-Identifier: BSD-3-Clause
// Exact counts of two-layer accesses through local aggregators: messages, pieces and bytes (Kang et
// al. 2019, section IV-D), compared with the same accesses in one layer.
#include <gtest/gtest.h>

#include "engine/run.hpp"
#include "exchange/messages/rounds.hpp"
#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/same_bytes.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test::layers_test {
namespace {

constexpr int kNodes = 4;
constexpr int kOfNode = 4;
constexpr int kRanks = kNodes * kOfNode;
constexpr Bytes kPiece = 64;
constexpr std::int64_t kPieces = 32;
constexpr Bytes kEach = kPiece * kPieces;  // all ranks' data together fits into one message

std::byte value_of(Offset at) {
    return static_cast<std::byte>(1 + at * 7 % 251);
}

struct Pattern {
    const char* method = "two_layer";
    int local_aggregators = 0;  ///< number of local aggregators on each node
    Layout (*file_of)(Rank rank) = nullptr;
    int aggregators = 1;
    Offset end = 0;  ///< length of the file that is read; 0: longer than the data
    DomainsChoice domains = DomainsChoice::automatic;
    Bytes unit = 0;  ///< block of the file domains
    Bytes each = kEach;
    int ranks = kRanks;
    int of_node = kOfNode;
};

/// Deals pieces to all ranks in turn, so that the pieces of a node's ranks touch.
Layout in_turn(Rank rank) {
    return {Shape::run(kPiece), kPiece * kRanks, rank * kPiece, Layout::unbounded};
}
constexpr Bytes kLongPiece = 16 << 10;
/// Deals pieces of 16 KiB, of which a message holds fewer than 16.
Layout long_in_turn(Rank rank) {
    return {Shape::run(kLongPiece), kLongPiece * kRanks, rank * kLongPiece, Layout::unbounded};
}
constexpr int kMany = 512;
/// Deals pieces to 512 ranks in turn.
Layout in_turn_of_many(Rank rank) {
    return {Shape::run(kPiece), kPiece * kMany, rank * kPiece, Layout::unbounded};
}
/// Gives each node a block of its own, in which the node's ranks have pieces in turn.
Layout in_turn_on_nodes(Rank rank) {
    const Offset block = rank / kOfNode * kEach * kOfNode;
    return {Shape::run(kPiece), kPiece * kOfNode, block + rank % kOfNode * kPiece,
            Layout::unbounded};
}
/// Gives every rank the same pieces.
Layout all_alike(Rank) {
    return {Shape::run(kPiece), 2 * kPiece, 0, Layout::unbounded};
}

/// Returns the data that a rank writes, and that it must read back.
const std::vector<std::byte>& values_for(const Pattern& pattern, Rank rank) {
    return made_once(std::pair(pattern.file_of, rank),
                     [&] { return values_of(pattern.file_of(rank), pattern.each, value_of); });
}

/// Runs one access, checks each byte, and returns the sum of all ranks' counters.
Stats run_pattern(Direction direction, const Pattern& pattern) {
    MemoryDisk disk;
    const Bytes all = pattern.ranks * pattern.each;
    const auto& file = made_once(all, [&] {
        return values_of({Shape::run(2 * all), 2 * all, 0, 1}, 2 * all, value_of);
    });
    const Offset end = pattern.end > 0 ? pattern.end : 2 * all;
    if (direction == Direction::read) disk.write(0, std::span(file).first(end));
    std::vector<Stats> stats(static_cast<std::size_t>(pattern.ranks));
    FlatTerms options;
    options.method = find_method(pattern.method);
    options.cb_nodes = pattern.aggregators;
    options.cb_buffer_size = 2 << 20;
    options.local_aggregators_per_node = pattern.local_aggregators;
    options.domains = pattern.domains;
    options.striping_unit = options.cyclic_block = pattern.unit;
    const SimOptions ranks{.ranks = pattern.ranks, .ranks_per_node = pattern.of_node};
    run_ranks(ranks, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        MemoryStore store(disk);
        const Layout layout = pattern.file_of(rank);
        const auto& values = values_for(pattern, rank);
        std::vector<std::byte> memory(values.size());
        if (direction == Direction::write) memory = values;
        Access access;
        access.direction = direction;
        access.file = layout;
        access.memory = {Shape::run(pattern.each), pattern.each, 0, 1};
        access.buffer = memory.data();
        RankFile file(transport, store, options, stats[static_cast<std::size_t>(rank)],
                      {.shares_memory = true});
        const Outcome outcome = file.access(access);
        EXPECT_EQ(outcome.error.kind, ErrorKind::none);
        const bool reading = direction == Direction::read;
        const Bytes there =
            reading ? std::min(pattern.each, size_before_offset(layout, end)) : pattern.each;
        EXPECT_EQ(outcome.bytes, there);
        const auto count = static_cast<std::size_t>(there);
        ASSERT_TRUE(same_bytes(std::span(memory).first(count), std::span(values).first(count)));
    });
    if (direction == Direction::write) {
        EXPECT_TRUE(same_bytes(disk.contents({0, all}), std::span(file).first(all)));
    }
    Stats sum;
    for (const Stats& one : stats) {
#define COUNTER(name, unit, description) sum.name += one.name;
#include "stats/counters.def"
#undef COUNTER
    }
    return sum;
}

std::uint64_t to_aggregator(const Stats& stats) {
    return stats.messages_sent - stats.local_messages;
}

// The aggregator is rank 0, which is also a local aggregator, so that the data of its own group
// takes no message to an aggregator.
TEST(Layers, TheAggregatorGetsMessagesOfLocalAggregatorsOnly) {
    const Stats one = run_pattern(Direction::write, {"two_phase", 0, in_turn});
    EXPECT_EQ(to_aggregator(one), kRanks - 1U) << "each rank but the aggregator, in one layer";
    EXPECT_EQ(one.local_messages, 0U);
    for (const int locals : {1, 2, 4}) {
        const auto all = static_cast<std::uint64_t>(kNodes * locals);
        const Stats two = run_pattern(Direction::write, {"two_layer", locals, in_turn});
        EXPECT_EQ(to_aggregator(two), all - 1) << locals;
        EXPECT_EQ(two.local_messages, kRanks - all) << "each other rank sends one";
        const Stats read = run_pattern(Direction::read, {"two_layer", locals, in_turn});
        EXPECT_EQ(to_aggregator(read), 2 * (all - 1)) << "a request and a reply";
        EXPECT_EQ(read.local_messages, 2 * (kRanks - all));
    }
}

TEST(Layers, PiecesThatTouchAreForwardedAsOne) {
    for (const Direction direction : {Direction::write, Direction::read}) {
        const Stats stats = run_pattern(direction, {"two_layer", 1, in_turn});
        // Only the groups of other local aggregators count: the data of the aggregator's own group
        // is placed without being merged first.
        EXPECT_EQ(stats.pieces_gathered, 3U * kOfNode * kPieces);
        EXPECT_EQ(stats.pieces_forwarded, 3U * kPieces);
        const Stats halves = run_pattern(direction, {"two_layer", 2, in_turn});
        EXPECT_EQ(halves.pieces_gathered, 7U * kOfNode / 2 * kPieces);
        EXPECT_EQ(halves.pieces_forwarded, 7U * kPieces);
    }
}

TEST(Layers, PiecesAreNotSplitAtTheEndsOfMessages) {
    // These pieces take more than one message from a rank, and more than five from a node.
    constexpr std::uint64_t kLongPieces = 20;
    for (const Direction direction : {Direction::write, Direction::read}) {
        Pattern pattern{"two_layer", 1, long_in_turn};
        pattern.each = kLongPieces * kLongPiece;
        const Stats stats = run_pattern(direction, pattern);
        EXPECT_EQ(stats.pieces_gathered, 3U * kOfNode * kLongPieces);
        EXPECT_EQ(stats.pieces_forwarded, 3U * kLongPieces);
    }
}

TEST(Layers, AutoTakesThemFrom512RanksOn) {
    constexpr int kOfLargeNode = 64;
    for (const Direction direction : {Direction::write, Direction::read}) {
        Pattern pattern{"auto", 1, in_turn_of_many};
        pattern.ranks = kMany;
        pattern.of_node = kOfLargeNode;
        const Stats stats = run_pattern(direction, pattern);
        EXPECT_EQ(stats.pieces_forwarded, (kMany / kOfLargeNode - 1) * kPieces);
        pattern.file_of = in_turn;
        pattern.ranks = kRanks;
        pattern.of_node = kOfNode;
        EXPECT_EQ(run_pattern(direction, pattern).pieces_forwarded, 0U);
    }
}

TEST(Layers, ReplaceARequestedMethodThatDoesNotApply) {
    for (const char* const method : {"mmap", "shared_buffer"}) {
        for (const Direction direction : {Direction::write, Direction::read}) {
            Pattern pattern{method, 1, in_turn_of_many};
            pattern.ranks = kMany;
            pattern.of_node = 64;
            EXPECT_EQ(run_pattern(direction, pattern).pieces_forwarded, (kMany / 64 - 1) * kPieces);
        }
    }
}

TEST(Layers, DenseSharesOfANodeSendNoList) {
    const Stats stats = run_pattern(Direction::write, {"two_layer", 1, in_turn_on_nodes});
    EXPECT_EQ(stats.pieces_gathered, 3U * kOfNode * kPieces);
    EXPECT_EQ(stats.pieces_forwarded, 3U) << "a piece of each node";
    constexpr std::uint64_t kHead = sizeof(MessageHead);
    // Upper bounds for run tables of one run. Its place takes 4 bytes and its length 3.
    constexpr std::uint64_t kRun = 8;
    constexpr std::uint64_t kStrided = 8;  // a table with one strided run
    EXPECT_LE(stats.message_bytes,
              3U * kOfNode * kEach + 3 * (kHead + kRun) +  // messages to the aggregator
                  12U * kEach + 12 * (kHead + kStrided));  // messages to local aggregators
}

TEST(Layers, DataThatAllRanksOfANodeReadIsRequestedOnce) {
    const Stats one = run_pattern(Direction::read, {"two_phase", 0, all_alike});
    EXPECT_EQ(one.bytes_placed, (kRanks - 1) * static_cast<std::uint64_t>(kEach));
    const Stats two = run_pattern(Direction::read, {"two_layer", 1, all_alike});
    EXPECT_EQ(two.pieces_forwarded, 3U * kPieces);
    // The aggregator sends the data to each other rank of its own node.
    const std::uint64_t on_the_node = (kOfNode - 1) * kEach;
    EXPECT_EQ(two.bytes_placed, 3U * kEach + on_the_node);
}

TEST(Layers, ADenseShareIsSentFromWhereTheRanksOfTheNodePutIt) {
    const Stats write = run_pattern(Direction::write, {"two_layer_shared", 1, in_turn_on_nodes});
    EXPECT_EQ(write.local_messages, 0U);
    EXPECT_EQ(to_aggregator(write), kNodes - 1U);
    EXPECT_EQ(write.pieces_forwarded, 3U) << "a piece of each node";
    EXPECT_EQ(write.bytes_packed + write.bytes_merged, 0U) << "no copy at the sender";
    EXPECT_EQ(write.bytes_shared, static_cast<std::uint64_t>(kRanks * kEach))
        << "each byte is copied once";
    const Stats read = run_pattern(Direction::read, {"two_layer_shared", 1, in_turn_on_nodes});
    EXPECT_EQ(read.local_messages, 0U);
    EXPECT_EQ(to_aggregator(read), 2 * (kNodes - 1U));
    EXPECT_EQ(read.bytes_packed + read.bytes_merged, 0U);
    EXPECT_EQ(read.bytes_shared, static_cast<std::uint64_t>(kRanks * kEach));
}

TEST(Layers, SparseSharesAreSentAsMessages) {
    const Stats shared = run_pattern(Direction::write, {"two_layer_shared", 1, in_turn});
    EXPECT_EQ(shared.local_messages, static_cast<std::uint64_t>(kRanks - kNodes));
    EXPECT_EQ(shared.pieces_forwarded, 3U * kPieces);
}

// Each region has many extents, all shorter than a window.
TEST(Layers, EveryByteIsMovedWhereBlocksOfTheDomainsAreShorterThanWindows) {
    constexpr Bytes kShort = 203;
    for (const DomainsChoice domains : {DomainsChoice::cyclic, DomainsChoice::stripes}) {
        for (const Direction direction : {Direction::write, Direction::read}) {
            Pattern pattern{"two_layer_shared", 1, in_turn_on_nodes, 3};
            pattern.domains = domains;
            pattern.unit = kShort;
            run_pattern(direction, pattern);
        }
    }
}

TEST(Layers, AFileMayEndAnywhereInWhatRanksReadInTurn) {
    for (Offset end = kRanks * kEach - 3 * kPiece * kRanks; end < kRanks * kEach; end += 57) {
        for (const char* const method : {"two_layer", "two_layer_shared"}) {
            for (const auto file_of : {in_turn, in_turn_on_nodes})
                run_pattern(Direction::read, {method, 1, file_of, 2, end});
        }
    }
}

/// If another rank is the local aggregator of an aggregator, the aggregator gets its own data
/// through that rank.
TEST(Layers, AnAggregatorMayBeServedByAnother) {
    for (const char* const method : {"two_layer", "two_layer_shared"}) {
        for (const auto file_of : {in_turn, in_turn_on_nodes}) {
            run_pattern(Direction::write, {method, 1, file_of, kRanks});
            run_pattern(Direction::read, {method, 2, file_of, kRanks});
        }
    }
}

}  // namespace
}  // namespace oratorio::test::layers_test
