// SPDX-License-Identifier: BSD-3-Clause
// The end of an access with a sparse graph: each rank gets the outcome from the aggregators with
// which it exchanges data, and waits for no other rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "engine/run.hpp"
#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test::sparse_end_test {
namespace {

constexpr int kRanks = 6;
// Bytes of the file that each of the two aggregators, ranks 0 and 3, is responsible for.
constexpr Bytes kPart = 64 << 10;
constexpr Bytes kPiece = 1000;

/// Returns the offsets of a rank's pieces. Ranks 0 and 1 have pieces in the first part only, ranks
/// 3 and 4 in the second only, rank 2 in both, and rank 5 in neither.
std::vector<Offset> pieces_of(Rank rank) {
    switch (rank) {
        case 0:
            return {0};
        case 1:
            return {4000};
        case 2:
            return {8000, kPart + 8000};
        case 3:
            return {kPart + 16000};
        case 4:
            return {kPart + 20000, 2 * kPart - kPiece};
        default:
            return {};
    }
}

/// The number of pairs of an aggregator and another rank: 0 with 1 and 2, and 3 with 2 and 4.
constexpr std::uint64_t kPairs = 4;

std::byte value_of(Rank rank, Offset at) {
    return static_cast<std::byte>(1 + (rank * 37 + at) % 200);
}

struct Piece {
    Access access;
    std::vector<std::byte> memory;
};

Piece part_of(Rank rank, Direction direction) {
    Piece part;
    std::vector<Offset> offsets = pieces_of(rank);
    const auto bytes = static_cast<Bytes>(offsets.size()) * kPiece;
    for (const Offset at : offsets) {
        for (Offset i = at; i < at + kPiece; ++i) part.memory.push_back(value_of(rank, i));
    }
    if (direction == Direction::read) std::ranges::fill(part.memory, std::byte{0});
    part.access.direction = direction;
    part.access.file = {Shape::runs(offsets, std::vector<Bytes>(offsets.size(), kPiece)), 2 * kPart,
                        0, 1};
    if (offsets.empty()) part.access.file = {Shape::run(1), 1, 0, 1};
    if (bytes > 0) part.access.memory = {Shape::run(bytes), bytes, 0, 1};
    part.access.buffer = part.memory.data();
    return part;
}

FlatTerms sparse_terms(const char* method, bool hint) {
    FlatTerms options;
    options.method = find_method(method);
    options.sparse = hint;
    options.cb_nodes = 2;
    options.cyclic_block = kPart;
    options.cb_buffer_size = 64 << 10;  // half of it holds the write mask in writes, so that a part
                                        // takes two rounds
    return options;
}

/// A store that holds up requests in one direction until `may_go_on` returns true.
class HeldStore final : public MemoryStore {
  public:
    HeldStore(MemoryDisk& disk, const MemoryStoreOptions& options, Transport& transport,
              std::function<void()> while_locked, Direction held, std::function<bool()> may_go_on)
        : MemoryStore(disk, options, std::move(while_locked)),
          transport_(transport),
          held_(held),
          may_go_on_(std::move(may_go_on)) {}
    Submitted submit(const IoRequest& request) override {
        while (request.direction == held_ && !may_go_on_()) transport_.idle();
        return MemoryStore::submit(request);
    }

