// SPDX-License-Identifier: BSD-3-Clause
// Exact counts for several access patterns and methods: messages, their bytes, storage calls and
// bytes copied.
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>

#include "engine/run.hpp"
#include "file/path.hpp"
#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test::counts_test {
namespace {

constexpr int kRanks = 4;
constexpr Bytes kRegionBytes = 128 << 10;  // the buffer of one aggregator with one slot

struct Pattern {
    std::string method = "two_phase";
    DiskCounters* disk = nullptr;  ///< if not null, receives the storage's counters
    int aggregators = 1;           ///< number of aggregators; 0: the number that the method chooses
    bool shares_memory = false;    ///< the ranks of a node share memory
    std::vector<Stats>* of_ranks = nullptr;  ///< if not null, receives each rank's counters
};

/// Runs one collective access of all ranks and returns the sum of their counters.
Stats run_pattern(Direction direction, const std::function<Layout(Rank)>& file_of, Bytes bytes_each,
                  bool file_exists, const Pattern& pattern = {}) {
    MemoryDisk disk;
    if (file_exists) disk.resize(Bytes{1} << 24);
    std::vector<Stats> stats(kRanks);
    FlatTerms options;
    options.method = find_method(pattern.method);
    options.mappable = options.coherent = true;
    options.cb_nodes = pattern.aggregators;
    options.cb_buffer_size = kRegionBytes;
    run_ranks({.ranks = kRanks, .seed = 1}, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        MemoryStore store(disk);
        std::vector<std::byte> memory(static_cast<std::size_t>(bytes_each));
        Access access;
        access.direction = direction;
        access.file = file_of(rank);
        access.memory = {Shape::run(bytes_each), bytes_each, 0, 1};
        access.buffer = memory.data();
        RankFile file(transport, store, options, stats[static_cast<std::size_t>(rank)],
                      {.shares_memory = pattern.shares_memory});
        const Outcome outcome = file.access(access);
        EXPECT_EQ(outcome.error.kind, ErrorKind::none);
        EXPECT_EQ(outcome.bytes, bytes_each);
    });
    if (pattern.disk != nullptr) *pattern.disk = disk.counters();
    Stats sum;
    for (const Stats& one : stats) sum.add(one);
    if (pattern.of_ranks != nullptr) *pattern.of_ranks = std::move(stats);
    return sum;
}

/// Gives each rank every fourth double. The file has 512 KiB, which takes 4 rounds.
Layout interleaved_doubles(Rank rank) {
    return {Shape::run(8), 8 * kRanks, 8 * rank, Layout::unbounded};
}
constexpr Bytes kInterleavedEach = 128 << 10;

/// Cuts a 32 x 64 x 64 array of 4-byte ints into 4 blocks of 32 x 32 x 32. The rows of a block have
/// 128 bytes; the file has 512 KiB, which takes 4 rounds.
Layout block_of_ints(Rank rank) {
    const ShapePtr plane = Shape::strided(Shape::run(128), 32, 256);
    return {Shape::strided(plane, 32, 16384), 32 * 16384, (rank / 2) * 32 * 256 + (rank % 2) * 128,
            1};
}
constexpr Bytes kBlockEach = 128 << 10;

/// Returns the pattern of the HPIO benchmark: regions of 488 bytes with gaps of 256 bytes between
/// them.
Layout regions_with_gaps(Rank rank) {
    return {Shape::run(488), 744 * kRanks, 744 * rank, Layout::unbounded};
}
constexpr Bytes kRegionsEach =
    488 * 176;  // 176 regions of each rank: 523 776 bytes of file, less the last gap

// A message holds 16 KiB: a head, the run table and the data. So the 32 KiB that a rank has in a
// round do not fit into two messages, and take 3. The aggregator's own data takes none.
constexpr std::uint64_t kMessagesOf32KiB = 3;

