// SPDX-License-Identifier: BSD-3-Clause
// Grouping (Nitzberg & Fineberg 1995): at most k ranks use the storage at once, and when rank r is
// done, rank r + k may start. At most n pieces of a rank are outstanding.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/run.hpp"
#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/sim_transport.hpp"
#include "support/watched_run.hpp"

namespace oratorio::test::grouping_test {
namespace {

constexpr Bytes kPiece = 64;
constexpr std::int64_t kPieces = 20;  // number of pieces of each rank

/// A store that reports each request, and records the largest number of requests outstanding.
class WatchedStore final : public MemoryStore {
  public:
    WatchedStore(MemoryDisk& disk, const MemoryStoreOptions& options,
                 std::function<void()> others_run, std::function<void()> submitted)
        : MemoryStore(disk, options, std::move(others_run)), submitted_(std::move(submitted)) {}

    Submitted submit(const IoRequest& request) override {
        submitted_();
        const Submitted how = MemoryStore::submit(request);
        if (how != Submitted::full) most_ = std::max(most_, ++outstanding_);
        return how;
    }
    std::size_t reap(std::span<IoCompletion> out, bool wait) override {
        const std::size_t count = MemoryStore::reap(out, wait);
        outstanding_ -= static_cast<int>(count);
        return count;
    }
    [[nodiscard]] int most() const { return most_; }

  private:
    std::function<void()> submitted_;
    int outstanding_ = 0;
    int most_ = 0;
};

struct Setting {
    int ranks = 1;
    int group = 1;
    int pieces = 0;
    int ranks_per_node = 0;
    std::uint64_t seed = 1;
    Direction direction = Direction::write;
    MemoryStoreOptions store = {};
    Rank broken = -1;  ///< the rank whose store fails all writes; -1: none
    const char* method = "grouping";
};

struct Seen {
    std::vector<Rank> requests;  ///< the rank of each request, in the order of the requests
    std::vector<Stats> stats;
    std::vector<Outcome> outcomes;
    SimReport sim;
    int outstanding = 0;
    std::string plan;  ///< rank 0's plan as text
};

std::byte byte_of(Rank rank) {
    return static_cast<std::byte>(rank + 1);
}

/// Runs an access in which piece i of rank r is the file's piece i * ranks + r.
Seen run(const Setting& setting, MemoryDisk& disk) {
    const auto count = static_cast<std::size_t>(setting.ranks);
    Seen seen;
    seen.stats.resize(count);
    seen.outcomes.resize(count);
    FlatTerms options;
    options.method = find_method(setting.method);
    options.group = setting.group;
    options.group_pieces = setting.pieces;
    const SimOptions sim{
        .ranks = setting.ranks, .seed = setting.seed, .ranks_per_node = setting.ranks_per_node};
    seen.sim = run_ranks(sim, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        const auto index = static_cast<std::size_t>(rank);
        MemoryStoreOptions store_options = setting.store;
        store_options.yields = true;
        if (rank == setting.broken) store_options.bad_writes = {0, INT64_MAX};
        WatchedStore store(
            disk, store_options, [&] { transport.idle(); }, [&] { seen.requests.push_back(rank); });
        std::vector<std::byte> memory(static_cast<std::size_t>(kPiece * kPieces), byte_of(rank));
        Access access;
        access.direction = setting.direction;
        access.file = {Shape::run(kPiece), kPiece * setting.ranks, kPiece * rank,
                       Layout::unbounded};
        access.memory = {Shape::run(kPiece * kPieces), kPiece * kPieces, 0, 1};
        access.buffer = memory.data();
        PlanRecorder recorder([&](const Plan& plan) {
            if (rank == 0) seen.plan = explain(plan);
        });
        RankFile file(transport, store, options, seen.stats[index], {.observer = &recorder});
        Run run(file.next_run(), access, true);
        bool sent = false;
        while (!run.step(1)) {
            sent = sent || run.sends_messages();
            wait_hint(run, transport);
        }
        EXPECT_EQ(sent, std::string(setting.method) == "grouping") << "no helper may step it";
        seen.outcomes[index] = run.outcome();
        seen.outstanding = std::max(seen.outstanding, store.most());
        if (setting.direction == Direction::read) {
            EXPECT_EQ(std::ranges::count(memory, std::byte{0x33}), std::ssize(memory));
        }
    });
    return seen;
}

/// Returns the largest number of ranks that use the storage at once. A rank uses it from its first
/// request to its last.
int most_at_once(const std::vector<Rank>& requests, int ranks) {
    int most = 0;
    for (std::size_t now = 0; now < requests.size(); ++now) {
        int inside = 0;
        for (Rank rank = 0; rank < ranks; ++rank) {
            const auto first = std::ranges::find(requests, rank) - requests.begin();
            const auto last = std::find(requests.rbegin(), requests.rend(), rank);
            const auto behind = requests.rend() - last;
            inside += first <= static_cast<std::ptrdiff_t>(now) &&
                      static_cast<std::ptrdiff_t>(now) < behind;
        }
        most = std::max(most, inside);
    }
    return most;
}

void expect_file(const MemoryDisk& disk, int ranks, Rank without = -1) {
    const auto file = disk.contents({0, kPiece * kPieces * ranks});
    for (std::size_t at = 0; at < file.size(); ++at) {
        const auto rank = static_cast<Rank>(at / kPiece % static_cast<std::size_t>(ranks));
        ASSERT_EQ(file[at], rank == without ? std::byte{0} : byte_of(rank)) << "at " << at;
    }
}

TEST(Grouping, OneRankInEachRowIsLetInWithoutASignalAndTheOthersByOneEach) {
    for (const int ranks : {1, 2, 3, 7, 8}) {
        for (const int group : {1, 2, 3, 7, 100}) {
            for (const int per_node : {0, 2}) {
                MemoryDisk disk;
                const Seen seen =
                    run({.ranks = ranks, .group = group, .ranks_per_node = per_node}, disk);
                std::uint64_t messages = 0;
                for (const SimCounters& one : seen.sim.counters) messages += one.messages;
                const auto signals = static_cast<std::uint64_t>(std::max(0, ranks - group));
                EXPECT_EQ(messages, signals) << ranks << " ranks, " << group << " at once";
                std::uint64_t counted = 0;
                for (const Stats& one : seen.stats) counted += one.messages_sent;
                EXPECT_EQ(counted, signals);
                ASSERT_NO_FATAL_FAILURE(expect_file(disk, ranks));
            }
        }
    }
}

TEST(Grouping, NoMoreRanksThanTheGroupAreAtTheStorageAtOnce) {
    constexpr int kRanks = 8;
    for (const int group : {1, 2, 3}) {
        int most = 0;
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            MemoryDisk disk;
            const Seen seen = run({.ranks = kRanks, .group = group, .seed = seed}, disk);
            const int now = most_at_once(seen.requests, kRanks);
            ASSERT_LE(now, group) << "seed " << seed;
            most = std::max(most, now);
            // Each rank starts only after the last request of the rank `group` before it.
            for (Rank rank = group; rank < kRanks; ++rank) {
                const auto last =
                    std::find(seen.requests.rbegin(), seen.requests.rend(), rank - group);
                const auto first = std::ranges::find(seen.requests, rank);
                ASSERT_LE(last.base() - seen.requests.begin(), first - seen.requests.begin());
            }
        }
        EXPECT_EQ(most, group) << "the limit is reached";
    }
    MemoryDisk disk;
    EXPECT_EQ(most_at_once(run({.ranks = kRanks, .method = "list_io"}, disk).requests, kRanks),
              kRanks)
        << "without the method, all are at the storage";
}