  private:
    Transport& transport_;
    Direction held_;
    std::function<bool()> may_go_on_;
};

struct Ended {
    std::vector<Outcome> of = std::vector<Outcome>(kRanks);
    std::vector<Stats> stats = std::vector<Stats>(kRanks);
    SimReport sim;
};

Ended run_parts(MemoryDisk& disk, Direction direction, const FlatTerms& options,
                const MemoryStoreOptions& store_options = {}, std::uint64_t seed = 1) {
    Ended ended;
    ended.sim = run_ranks({.ranks = kRanks, .seed = seed}, [&](Transport& transport) {
        const auto rank = static_cast<std::size_t>(transport.topology().rank);
        MemoryStore store(disk, store_options);
        Piece part = part_of(transport.topology().rank, direction);
        const std::vector<std::byte> wanted =
            part_of(transport.topology().rank, Direction::write).memory;
        RankFile file(transport, store, options, ended.stats[rank]);
        ended.of[rank] = file.access(part.access);
        if (ended.of[rank].error.kind == ErrorKind::none) {
            EXPECT_EQ(part.memory, wanted);
        }
    });
    return ended;
}

std::uint64_t messages(const Ended& ended) {
    std::uint64_t sum = 0;
    for (const SimCounters& one : ended.sim.counters) sum += one.messages;
    return sum;
}

void expect_contents(const MemoryDisk& disk) {
    for (Rank rank = 0; rank < kRanks; ++rank) {
        for (const Offset begin : pieces_of(rank)) {
            const auto is = disk.contents({begin, begin + kPiece});
            for (Offset at = 0; at < kPiece; ++at)
                ASSERT_EQ(is[static_cast<std::size_t>(at)], value_of(rank, begin + at));
        }
    }
}

TEST(SparseEnd, IsAMessageForEachPairThatSharesAnEdgeAndNoReduction) {
    for (const Direction direction : {Direction::write, Direction::read}) {
        for (const char* const method : {"two_phase", "cb_gather"}) {
            MemoryDisk disk;
            (void)run_parts(disk, Direction::write, sparse_terms("two_phase", false));
            const FlatTerms terms = sparse_terms(method, true);
            const Ended ended = run_parts(disk, direction, terms);
            expect_contents(disk);
            std::uint64_t counted = 0;
            for (int rank = 0; rank < kRanks; ++rank) {
                EXPECT_EQ(ended.sim.counters[rank].collectives, 2U) << "summaries and edges";
                counted += ended.stats[rank].messages_sent;
            }
            EXPECT_EQ(counted, messages(ended));
            // In a round, the data of a pair is one message, and rank 4 writes in two rounds. A
            // read takes three messages: the contents of the round, the request, and the reply.
            // A zero-copy write takes two, of which the first announces the data.
            const bool reads = direction == Direction::read;
            const bool straight = std::string(method) == "cb_gather";
            const std::uint64_t of_data = reads ? 3 * kPairs : (straight ? 2 : 1) * (kPairs + 1);
            EXPECT_EQ(messages(ended), of_data + kPairs) << method;
        }
    }
}

/// Rank 0's storage is held up until all ranks that have no data with rank 0 have returned, among
/// them aggregator 3. If they do not return, the simulation reports a deadlock.
TEST(SparseEnd, RanksWithoutAnEdgeReturnWhileAnAggregatorIsDelayed) {
    for (const Direction direction : {Direction::write, Direction::read}) {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            MemoryDisk disk;
            (void)run_parts(disk, Direction::write, sparse_terms("sparse", false));
            const FlatTerms terms = sparse_terms("sparse", false);
            std::array<bool, kRanks> returned{};
            run_ranks({.ranks = kRanks, .seed = seed}, [&](Transport& transport) {
                const auto rank = static_cast<std::size_t>(transport.topology().rank);
                const auto others_are_back = [&] {
                    return rank != 0 || (returned[3] && returned[4] && returned[5]);
                };
                HeldStore store(disk, {}, transport, {}, direction, others_are_back);
                Stats stats;
                Piece part = part_of(transport.topology().rank, direction);
                RankFile file(transport, store, terms, stats);
                const Outcome outcome = file.access(part.access);
                EXPECT_EQ(outcome.error.kind, ErrorKind::none);
                EXPECT_EQ(outcome.bytes, std::ssize(part.memory));
                returned[rank] = true;
            });
            expect_contents(disk);
        }
    }
}

/// On this disk half of rank 3's piece fits, and nothing after it.
TEST(SparseEnd, AFailureReachesRanksWithAnEdgeAndOthersHaveTrueCounts) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        MemoryDisk disk(kPart + 16500);
        const Ended ended =
            run_parts(disk, Direction::write, sparse_terms("sparse", false), {}, seed);
        for (const std::size_t rank : {2U, 3U, 4U}) {
            EXPECT_EQ(ended.of[rank].error.kind, ErrorKind::no_space) << rank;
            EXPECT_EQ(ended.of[rank].error.rank, 3);
        }
        for (const std::size_t rank : {0U, 1U, 5U})
            EXPECT_EQ(ended.of[rank].error.kind, ErrorKind::none) << rank;
        EXPECT_EQ(ended.of[0].bytes, kPiece);
        EXPECT_EQ(ended.of[1].bytes, kPiece);
        EXPECT_EQ(ended.of[2].bytes, 2 * kPiece);
        EXPECT_EQ(ended.of[3].bytes, 500);
        EXPECT_EQ(ended.of[4].bytes, 0);
        EXPECT_EQ(ended.of[5].bytes, 0);
    }
}