TEST(Counts, InterleavedDoublesWritten) {
    const Stats stats = run_pattern(Direction::write, interleaved_doubles, kInterleavedEach, false);
    EXPECT_EQ(stats.rounds, 4U);
    EXPECT_EQ(stats.messages_sent, 4U * 3 * kMessagesOf32KiB);
    EXPECT_EQ(stats.storage_calls, 4U);
    EXPECT_EQ(stats.bytes_stored, 4U * kInterleavedEach);
    EXPECT_EQ(stats.bytes_loaded, 0U);
    EXPECT_EQ(stats.hole_reads, 0U);
    EXPECT_EQ(stats.bytes_packed, 3U * kInterleavedEach);
    EXPECT_EQ(stats.bytes_placed, 3U * kInterleavedEach);
    EXPECT_EQ(stats.bytes_shared, 1U * kInterleavedEach) << "the aggregator's own, once";
    // Besides its data, a message has a head of 32 bytes and a table of one strided run, which
    // takes fewer than 12 bytes here whatever the number of pieces.
    EXPECT_LT(stats.message_bytes - 3U * kInterleavedEach, stats.messages_sent * (24 + 20));
}

TEST(Counts, InterleavedDoublesRead) {
    const Stats stats = run_pattern(Direction::read, interleaved_doubles, kInterleavedEach, true);
    EXPECT_EQ(stats.messages_sent, 2U * 4 * 3 * kMessagesOf32KiB);  // a request and a reply for
                                                                    // each message
    EXPECT_EQ(stats.storage_calls, 4U);
    EXPECT_EQ(stats.bytes_loaded, 4U * kInterleavedEach);
    EXPECT_EQ(stats.bytes_packed, 3U * kInterleavedEach);
    EXPECT_EQ(stats.bytes_placed, 3U * kInterleavedEach);
    EXPECT_EQ(stats.bytes_shared, 1U * kInterleavedEach) << "the aggregator's own, once";
}

TEST(Counts, TheBlockTargetIsOneCallOfEachRank) {
    for (const Direction direction : {Direction::write, Direction::read}) {
        const bool reads = direction == Direction::read;
        DiskCounters disk;
        const Stats stats = run_pattern(direction, interleaved_doubles, kInterleavedEach, reads,
                                        {"cb_block", &disk, 0});
        EXPECT_EQ(stats.rounds, 1U * kRanks);
        EXPECT_EQ(reads ? disk.reads : disk.writes, 1U * kRanks);
        EXPECT_EQ(stats.storage_calls, 1U * kRanks);
        // Each rank has 32 KiB in each of the four parts of the file. It aggregates one of the
        // parts itself, so that this data takes no message.
        EXPECT_EQ(stats.messages_sent,
                  (reads ? 2U : 1U) * kRanks * (kRanks - 1) * kMessagesOf32KiB);
        EXPECT_EQ(stats.bytes_shared, 1U * kInterleavedEach);
    }
}

TEST(Counts, ThreeDimensionalBlockWritten) {
    const Stats stats = run_pattern(Direction::write, block_of_ints, kBlockEach, false);
    EXPECT_EQ(stats.rounds, 4U);
    EXPECT_EQ(stats.messages_sent, 4U * 3 * kMessagesOf32KiB);
    EXPECT_EQ(stats.storage_calls, 4U);
    EXPECT_EQ(stats.bytes_stored, 4U * kBlockEach);
    EXPECT_EQ(stats.bytes_packed, 3U * kBlockEach);
    EXPECT_EQ(stats.bytes_placed, 3U * kBlockEach);
    EXPECT_EQ(stats.bytes_shared, 1U * kBlockEach) << "the aggregator's own, once";
    EXPECT_EQ(stats.hole_reads, 0U);
}

