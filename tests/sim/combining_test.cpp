// SPDX-License-Identifier: BSD-3-Clause
// Data shipping in collective accesses (Prost et al. 2001): each agent combines the requests of all
// ranks for its file blocks (section 2.1), prefetches for them (2.3) and, with the sparse hint,
// communicates only with ranks that have data there (2.4.1). No other rank makes a storage call or
// takes a lock.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "engine/run.hpp"
#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/sim_transport.hpp"
#include "support/watched_prefetch.hpp"
#include "support/watched_run.hpp"

namespace oratorio::test::combining_test {
namespace {

constexpr int kRanks = 4;
constexpr Bytes kPiece = 1 << 10;
constexpr Bytes kBlock = 256 << 10;
constexpr Bytes kFile = 4 << 20;
constexpr std::uint64_t kBlocks = kFile / kBlock;

/// The results of one rank, and how its plan overlaps storage with the exchange.
struct Done {
    Outcome outcome;
    Stats stats;
    std::optional<WatchedPrefetch> prefetch;
    std::atomic<int> requests = 0;  ///< storage requests of this rank's store and its duplicate
    std::atomic<int> locks = 0;
    Overlap overlap = Overlap::none;
    int slots = 0;
    bool same_bytes = true;

    [[nodiscard]] bool used_storage() const { return requests > 0 || locks > 0; }
};

/// A store that counts the requests and the locks of a rank.
class RankStore final : public MemoryStore {
  public:
    RankStore(MemoryDisk& disk, Done& done, const MemoryStoreOptions& options)
        : MemoryStore(disk, options), disk_(disk), done_(done), options_(options) {}
    Submitted submit(const IoRequest& request) override {
        const Submitted how = MemoryStore::submit(request);
        done_.requests += how != Submitted::full ? 1 : 0;
        return how;
    }
    Result<void> lock(Extent range, bool lock, bool exclusive) override {
        done_.locks += lock ? 1 : 0;
        return MemoryStore::lock(range, lock, exclusive);
    }
    Result<std::unique_ptr<Store>> duplicate() override {
        return std::unique_ptr<Store>(std::make_unique<RankStore>(disk_, done_, options_));
    }