TEST(SparseEnd, AFailedReadReachesRanksWithAnEdge) {
    MemoryDisk disk;
    (void)run_parts(disk, Direction::write, sparse_terms("sparse", false));
    MemoryStoreOptions bad;
    bad.bad_reads = {4100, 4200};
    const Ended ended = run_parts(disk, Direction::read, sparse_terms("sparse", false), bad);
    for (const std::size_t rank : {0U, 1U, 2U})
        EXPECT_EQ(ended.of[rank].error.kind, ErrorKind::io) << rank;
    for (const std::size_t rank : {3U, 4U, 5U}) {
        EXPECT_EQ(ended.of[rank].error.kind, ErrorKind::none) << rank;
        EXPECT_EQ(ended.of[rank].bytes,
                  std::ssize(part_of(static_cast<Rank>(rank), Direction::read).memory));
    }
}

/// A rank's refusal is reported to all ranks while they plan the access, so that they agree on the
/// outcome.
TEST(SparseEnd, AllRanksLearnOfARejectedRank) {
    for (const Direction direction : {Direction::write, Direction::read}) {
        MemoryDisk disk;
        (void)run_parts(disk, Direction::write, sparse_terms("sparse", false));
        std::vector<Outcome> outcomes(kRanks);
        run_ranks({.ranks = kRanks, .seed = 3}, [&](Transport& transport) {
            const Rank rank = transport.topology().rank;
            MemoryStore store(disk);
            Stats stats;
            Piece part = part_of(rank, direction);
            if (rank == 5)
                part.access.refused = Error::make(ErrorKind::count, "the count is negative");
            const FlatTerms terms = sparse_terms("sparse", false);
            RankFile file(transport, store, terms, stats);
            outcomes[static_cast<std::size_t>(rank)] = file.access(part.access);
        });
        for (const Outcome& outcome : outcomes) {
            EXPECT_EQ(outcome.error.kind, ErrorKind::count);
            EXPECT_EQ(outcome.error.rank, 5);
            EXPECT_STREQ(outcome.error.what, "the count is negative");
        }
    }
}

/// Rank 4 has another piece of device memory. All ranks must learn this, because they take part
/// until no rank has more.
TEST(SparseEnd, AllRanksLearnOfARankWithMoreToDo) {
    MemoryDisk disk;
    run_ranks({.ranks = kRanks, .seed = 3}, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        MemoryStore store(disk);
        Stats stats;
        const FlatTerms terms = sparse_terms("sparse", false);
        RankFile file(transport, store, terms, stats);
        for (const bool more : {true, false}) {
            Piece part = part_of(rank, Direction::write);
            part.access.goes_on = more && rank == 4;
            oratorio::Run run(file.next_run(), part.access, true);  // qualified, because gtest has
                                                                    // a Run as well
            while (!run.step()) transport.idle();
            EXPECT_EQ(run.outcome().error.kind, ErrorKind::none);
            EXPECT_EQ(run.goes_on(), more);
        }
    });
    expect_contents(disk);
}

/// Rank 5 has returned from the collective write. It then writes into a hole that the first
/// aggregator has read but not yet written back, so that it has to wait for the aggregator's lock.
TEST(SparseEnd, ARankThatLeftFirstCanWriteIntoAHoleThatIsBeingFilled) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        MemoryDisk disk;
        disk.write(0, std::vector<std::byte>(2 * kPart, std::byte{0xee}));
        bool is_done = false;
        bool waits = false;
        std::uint64_t filled = 0;
        run_ranks({.ranks = kRanks, .seed = seed}, [&](Transport& transport) {
            const Rank rank = transport.topology().rank;
            const auto while_locked = [&] {
                waits = waits || rank == 5;
                transport.idle();
            };
            HeldStore store(disk, {}, transport, while_locked, Direction::write,
                            [&] { return rank != 0 || is_done || waits; });
            Stats stats;
            FlatTerms terms = sparse_terms("sparse", false);
            terms.costs.write_call = 1e9;  // makes single writes so expensive that holes are filled
                                           // by data sieving
            RankFile file(transport, store, terms, stats);
            Piece part = part_of(rank, Direction::write);
            const Outcome outcome = file.access(part.access);
            EXPECT_EQ(outcome.error.kind, ErrorKind::none);
            filled += stats.hole_reads;
            if (rank != 5) return;
            std::byte mine{0x77};
            Access one;
            one.direction = Direction::write;
            one.file = {Shape::run(1), 1, 2000, 1};
            one.memory = {Shape::run(1), 1, 0, 1};
            one.buffer = &mine;
            EXPECT_EQ(file.access(one, false).error.kind, ErrorKind::none);
            is_done = true;
        });
        EXPECT_GT(filled, 0U);
        EXPECT_EQ(disk.contents({2000, 2001})[0], std::byte{0x77}) << "seed " << seed;
        expect_contents(disk);
    }
}

}  // namespace
}  // namespace oratorio::test::sparse_end_test