TEST(Grouping, ARankAloneInTheGroupComesInRankOrder) {
    MemoryDisk disk;
    const std::vector<std::byte> old(static_cast<std::size_t>(kPiece * kPieces * 5),
                                     std::byte{0x33});
    disk.write(0, old);
    for (const Direction direction : {Direction::read, Direction::write}) {
        const Seen seen = run({.ranks = 5, .group = 1, .direction = direction}, disk);
        EXPECT_EQ(seen.requests.size(), 5U * kPieces);
        EXPECT_TRUE(std::ranges::is_sorted(seen.requests));
    }
}

TEST(Grouping, ARankWhoseStorageFailsLetsTheNextOneIn) {
    for (const Rank broken : {0, 1, 4}) {
        MemoryDisk disk;
        const Seen seen = run({.ranks = 5, .group = 2, .broken = broken}, disk);
        for (const Outcome& outcome : seen.outcomes) {
            EXPECT_EQ(outcome.error.kind, ErrorKind::io);
            EXPECT_EQ(outcome.error.rank, broken);
        }
        for (Rank rank = 0; rank < 5; ++rank) {
            EXPECT_EQ(seen.outcomes[static_cast<std::size_t>(rank)].bytes,
                      rank == broken ? 0 : kPiece * kPieces);
        }
        expect_file(disk, 5, broken);
    }
}

TEST(Grouping, TheHintLimitsOutstandingPiecesPerRank) {
    const MemoryStoreOptions asynchronous{.asynchronous = true, .queue_depth = 64};
    for (const char* method : {"grouping", "list_io"}) {
        for (const int pieces : {1, 3, 0}) {
            MemoryDisk disk;
            const Seen seen =
                run({.ranks = 2, .pieces = pieces, .store = asynchronous, .method = method}, disk);
            EXPECT_EQ(seen.outstanding, pieces > 0 ? pieces : kPieces) << method;
            expect_file(disk, 2);
        }
    }
}

TEST(Grouping, ExplainTellsTheTurnsAndThePieces) {
    MemoryDisk disk;
    const Seen seen = run({.ranks = 4, .group = 2, .pieces = 3}, disk);
    EXPECT_NE(seen.plan.find("method grouping (requested by name)"), std::string::npos);
    EXPECT_NE(seen.plan.find("  outstanding  at most 3 of a rank's pieces\n"
                             "  turns        at most 2 ranks at the storage at once; rank r then "
                             "lets in rank r + 2\n"),
              std::string::npos)
        << seen.plan;
}

}  // namespace
}  // namespace oratorio::test::grouping_test