TEST(Counts, RegionsWithGapsWritten) {
    const Stats stats = run_pattern(Direction::write, regions_with_gaps, kRegionsEach, true);
    constexpr Bytes file_bytes = Bytes{744} * kRanks * 176 - 256;
    constexpr std::uint64_t rounds = 8;  // half of the buffer holds the write mask, so that there
                                         // are twice as many rounds
    EXPECT_EQ(stats.rounds, rounds);
    EXPECT_EQ(stats.hole_reads, rounds);
    EXPECT_EQ(stats.storage_calls, 2 * rounds);
    EXPECT_EQ(stats.bytes_loaded, static_cast<std::uint64_t>(stats.bytes_stored));
    EXPECT_LE(stats.bytes_stored, static_cast<std::uint64_t>(file_bytes));
    EXPECT_GT(stats.bytes_stored, static_cast<std::uint64_t>(file_bytes) - rounds * 256);
    // Each rank but the aggregator sends its 11 KiB of a round in one message, without a request.
    EXPECT_EQ(stats.messages_sent, rounds * 3);
    EXPECT_EQ(stats.bytes_packed, 3U * kRegionsEach);
    EXPECT_EQ(stats.bytes_placed, 3U * kRegionsEach);
    EXPECT_EQ(stats.bytes_shared, 1U * kRegionsEach) << "the aggregator's own, once";
}

// A message whose data is not packed has at most 16 KiB / 64 = 256 pieces. A rank has 256 rows in a
// round, so that one message holds them.
TEST(Counts, GatheredMessagesAreOneForEachPairAndRoundAndNothingIsPacked) {
    for (const Direction direction : {Direction::write, Direction::read}) {
        const bool reads = direction == Direction::read;
        const Stats stats =
            run_pattern(direction, block_of_ints, kBlockEach, reads, {.method = "cb_gather"});
        EXPECT_EQ(stats.rounds, 4U);
        EXPECT_EQ(stats.messages_sent - stats.table_messages, 4U * 3);
        EXPECT_EQ(stats.table_messages, 4U * 3);
        EXPECT_EQ(stats.bytes_packed, 0U);
        EXPECT_EQ(stats.bytes_placed, 0U);
        EXPECT_EQ(stats.bytes_straight, 3U * kBlockEach);
        EXPECT_EQ(stats.bytes_shared, 1U * kBlockEach) << "the aggregator's own, once";
        EXPECT_EQ(stats.storage_calls, 4U);
    }
}

TEST(Counts, GatheredMessagesOfMorePiecesThanOneMayHaveAreSeveral) {
    const Stats stats = run_pattern(Direction::write, interleaved_doubles, kInterleavedEach, false,
                                    {.method = "cb_gather"});
    constexpr std::uint64_t of_a_pair = kInterleavedEach / 4 / 8 / 256;  // messages of each pair of
                                                                         // ranks in a round
    EXPECT_EQ(stats.messages_sent - stats.table_messages, 4U * 3 * of_a_pair);
    EXPECT_EQ(stats.table_messages, 4U * 3 * of_a_pair);
    EXPECT_EQ(stats.bytes_straight, 3U * kInterleavedEach);
    EXPECT_EQ(stats.bytes_packed + stats.bytes_placed, 0U);
}

TEST(Counts, GatheredMessagesKeepHolesAndPackNothing) {
    const Stats stats = run_pattern(Direction::write, regions_with_gaps, kRegionsEach, true,
                                    {.method = "cb_gather"});
    EXPECT_EQ(stats.rounds, 8U) << "half of the buffer holds the write mask";
    EXPECT_EQ(stats.hole_reads, 8U);
    EXPECT_EQ(stats.messages_sent - stats.table_messages, 8U * 3);
    EXPECT_EQ(stats.bytes_straight, 3U * kRegionsEach);
    EXPECT_EQ(stats.bytes_packed + stats.bytes_placed, 0U);
}

/// Gives each rank two blocks of 1 KiB, 1 MiB apart. The blocks of all ranks lie side by side.
Layout far_blocks(Rank rank) {
    return {Shape::strided(Shape::run(1024), 2, 1 << 20), Bytes{2} << 20, 1024 * rank, 1};
}
constexpr Bytes kFarEach = 2048;