  private:
    MemoryDisk& disk_;
    Done& done_;
    MemoryStoreOptions options_;
};

/// A collective access of four ranks. The pieces of `ranks_in_turn` ranks alternate in the file.
/// Only ranks 0 to 3 exist, so the pieces of further ranks are holes.
struct Setting {
    Direction direction = Direction::write;
    int ranks_in_turn = kRanks;
    Bytes file = kFile;  ///< bytes of the file that the pieces and the holes cover
    FlatTerms terms = {};
    MemoryStoreOptions store = {};
};

FlatTerms combining() {
    FlatTerms terms;
    terms.method = find_method("data_shipping");
    terms.agents = {.ranks = {0, 2}, .threads = 2, .block = kBlock, .message = 256 << 10};
    terms.cb_buffer_size = 4 << 20;
    return terms;
}

std::byte written_by(Rank rank) {
    return static_cast<std::byte>(0x80 | rank);
}

/// Runs the access. After a write without an error, checks that every piece holds its rank's bytes
/// and every hole old ones.
std::vector<Done> run(const Setting& setting, MemoryDisk& disk) {
    const bool reads = setting.direction == Direction::read;
    const Bytes tile = setting.ranks_in_turn * kPiece;
    const Bytes each = setting.file / tile * kPiece;
    const auto owner = [&](Offset at) { return static_cast<Rank>(at % tile / kPiece); };
    std::vector<std::byte> before(static_cast<std::size_t>(setting.file), std::byte{0x11});
    if (reads) {
        for (std::size_t i = 0; i < before.size(); ++i)
            before[i] = written_by(owner(static_cast<Offset>(i)));
    }
    disk.write(0, before);
    std::vector<Done> done(kRanks);
    run_ranks({.ranks = kRanks, .seed = 1}, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        Done& mine = done[static_cast<std::size_t>(rank)];
        MemoryStoreOptions options = setting.store;
        options.prefetch = &mine.prefetch.emplace(setting.store.seed - 1);
        RankStore store(disk, mine, options);
        std::vector<std::byte> memory(static_cast<std::size_t>(each));
        if (!reads) std::ranges::fill(memory, written_by(rank));
        Access access;
        access.direction = setting.direction;
        access.file = {Shape::run(kPiece), tile, rank * kPiece, Layout::unbounded};
        access.memory = {Shape::run(each), each, 0, 1};
        access.buffer = memory.data();
        PlanRecorder recorder([&](const Plan& plan) {
            EXPECT_EQ(plan.method->name, "data_shipping");
            mine.overlap = plan.overlap;
            mine.slots = plan.slots;
        });
        RankFile file(transport, store, setting.terms, mine.stats, {.observer = &recorder});
        mine.outcome = file.access(access);
        if (reads)
            mine.same_bytes = std::ranges::count(memory, written_by(rank)) == mine.outcome.bytes;
    });
    if (!reads && done[0].outcome.error.kind == ErrorKind::none) {
        const auto now = disk.contents({0, setting.file});
        for (std::size_t i = 0; i < now.size(); ++i) {
            const Rank rank = owner(static_cast<Offset>(i));
            EXPECT_EQ(now[i], rank < kRanks ? written_by(rank) : std::byte{0x11}) << i;
            if (testing::Test::HasFailure()) break;
        }
    }
    return done;
}

void expect_only_agents(const std::vector<Done>& done) {
    for (std::size_t rank = 0; rank < done.size(); ++rank) {
        EXPECT_EQ(done[rank].used_storage(), rank % 2 == 0) << "rank " << rank;
        EXPECT_EQ(done[rank].stats.requests_shipped, 0U);
    }
}

void expect_all_moved(const std::vector<Done>& done, const Setting& setting) {
    for (const Done& one : done) {
        EXPECT_EQ(one.outcome.error.kind, ErrorKind::none);
        EXPECT_EQ(one.outcome.bytes, setting.file / setting.ranks_in_turn);
        EXPECT_TRUE(one.same_bytes);
    }
}

std::uint64_t storage_calls(const std::vector<Done>& done) {
    std::uint64_t calls = 0;
    for (const Done& one : done) calls += one.stats.storage_calls;
    return calls;
}

TEST(Combining, ADenseAccessIsOneStorageCallForEachBlockByItsAgent) {
    for (const Direction direction : {Direction::write, Direction::read}) {
        MemoryDisk disk;
        const Setting setting{.direction = direction, .terms = combining()};
        const auto done = run(setting, disk);
        expect_all_moved(done, setting);
        expect_only_agents(done);
        const bool reads = direction == Direction::read;
        EXPECT_EQ(reads ? disk.counters().reads : disk.counters().writes, kBlocks);
        EXPECT_EQ(storage_calls(done), kBlocks);
        EXPECT_EQ(disk.counters().locks, 0U);
        for (const std::size_t agent : {0, 2})
            EXPECT_EQ(done[agent].stats.storage_calls, kBlocks / 2) << "rank " << agent;
    }
}

/// Where writes are expensive, an agent reads a block with holes, fills it and writes it under a
/// lock.
TEST(Combining, HolesKeepTheirBytesAndOnlyAgentsTakeLocks) {
    MemoryDisk disk;
    Setting setting{.ranks_in_turn = kRanks + 4, .terms = combining()};
    setting.terms.costs.write_call = 1e9;
    const auto done = run(setting, disk);
    expect_all_moved(done, setting);
    expect_only_agents(done);
    EXPECT_EQ(disk.counters().writes, kBlocks) << "each block is filled and written once";
    EXPECT_EQ(disk.counters().locks, kBlocks) << "each block is locked once, by its agent";
}

/// Where reads and locks are expensive, an agent joins touching pieces of different ranks into one
/// call.
TEST(Combining, PiecesOfSeveralRanksThatTouchAreOneCall) {
    MemoryDisk disk;
    Setting setting{.ranks_in_turn = kRanks + 4, .terms = combining()};
    setting.terms.costs.read_call = setting.terms.costs.lock = 1e9;
    const auto done = run(setting, disk);
    expect_all_moved(done, setting);
    expect_only_agents(done);
    EXPECT_EQ(disk.counters().writes, static_cast<std::uint64_t>(kFile / kPiece / (kRanks + 4)));
    EXPECT_EQ(disk.counters().reads, 0U);
}

/// Section 2.4.2: two buffers, so that the exchange of one step overlaps the storage calls of
/// another.
TEST(Combining, AgentsHaveTwoBuffersAndAnIoThread) {
    for (const Direction direction : {Direction::write, Direction::read}) {
        MemoryDisk disk;
        Setting setting{.direction = direction, .terms = combining()};
        setting.terms.sub_buffer = kBlock;
        const auto done = run(setting, disk);
        expect_all_moved(done, setting);
        EXPECT_EQ(done[0].slots, 2);
        EXPECT_EQ(done[0].overlap, Overlap::io_thread);
        EXPECT_EQ(done[0].stats.rounds, kBlocks / 2);
        EXPECT_EQ(storage_calls(done), kBlocks);
    }
}

/// Section 2.3: each agent prefetches for the requests of all ranks.
TEST(Combining, AgentsAnnounceTheirNextBlocksAndReleaseThem) {
    for (const int max_acc : {0, 1, 3}) {
        for (const Bytes sub_buffer : {kBlock, 3 * kBlock}) {
            MemoryDisk disk;
            Setting setting{.direction = Direction::read, .terms = combining()};
            setting.terms.max_acc = max_acc;
            setting.terms.sub_buffer = sub_buffer;
            const auto done = run(setting, disk);
            expect_all_moved(done, setting);
            for (std::size_t rank = 0; rank < done.size(); ++rank) {
                const bool announces = rank % 2 == 0 && max_acc > 0;
                const std::uint64_t ranges = announces ? kBlocks / 2 : 0;
                const WatchedPrefetch& prefetch = *done[rank].prefetch;
                EXPECT_EQ(done[rank].stats.ranges_asked, ranges) << "rank " << rank;
                EXPECT_EQ(done[rank].stats.ranges_accessed, ranges);
                EXPECT_EQ(done[rank].stats.ranges_released, ranges);
                EXPECT_TRUE(prefetch.outstanding.empty() && prefetch.strangers == 0);
                EXPECT_EQ(prefetch.most_outstanding,
                          announces ? static_cast<std::size_t>(2 * max_acc) : 0U);
            }
            if (max_acc == 1) {
                const std::vector<std::string>& told = done[0].prefetch->told;
                EXPECT_EQ(told[0], "want 0-262144");
                EXPECT_EQ(told[1], "want 524288-786432");
                EXPECT_EQ(told[2], "release 0-262144");
            }
        }
    }
}

/// The storage accepts any number of ranges of each announcement. Some blocks hold no rank's data.
TEST(Combining, ReadsAreRightWhateverTheStorageFetches) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        MemoryDisk disk;
        Setting setting{.direction = Direction::read, .ranks_in_turn = 700, .terms = combining()};
        setting.terms.sub_buffer = kBlock;
        setting.file = 700 * kPiece * 4;
        setting.store.asynchronous = seed % 2 == 0;
        setting.store.seed = seed;
        expect_all_moved(run(setting, disk), setting);
    }
}

