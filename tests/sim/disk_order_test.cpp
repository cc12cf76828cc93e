// SPDX-License-Identifier: BSD-3-Clause
// Disk-directed I/O (Kotz 1994, in Nitzberg & Fineberg 1995): requests go to storage block after
// block, in the order of the blocks on the device. The first aggregator queries that order.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/run.hpp"
#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/same_bytes.hpp"
#include "support/sim_transport.hpp"
#include "support/watched_run.hpp"

namespace oratorio::test::disk_order_test {
namespace {

constexpr int kRanks = 4;
constexpr Bytes kBlock = 16 << 10;
constexpr std::int64_t kBlocks = 12;  // number of the file's blocks; the last block is short
constexpr Bytes kPiece = 64;
constexpr Bytes kEach = (kBlocks * kBlock - 8192) / kRanks;  // data bytes of each rank

/// A store that records the offset of each request.
class ToldStore final : public MemoryStore {
  public:
    ToldStore(MemoryDisk& disk, const MemoryStoreOptions& options, std::vector<Offset>& told)
        : MemoryStore(disk, options), disk_(disk), options_(options), told_(told) {}
    Submitted submit(const IoRequest& request) override {
        const Submitted how = MemoryStore::submit(request);
        if (how != Submitted::full) told_.push_back(request.offset);
        return how;
    }
    Result<std::unique_ptr<Store>> duplicate() override {
        return std::unique_ptr<Store>(std::make_unique<ToldStore>(disk_, options_, told_));
    }