// Half of the aggregator's buffer holds the write mask, so that the file takes 17 rounds.
TEST(Counts, SparseWritesUseOnlyRanksWithData) {
    const Stats dense = run_pattern(Direction::write, far_blocks, kFarEach, true);
    EXPECT_EQ(dense.rounds, 17U);
    EXPECT_EQ(dense.messages_sent, 17U * 3);
    const Stats sparse =
        run_pattern(Direction::write, far_blocks, kFarEach, true, {.method = "sparse"});
    EXPECT_EQ(sparse.rounds, 2U);
    EXPECT_EQ(sparse.messages_sent, 2U * 3 + 3) << "and each rank gets the outcome";
    EXPECT_EQ(sparse.bytes_placed, 3U * kFarEach);
}

TEST(Counts, SparseReadsQueryOnlyRanksWithData) {
    const Stats dense = run_pattern(Direction::read, far_blocks, kFarEach, true);
    EXPECT_EQ(dense.rounds, 9U);
    EXPECT_EQ(dense.messages_sent, 9U * 3 * 3) << "contents, a request and a reply";
    const Stats sparse =
        run_pattern(Direction::read, far_blocks, kFarEach, true, {.method = "sparse"});
    EXPECT_EQ(sparse.rounds, 2U);
    EXPECT_EQ(sparse.messages_sent, 2U * 3 * 3 + 3);
    EXPECT_EQ(sparse.bytes_loaded, 4U * kFarEach);
}

/// Hastings and Choudhary (2006), "collective shared data": aggregators copy from and to the memory
/// of the other ranks, which make no copy and send no message.
TEST(Counts, OnlyAggregatorsReachIntoTheMemoryOfOtherRanks) {
    for (const Direction direction : {Direction::write, Direction::read}) {
        std::vector<Stats> of_ranks;
        const Stats stats = run_pattern(
            direction, interleaved_doubles, kInterleavedEach, direction == Direction::read,
            {.method = "shared_data", .shares_memory = true, .of_ranks = &of_ranks});
        EXPECT_EQ(stats.messages_sent, 0U);
        EXPECT_EQ(stats.bytes_packed, 0U);
        EXPECT_EQ(of_ranks[0].bytes_reached, (kRanks - 1U) * kInterleavedEach);
        EXPECT_EQ(stats.bytes_reached, of_ranks[0].bytes_reached);
        EXPECT_EQ(stats.bytes_shared, of_ranks[0].bytes_shared) << "its own data";
    }
}

TEST(Counts, AMappedCollectiveWriteLengthensTheFileOnce) {
    DiskCounters disk;
    run_pattern(Direction::write, interleaved_doubles, kInterleavedEach, false, {"mmap", &disk});
    EXPECT_EQ(disk.maps, 1 + kRanks) << "one rank maps the last page, then each a window";
}

/// Returns pieces of half a page, each with a hole of almost a page after it.
Layout pieces_in_every_page(Rank rank) {
    return {Shape::run(kPage / 2), kPage * 3 / 2 - 1, rank * (Offset{1} << 20), Layout::unbounded};
}

/// Returns pieces of a MiB, each with a hole of the same length after it.
Layout long_pieces_and_holes(Rank rank) {
    return {Shape::run(1 << 20), 2 << 20, rank * (Offset{1} << 23), Layout::unbounded};
}

/// Returns two pages of small pieces, a hole of 100 pages, and a last page of small pieces.
Layout small_pieces_and_a_hole(Rank rank) {
    const ShapePtr dense = Shape::strided(Shape::run(1), kPage / 2, 2);
    return {Shape::blocks(dense, {0, kPage, 102 * kPage}), 0, rank * (Offset{1} << 20), 1};
}

