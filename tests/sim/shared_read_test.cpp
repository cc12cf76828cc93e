// SPDX-License-Identifier: BSD-3-Clause
// Reads through sub-buffers that the ranks of a node share. Any rank that is free fills a
// sub-buffer, and each byte is loaded once, so that a late rank holds up only the regions that
// contain data of its own.
#include <gtest/gtest.h>

#include <climits>

#include "engine/run.hpp"
#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/same_bytes.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test::shared_read_test {
namespace {

constexpr int kRanks = 4;
constexpr Bytes kPiece = 64;
constexpr Bytes kBytes = 64 << 10;  // bytes that each rank reads

std::byte value_at(Offset at) {
    return static_cast<std::byte>(1 + at * 7 % 250);
}

struct Reading {
    std::vector<Stats> stats{kRanks};
    std::vector<Outcome> outcomes{kRanks};
    std::vector<std::vector<std::byte>> memory{kRanks};
};

enum class Data { interleaved, apart };

Layout file_of(Data data, Rank rank) {
    if (data == Data::apart) return {Shape::run(kBytes), kBytes, rank * kBytes, 1};
    return {Shape::run(kPiece), kRanks * kPiece, rank * kPiece, Layout::unbounded};
}

/// A rank that begins the second read late: once `loaded` bytes have been loaded, including those
/// of the first read, or after `looks` idle calls.
struct Late {
    Rank rank = -1;
    std::uint64_t loaded = 0;
    int looks = INT_MAX;
    std::uint64_t found = 0;  ///< bytes loaded when the late rank began
};

/// Makes every rank read its data twice. `store_options` returns the options of a rank's store.
template <class StoreOptions>
Reading read_twice(Data data, const FlatTerms& options, MemoryDisk& disk, Late& late,
                   StoreOptions store_options, std::uint64_t seed = 1) {
    Reading reading;
    run_ranks({.ranks = kRanks, .seed = seed}, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        const auto index = static_cast<std::size_t>(rank);
        MemoryStore store(disk, store_options(rank));
        RankFile file(transport, store, options, reading.stats[index], {.shares_memory = true});
        const Layout layout = file_of(data, rank);
        // The first read makes the plan, which the second read takes from the cache. Only the
        // second read is counted.
        for (const bool counted : {false, true}) {
            reading.stats[index] = {};
            reading.memory[index].assign(static_cast<std::size_t>(kBytes), std::byte{0});
            Access access;
            access.direction = Direction::read;
            access.file = layout;
            access.memory = {Shape::run(kBytes), kBytes, 0, 1};
            access.buffer = reading.memory[index].data();
            if (counted && rank == late.rank) {
                for (int look = 0; look < late.looks && disk.counters().bytes_read < late.loaded;
                     ++look)
                    transport.idle();
                late.found = disk.counters().bytes_read;
            }
            reading.outcomes[index] = file.access(access);
        }
    });
    return reading;
}

const std::vector<std::byte>& all_values() {
    constexpr Bytes kAll = kRanks * kBytes;
    static const auto values = values_of({Shape::run(kAll), kAll, 0, 1}, kAll, value_at);
    return values;
}

/// Returns the data that a rank must read.
const std::vector<std::byte>& values_for(Data data, Rank rank) {
    return made_once(std::pair(data, rank),
                     [&] { return values_of(file_of(data, rank), kBytes, value_at); });
}

MemoryDisk full_disk() {
    MemoryDisk disk;
    disk.write(0, all_values());
    return disk;
}

FlatTerms one_aggregator(const char* method, Bytes sub_buffer, int slots) {
    FlatTerms options;
    options.method = find_method(method);
    options.cb_nodes = 1;
    options.sub_buffer = sub_buffer;
    options.slots = slots;
    return options;
}

void expect_read(const Reading& reading, Data data = Data::interleaved) {
    for (Rank rank = 0; rank < kRanks; ++rank) {
        const auto index = static_cast<std::size_t>(rank);
        EXPECT_EQ(reading.outcomes[index].error.kind, ErrorKind::none);
        EXPECT_EQ(reading.outcomes[index].bytes, kBytes);
        ASSERT_TRUE(same_bytes(reading.memory[index], values_for(data, rank))) << "rank " << rank;
    }
}

class SharedRead : public testing::TestWithParam<const char*> {};

TEST_P(SharedRead, AnAggregatorThatIsLateKeepsNobodyFromRegionsWithoutItsData) {
    MemoryDisk disk = full_disk();
    Late aggregator{.rank = 0, .loaded = 2 * kRanks * kBytes - kBytes};
    const auto reading = read_twice(Data::apart, one_aggregator(GetParam(), 64 << 10, 4), disk,
                                    aggregator, [](Rank) { return MemoryStoreOptions{}; });
    expect_read(reading, Data::apart);
    EXPECT_EQ(aggregator.found, aggregator.loaded);
}

// The late rank may write to the file just before it enters the read, which must return those
// bytes.
TEST_P(SharedRead, NothingIsLoadedBeforeARankWithDataThereHasEntered) {
    for (Rank rank = 0; rank < kRanks; ++rank) {
        MemoryDisk disk = full_disk();
        Late late{.rank = rank, .loaded = UINT64_MAX, .looks = 300};
        const auto reading = read_twice(Data::interleaved, one_aggregator(GetParam(), 4096, 4),
                                        disk, late, [](Rank) { return MemoryStoreOptions{}; });
        expect_read(reading);
        EXPECT_EQ(late.found, static_cast<std::uint64_t>(kRanks * kBytes)) << "rank " << rank;
    }
}

TEST_P(SharedRead, EveryByteIsLoadedOnceByAnyRank) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        MemoryDisk disk = full_disk();
        FlatTerms options = one_aggregator(GetParam(), 4096, 1 + static_cast<int>(seed % 3));
        options.cb_nodes = 1 + static_cast<int>(seed % 4);
        Late nobody;
        const auto reading = read_twice(
            Data::interleaved, options, disk, nobody, [](Rank) { return MemoryStoreOptions{}; },
            seed);
        expect_read(reading);
        EXPECT_EQ(disk.counters().bytes_read, 2U * kRanks * kBytes);
        std::uint64_t loaded = 0;
        for (const Stats& stats : reading.stats) loaded += stats.bytes_loaded;
        EXPECT_EQ(loaded, static_cast<std::uint64_t>(kRanks * kBytes));
    }
}

TEST_P(SharedRead, AllRanksLearnOfAFailedLoad) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        MemoryDisk disk = full_disk();
        const Rank broken = static_cast<Rank>(seed % kRanks);
        Late nobody;
        const auto reading = read_twice(
            Data::interleaved, one_aggregator(GetParam(), 4096, 1), disk, nobody,
            [&](Rank rank) {
                MemoryStoreOptions options;
                if (rank == broken) options.bad_reads = {100 << 10, kRanks * kBytes};
                return options;
            },
            seed);
        const ErrorKind first = reading.outcomes[0].error.kind;
        Bytes missing = 0;
        for (Rank rank = 0; rank < kRanks; ++rank) {
            const Outcome& outcome = reading.outcomes[static_cast<std::size_t>(rank)];
            EXPECT_EQ(outcome.error.kind, first);
            missing += kBytes - outcome.bytes;
        }
        EXPECT_EQ(first == ErrorKind::none, missing == 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Methods, SharedRead,
                         testing::Values("shared_buffer", "shared_buffer_list"));

}  // namespace
}  // namespace oratorio::test::shared_read_test
