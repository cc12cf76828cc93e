// Reads through sub-buffers that a node shares: whoever is free fills them, so that a rank that is
// late keeps nobody from the storage, and each byte is read from there once.
#include <gtest/gtest.h>

#include "run/run.hpp"
#include "support/memory_store.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test {
namespace {

constexpr int kRanks = 4;
constexpr Bytes kPiece = 64;
constexpr Bytes kBytes = 64 << 10;  // of a rank

std::byte value_at(Offset at) {
    return static_cast<std::byte>(1 + at * 7 % 250);
}

struct Reading {
    std::vector<Stats> stats{kRanks};
    std::vector<Outcome> outcomes{kRanks};
    std::vector<std::vector<std::byte>> memory{kRanks};
};

/// Every rank reads each kRanks-th piece, twice. `late` (if any) begins the second time when the
/// others have loaded everything; `store_options` are those of a rank.
template <class StoreOptions>
Reading read_interleaved(const PlanOptions& options, MemoryDisk& disk, Rank late,
                         StoreOptions store_options, std::uint64_t seed = 1) {
    Reading reading;
    run_ranks({.ranks = kRanks, .seed = seed}, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        const auto index = static_cast<std::size_t>(rank);
        MemoryStore store(disk, store_options(rank));
        BufferPool buffers;
        NodeMemory node;
        PlanCache plans;
        const Layout file{Shape::run(kPiece), kRanks * kPiece, rank * kPiece, Layout::unbounded};
        unsigned sequence = 0;
        for (const bool counted : {false, true}) {  // the first makes the plan that is kept
            reading.stats[index] = {};
            reading.memory[index].assign(static_cast<std::size_t>(kBytes), std::byte{0});
            Access access;
            access.direction = Direction::read;
            access.file = file;
            access.memory = {Shape::run(kBytes), kBytes, 0, 1};
            access.buffer = reading.memory[index].data();
            RunContext context{transport, &store, options, reading.stats[index], buffers};
            context.sequence = sequence++;
            context.node = &node;
            context.plans = &plans;
            while (counted && rank == late && disk.counters().bytes_read < 2 * kRanks * kBytes)
                transport.idle();
            reading.outcomes[index] = run_access(context, access, true);
        }
    });
    return reading;
}

MemoryDisk full_disk() {
    MemoryDisk disk;
    std::vector<std::byte> bytes(static_cast<std::size_t>(kRanks * kBytes));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = value_at(static_cast<Offset>(i));
    disk.write(0, bytes);
    return disk;
}

PlanOptions one_aggregator(const char* method, Bytes sub_buffer, int slots) {
    PlanOptions options;
    options.method = method;
    options.cb_nodes = 1;
    options.sub_buffer = sub_buffer;
    options.slots = slots;
    return options;
}

void expect_read(const Reading& reading) {
    for (Rank rank = 0; rank < kRanks; ++rank) {
        const auto index = static_cast<std::size_t>(rank);
        EXPECT_EQ(reading.outcomes[index].error.kind, ErrorKind::none);
        EXPECT_EQ(reading.outcomes[index].bytes, kBytes);
        for (Bytes i = 0; i < kBytes; ++i) {
            const Offset at = (i / kPiece * kRanks + rank) * kPiece + i % kPiece;
            ASSERT_EQ(reading.memory[index][static_cast<std::size_t>(i)], value_at(at))
                << "rank " << rank << ", byte " << i;
        }
    }
}

class SharedRead : public testing::TestWithParam<const char*> {};

TEST_P(SharedRead, AnAggregatorThatIsLateKeepsNobodyFromTheStorage) {
    MemoryDisk disk = full_disk();
    const Rank aggregator = 0;
    const auto reading = read_interleaved(one_aggregator(GetParam(), 64 << 10, 4), disk, aggregator,
                                          [](Rank) { return MemoryStoreOptions{}; });
    expect_read(reading);
    EXPECT_EQ(reading.stats[0].rounds, 0U);
    EXPECT_EQ(reading.stats[1].rounds + reading.stats[2].rounds + reading.stats[3].rounds, 4U);
}

TEST_P(SharedRead, EveryByteIsLoadedOnceWhoeverLoadsIt) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        MemoryDisk disk = full_disk();
        PlanOptions options = one_aggregator(GetParam(), 4096, 1 + static_cast<int>(seed % 3));
        options.cb_nodes = 1 + static_cast<int>(seed % 4);
        const auto reading = read_interleaved(
            options, disk, -1, [](Rank) { return MemoryStoreOptions{}; }, seed);
        expect_read(reading);
        EXPECT_EQ(disk.counters().bytes_read, 2U * kRanks * kBytes);
        std::uint64_t loaded = 0;
        for (const Stats& stats : reading.stats) loaded += stats.bytes_loaded;
        EXPECT_EQ(loaded, static_cast<std::uint64_t>(kRanks * kBytes));
    }
}

TEST_P(SharedRead, WhoeverFailsToLoadAllRanksLearnOfIt) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        MemoryDisk disk = full_disk();
        const Rank broken = static_cast<Rank>(seed % kRanks);
        const auto reading = read_interleaved(
            one_aggregator(GetParam(), 4096, 1), disk, -1,
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
}  // namespace oratorio::test