TEST(Counts, AMappedWritePopulatesOnlyMappingsWhoseEveryPageItTouches) {
    const struct {
        Layout (*file_of)(Rank);
        Bytes bytes_each;
        bool populates;
    } patterns[] = {{interleaved_doubles, kInterleavedEach, true},
                    {pieces_in_every_page, 40 * kPage, true},
                    {long_pieces_and_holes, 4 << 20, false},
                    {small_pieces_and_a_hole, 3 * kPage / 2, false}};
    for (const auto& [file_of, bytes_each, populates] : patterns) {
        DiskCounters disk;
        run_pattern(Direction::write, file_of, bytes_each, false, {"mmap", &disk});
        EXPECT_EQ(disk.populating_maps, populates ? disk.maps - 1 : 0U)
            << "the first mapping makes the file longer";
    }
    DiskCounters disk;
    run_pattern(Direction::read, interleaved_doubles, kInterleavedEach, true, {"mmap", &disk});
    EXPECT_EQ(disk.populating_maps, 0U);
}

/// On tmpfs, populating a page allocates storage for it.
TEST(Counts, AHoleOfAMappedWriteGetsNoStorage) {
    constexpr const char* kFolder = "/dev/shm";
    if (file_system_type(kFolder) != TMPFS_MAGIC) GTEST_SKIP() << kFolder << " is not a tmpfs";
    const std::string path = std::string(kFolder) + "/oratorio-" + std::to_string(::getpid());
    constexpr Bytes kEach = 2 << 20;
    FlatTerms options;
    options.method = find_method("mmap");
    options.mappable = options.coherent = true;
    run_ranks({.ranks = 1, .seed = 1}, [&](Transport& transport) {
        auto store = open_posix(path, {.read = true, .write = true, .create = true});
        ASSERT_TRUE(store.ok());
        std::vector<std::byte> memory(static_cast<std::size_t>(kEach), std::byte{1});
        Access access;
        access.direction = Direction::write;
        access.file = long_pieces_and_holes(0);
        access.memory = {Shape::run(kEach), kEach, 0, 1};
        access.buffer = memory.data();
        Stats stats;
        RankFile file(transport, **store, options, stats);
        EXPECT_EQ(file.access(access).error.kind, ErrorKind::none);
    });
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    ::unlink(path.c_str());
    EXPECT_EQ(status.st_size, 3 << 20);
    EXPECT_EQ(status.st_blocks * 512, kEach);
}

TEST(Counts, APlainAccessOfOneRankIsOneStorageCallAndNoCopy) {
    for (const Direction direction : {Direction::write, Direction::read}) {
        MemoryDisk disk;
        disk.resize(2 << 20);
        Stats stats;
        std::uint64_t estimated = 0;
        run_ranks({.ranks = 1, .seed = 1}, [&](Transport& transport) {
            MemoryStore store(disk);
            std::vector<std::byte> memory(1 << 20);
            Access access;
            access.direction = direction;
            access.file = {Shape::run(1), 1, 4096, Layout::unbounded};
            access.memory = {Shape::run(1 << 20), 1 << 20, 0, 1};
            access.buffer = memory.data();
            const FlatTerms options;
            RankFile file(transport, store, options, stats);
            EXPECT_EQ(file.access(access, false).error.kind, ErrorKind::none);
            const AccessSummary mine = summarise(access, direction == Direction::write);
            const Plan plan = make_own_plan(direction, 0, mine, PlanConfig{options, options});
            estimated = static_cast<std::uint64_t>(std::llround(plan.seconds() * 1e9));
        });
        EXPECT_GT(estimated, 0U);
        EXPECT_EQ(stats.storage_calls, 1U);
        EXPECT_EQ(stats.bytes_packed, 0U);
        EXPECT_EQ(stats.bytes_placed, 0U);
        EXPECT_EQ(stats.bytes_stored + stats.bytes_loaded, 1U << 20);
        EXPECT_EQ(stats.estimated_time, estimated);
    }
}

}  // namespace
}  // namespace oratorio::test::counts_test
