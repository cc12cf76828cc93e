// SPDX-License-Identifier: BSD-3-Clause
// Messages of disk-directed I/O, counted for each pair of a rank and an aggregator. In Kotz (1994,
// in Nitzberg & Fineberg 1995) one request names the data of all blocks. Here a read requests the
// pieces of each block, and a write sends them without any request.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "exchange/messages/rounds.hpp"
#include "plan/methods.hpp"
#include "sim/file_ranks.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"

namespace oratorio::test::disk_requests_test {
namespace {

constexpr int kRanks = 4;
constexpr Bytes kBlock = 16 << 10;
constexpr int kBlocks = 12;

/// The messages between a rank and an aggregator.
struct Exchanged {
    int contents = 0;  ///< from the rank: how much it wants of a block
    int requests = 0;  ///< from the rank: which pieces it wants of a block
    int pieces = 0;    ///< with data, from the rank (writes) or from the aggregator (reads)
    Bytes bytes_of_requests = 0;

    [[nodiscard]] int messages() const { return contents + requests + pieces; }
    /// Returns how many messages there would be if one request named the data of all blocks.
    [[nodiscard]] int by_one_request() const { return 1 + pieces; }
};

/// Index: rank, then aggregator.
using Pairs = std::array<std::array<Exchanged, kRanks>, kRanks>;

class CountingTransport final : public Lent {
  public:
    CountingTransport(Transport& owner, Direction direction, Pairs& pairs)
        : Lent(owner), reads_(direction == Direction::read), pairs_(pairs) {}
    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override {
        const auto mine = static_cast<std::size_t>(topology().rank);
        const auto other = static_cast<std::size_t>(to);
        const auto kind = static_cast<MessageKind>(tag % 4);
        if (kind == MessageKind::contents) {
            ++pairs_[mine][other].contents;
        } else if (kind == MessageKind::reply) {
            ++pairs_[other][mine].pieces;
        } else if (reads_) {
            ++pairs_[mine][other].requests;
            pairs_[mine][other].bytes_of_requests += data.bytes();
        } else {
            ++pairs_[mine][other].pieces;
        }
        return Lent::send(to, tag, data);
    }

  private:
    bool reads_;
    Pairs& pairs_;
};

/// Rank r has `each` bytes from r * each on, and again after every `period` bytes.
struct Pattern {
    Bytes each = 0;
    Bytes period = 0;
    int pieces = 0;
};
constexpr Pattern kFine{64, 256, kBlocks* kBlock / 256};
constexpr Pattern kOneInABlock{4096, kBlock, kBlocks};
constexpr Pattern kLittle{64, 2 * kBlock, kBlocks / 2};

Pairs exchanged(Direction direction, const Pattern& pattern, int aggregators, Bytes message_bytes) {
    Pairs pairs{};
    MemoryDisk disk;
    if (direction == Direction::read) disk.resize(kBlocks * kBlock);
    FlatTerms options;
    options.method = find_method("disk_directed");
    options.striping_unit = kBlock;
    options.cb_nodes = aggregators;
    options.message_bytes = message_bytes;
    run_ranks({.ranks = kRanks}, [&](Transport& owner) {
        CountingTransport transport(owner, direction, pairs);
        MemoryStore store(disk);
        Stats stats;
        RankFile file(transport, store, options, stats);
        std::vector<std::byte> memory(static_cast<std::size_t>(pattern.pieces * pattern.each));
        Access access;
        access.direction = direction;
        access.file = {Shape::run(pattern.each), pattern.period,
                       transport.topology().rank * pattern.each, Layout::unbounded};
        access.memory = {Shape::run(std::ssize(memory)), std::ssize(memory), 0, 1};
        access.buffer = memory.data();
        EXPECT_EQ(file.access(access).bytes, std::ssize(memory));
    });
    return pairs;
}

struct Expected {
    int contents = 0;
    int requests = 0;
    int pieces = 0;
    int messages = 0;
    int by_one_request = 0;
};

/// Expects the same messages between each of the aggregators and every other rank, and no others.
void expect_exchanged(const Pairs& pairs, const std::vector<std::size_t>& aggregators,
                      const Expected& each) {
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
        for (std::size_t other = 0; other < kRanks; ++other) {
            const Exchanged& seen = pairs[rank][other];
            if (rank == other || std::ranges::find(aggregators, other) == aggregators.end()) {
                EXPECT_EQ(seen.messages(), 0) << rank << ", " << other;
                continue;
            }
            EXPECT_EQ(seen.contents, each.contents) << rank << ", " << other;
            EXPECT_EQ(seen.requests, each.requests) << rank << ", " << other;
            EXPECT_EQ(seen.pieces, each.pieces) << rank << ", " << other;
            EXPECT_EQ(seen.messages(), each.messages) << rank << ", " << other;
            EXPECT_EQ(seen.by_one_request(), each.by_one_request) << rank << ", " << other;
        }
    }
}

constexpr Bytes kLong = 256 << 10;

TEST(DiskRequests, AReadRequestsEachBlockWhereThePaperSendsOneRequest) {
    constexpr auto kRead = Direction::read;
    expect_exchanged(exchanged(kRead, kFine, 1, kLong), {0}, {0, 12, 12, 24, 13});
    expect_exchanged(exchanged(kRead, kFine, 2, kLong), {0, 2}, {0, 6, 6, 12, 7});
    // 4 KiB and their description don't fit into a message of 4 KiB.
    expect_exchanged(exchanged(kRead, kOneInABlock, 1, 4096), {0}, {0, 24, 24, 48, 25});
    // Where little is wanted, the ranks first report how much.
    expect_exchanged(exchanged(kRead, kLittle, 1, kLong), {0}, {6, 6, 6, 18, 7});
}

TEST(DiskRequests, AWriteSendsThePiecesOfEachBlockWithoutARequest) {
    constexpr auto kWrite = Direction::write;
    expect_exchanged(exchanged(kWrite, kFine, 1, kLong), {0}, {0, 0, 12, 12, 13});
    expect_exchanged(exchanged(kWrite, kFine, 2, kLong), {0, 2}, {0, 0, 6, 6, 7});
    expect_exchanged(exchanged(kWrite, kOneInABlock, 1, 4096), {0}, {0, 0, 24, 24, 25});
    expect_exchanged(exchanged(kWrite, kLittle, 1, kLong), {0}, {0, 0, 6, 6, 7});
}

/// An aggregator that had the requests of all blocks at once would hold this much for each rank and
/// block.
TEST(DiskRequests, ARequestHas39BytesIfTheBlocksPiecesAreOneStridedRun) {
    const Pairs pairs = exchanged(Direction::read, kFine, 1, kLong);
    EXPECT_EQ(pairs[3][0].bytes_of_requests, kBlocks * 39);
}

}  // namespace
}  // namespace oratorio::test::disk_requests_test