/// Section 2.4.1. Rank 3 has no data, and rank 1 none in the blocks of the second agent.
TEST(Combining, WithTheSparseHintOnlyRanksWithDataCommunicate) {
    MemoryDisk disk;
    FlatTerms terms = combining();
    terms.sparse = true;
    std::vector<Stats> stats(kRanks);
    const std::vector<std::vector<Offset>> pieces{{0}, {2 * kPiece}, {kPiece, kBlock}, {}};
    run_ranks({.ranks = kRanks, .seed = 1}, [&](Transport& transport) {
        const auto rank = static_cast<std::size_t>(transport.topology().rank);
        MemoryStore store(disk);
        const std::vector<Offset>& offsets = pieces[rank];
        const Bytes each = std::ssize(offsets) * kPiece;
        std::vector<std::byte> memory(static_cast<std::size_t>(each), std::byte{7});
        Access access;
        access.direction = Direction::write;
        if (each > 0) {
            access.file = {Shape::runs(offsets, std::vector<Bytes>(offsets.size(), kPiece)), kFile,
                           0, Layout::unbounded};
            access.memory = {Shape::run(each), each, 0, 1};
            access.buffer = memory.data();
        }
        RankFile file(transport, store, terms, stats[rank]);
        const Outcome outcome = file.access(access);
        EXPECT_EQ(outcome.error.kind, ErrorKind::none);
        EXPECT_EQ(outcome.bytes, each);
    });
    EXPECT_EQ(stats[1].messages_sent, 1U) << "its data, to the first agent";
    EXPECT_EQ(stats[2].messages_sent, 1U) << "data for the first agent; its own blocks need none";
    EXPECT_EQ(stats[0].messages_sent, 2U) << "the outcome, to ranks 1 and 2";
    EXPECT_EQ(stats[3].messages_sent, 0U);
    EXPECT_EQ(stats[0].storage_calls + stats[2].storage_calls, 2U);
    EXPECT_EQ(stats[1].storage_calls + stats[3].storage_calls, 0U);
}

TEST(Combining, AFullDiskIsAnErrorOfAllRanksWithTrueCounts) {
    MemoryDisk disk;
    Setting setting{.terms = combining()};
    setting.store.bad_writes = {3 * kBlock, kFile};
    const auto done = run(setting, disk);
    Bytes moved = 0;
    for (const Done& one : done) {
        EXPECT_EQ(one.outcome.error.kind, ErrorKind::io);
        moved += one.outcome.bytes;
    }
    const auto now = disk.contents({0, kFile});
    EXPECT_EQ(moved,
              std::ranges::count_if(now, [](std::byte one) { return one >= std::byte{0x80}; }));
    EXPECT_GE(moved, kBlock);
}

}  // namespace
}  // namespace oratorio::test::combining_test