  private:
    MemoryDisk& disk_;
    MemoryStoreOptions options_;
    std::vector<Offset>& told_;
};

struct Setting {
    Direction direction = Direction::write;
    int aggregators = 1;
    int ranks_per_node = 0;
    std::vector<DiskExtent> places;  ///< the places of the blocks that the first aggregator's store
                                     ///< reports
    std::vector<DiskExtent> of_others = {};
    int accesses = 1;
    std::uint64_t seed = 1;
};

struct Seen {
    /// For each rank, the offsets of the requests to its store.
    std::vector<std::vector<Offset>> offsets{kRanks};
    std::vector<Stats> stats{kRanks};
    std::vector<std::string> plans;
};

std::byte value_at(Offset at) {
    return static_cast<std::byte>(1 + at / 64 * 7 % 250);
}

Layout file_of(Rank rank) {
    return {Shape::run(kPiece), kRanks * kPiece, rank * kPiece, Layout::unbounded};
}

/// Returns the data that a rank writes, and that it must read back.
const std::vector<std::byte>& values_for(Rank rank) {
    return made_once(rank, [&] { return values_of(file_of(rank), kEach, value_at); });
}

const std::vector<std::byte>& all_values() {
    constexpr Bytes kAll = kEach * kRanks;
    static const auto values = values_of({Shape::run(kAll), kAll, 0, 1}, kAll, value_at);
    return values;
}

Access interleaved(Direction direction, Rank rank, std::vector<std::byte>& memory) {
    Access access;
    access.direction = direction;
    access.file = file_of(rank);
    access.memory = {Shape::run(kEach), kEach, 0, 1};
    memory.assign(kEach, std::byte{0});
    if (direction == Direction::write) memory = values_for(rank);
    access.buffer = memory.data();
    return access;
}

Seen run(const Setting& setting, MemoryDisk& disk) {
    Seen seen;
    FlatTerms options;
    options.method = find_method("disk_directed");
    options.striping_unit = kBlock;
    options.cb_nodes = setting.aggregators;
    const SimOptions sim{
        .ranks = kRanks, .seed = setting.seed, .ranks_per_node = setting.ranks_per_node};
    run_ranks(sim, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        const auto index = static_cast<std::size_t>(rank);
        const MemoryStoreOptions store_options{.places =
                                                   rank == 0 ? setting.places : setting.of_others};
        ToldStore store(disk, store_options, seen.offsets[index]);
        PlanRecorder recorder([&](const Plan& plan) {
            if (rank == 1) seen.plans.push_back(explain(plan));
        });
        RankFile file(transport, store, options, seen.stats[index], {.observer = &recorder});
        for (int i = 0; i < setting.accesses; ++i) {
            seen.offsets[index].clear();
            std::vector<std::byte> memory;
            const Access access = interleaved(setting.direction, rank, memory);
            EXPECT_EQ(file.access(access).error.kind, ErrorKind::none);
            if (setting.direction == Direction::read) {
                ASSERT_TRUE(same_bytes(memory, values_for(rank)));
            }
        }
    });
    return seen;
}

/// Returns the places of blocks spread over the device: block b lies at place b * 5 mod 12.
std::vector<DiskExtent> scattered() {
    std::vector<DiskExtent> places;
    for (std::int64_t block = 0; block < kBlocks; ++block)
        places.push_back({{block * kBlock, (block + 1) * kBlock}, block * 5 % kBlocks * kBlock});
    return places;
}

/// Returns the offsets of those blocks whose number is `index` modulo `of`, in the order of the
/// device.
std::vector<Offset> on_device(std::int64_t index, std::int64_t of) {
    std::vector<Offset> offsets;
    for (std::int64_t place = 0; place < kBlocks; ++place) {
        const std::int64_t block = place * 5 % kBlocks;  // 5 is its own inverse modulo 12
        if (block % of == index) offsets.push_back(block * kBlock);
    }
    return offsets;
}

void fill(MemoryDisk& disk) {
    disk.write(0, all_values());
}

void expect_file(const MemoryDisk& disk) {
    ASSERT_TRUE(same_bytes(disk.contents(), all_values()));
}

TEST(DiskOrder, RequestsFollowTheOrderOfTheDevice) {
    for (const Direction direction : {Direction::write, Direction::read}) {
        for (const int per_node : {0, 2}) {
            for (std::uint64_t seed = 1; seed <= 5; ++seed) {
                MemoryDisk disk;
                if (direction == Direction::read) fill(disk);
                const Seen seen = run({.direction = direction,
                                       .ranks_per_node = per_node,
                                       .places = scattered(),
                                       .seed = seed},
                                      disk);
                EXPECT_EQ(seen.offsets[0], on_device(0, 1)) << "seed " << seed;
                EXPECT_NE(seen.plans.at(0).find("order        by location on the device"),
                          std::string::npos);
                EXPECT_EQ(seen.stats[0].rounds, static_cast<std::uint64_t>(kBlocks));
                if (direction == Direction::write) expect_file(disk);
            }
        }
    }
}

TEST(DiskOrder, AllAggregatorsFollowThePlacesThatTheFirstOneQueries) {
    MemoryDisk disk;
    std::vector<DiskExtent> lies = scattered();  // the other ranks' stores report other places,
                                                 // which must not count
    for (DiskExtent& place : lies) place.device = -place.device;
    const Seen seen = run({.aggregators = 2, .places = scattered(), .of_others = lies}, disk);
    EXPECT_EQ(seen.offsets[0], on_device(0, 2));
    EXPECT_EQ(seen.offsets[2], on_device(1, 2)) << "the other aggregator";
    expect_file(disk);
}

TEST(DiskOrder, WithoutPlacesItIsTheOrderOfTheFile) {
    MemoryDisk disk;
    const Seen seen = run({.places = {}, .of_others = scattered()}, disk);
    EXPECT_TRUE(std::ranges::is_sorted(seen.offsets[0]));
    EXPECT_EQ(std::ssize(seen.offsets[0]), kBlocks);
    EXPECT_NE(seen.plans.at(0).find(
                  "order        file order, because locations on the device are unknown"),
              std::string::npos);
    expect_file(disk);
}

/// Kotz, "Disk-directed I/O for MIMD Multiprocessors" (1994): the list has the blocks that hold
/// requested data, not all blocks between the first and the last.
TEST(DiskOrder, OnlyBlocksWithRequestedDataAreMoved) {
    for (const Direction direction : {Direction::read, Direction::write}) {
        MemoryDisk disk;
        fill(disk);
        std::vector<Offset> offsets;
        run_ranks({.ranks = kRanks}, [&](Transport& transport) {
            const Rank rank = transport.topology().rank;
            std::vector<Offset> of_rank;
            ToldStore store(disk, {.places = scattered()}, of_rank);
            FlatTerms options;
            options.method = find_method("disk_directed");
            options.striping_unit = kBlock;
            options.cb_nodes = 1;
            Stats stats;
            RankFile file(transport, store, options, stats);
            // The ranks share every other block evenly.
            constexpr Bytes kPart = kBlock / kRanks;
            std::vector<std::byte> memory(kBlocks / 2 * kPart);
            Access access;
            access.direction = direction;
            access.file = {Shape::run(kPart), 2 * kBlock, rank * kPart, Layout::unbounded};
            access.memory = {Shape::run(std::ssize(memory)), std::ssize(memory), 0, 1};
            access.buffer = memory.data();
            EXPECT_EQ(file.access(access).bytes, std::ssize(memory));
            if (rank == 0) offsets = of_rank;
        });
        std::vector<Offset> even;
        for (const Offset at : on_device(0, 1))
            if (at / kBlock % 2 == 0) even.push_back(at);
        EXPECT_EQ(offsets, even);
    }
}

TEST(DiskOrder, EveryAccessQueriesTheLocationsAgain) {
    MemoryDisk disk;
    fill(disk);
    const Seen seen =
        run({.direction = Direction::read, .places = scattered(), .accesses = 4}, disk);
    EXPECT_EQ(seen.plans.size(), 4U);
    EXPECT_EQ(seen.offsets[0], on_device(0, 1));
}

TEST(DiskOrder, NoHelperSendsTheMessagesWithTheOrder) {
    run_ranks({.ranks = kRanks}, [&](Transport& transport) {
        MemoryDisk disk;
        MemoryStore store(disk, {.places = scattered()});
        FlatTerms options;
        options.method = find_method("disk_directed");
        options.striping_unit = kBlock;
        Stats stats;
        std::vector<std::byte> memory;
        const Access access = interleaved(Direction::write, transport.topology().rank, memory);
        bool planned = false;
        PlanRecorder recorder([&](const Plan&) { planned = true; });
        RankFile file(transport, store, options, stats, {.observer = &recorder});
        oratorio::Run one(file.next_run(), access, true);
        while (!one.sends_messages() && !one.step()) wait_hint(one, transport);
        EXPECT_FALSE(planned) << "it hasn't received the order yet";
        int unrested = 0;
        while (!one.step()) {
            unrested += one.waits_for() ? 0 : 1;
            wait_hint(one, transport);
        }
        EXPECT_LE(unrested, 1) << "other ranks run while it waits";
    });
}

}  // namespace
}  // namespace oratorio::test::disk_order_test
