// SPDX-License-Identifier: BSD-3-Clause
// The end of a collective read in which each rank makes its own calls: a rank returns when its own
// data has arrived. The ranks agree on the outcome before their next collective call.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test::late_end_test {
namespace {

constexpr int kRanks = 4;
constexpr Bytes kEach = 1000;
constexpr Rank kSlow = 2;

std::byte value_of(Offset at) {
    return static_cast<std::byte>(1 + at * 7 % 251);
}

MemoryDisk full_disk() {
    MemoryDisk disk;
    std::vector<std::byte> bytes(kRanks * kEach * 8);
    for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = value_of(static_cast<Offset>(at));
    disk.write(0, bytes);
    return disk;
}

/// A contiguous access of one rank, and its memory.
struct Piece {
    Piece(Direction direction, Offset from, Bytes bytes)
        : memory(static_cast<std::size_t>(bytes), std::byte{0}) {
        access.direction = direction;
        access.file = {Shape::run(bytes), bytes, from, 1};
        access.memory = {Shape::run(bytes), bytes, 0, 1};
        access.buffer = memory.data();
    }
    [[nodiscard]] bool is_right() const {
        for (std::size_t i = 0; i < memory.size(); ++i) {
            if (memory[i] != value_of(access.file.origin + static_cast<Offset>(i))) return false;
        }
        return true;
    }
    Access access;
    std::vector<std::byte> memory;
};

Piece part_of(Rank rank, int step, Bytes bytes = kEach) {
    return {Direction::read, (step * kRanks + rank) * kEach, bytes};
}

FlatTerms own_calls() {
    FlatTerms options;
    options.method = find_method("list_io");
    return options;
}

template <class Body>
SimReport run_late(MemoryDisk& disk, const MemoryStoreOptions& slow_store, Body body) {
    return run_ranks({.ranks = kRanks, .seed = 3}, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        MemoryStore store(disk, rank == kSlow ? slow_store : MemoryStoreOptions{});
        Stats stats;
        RankFile file(transport, store, own_calls(), stats);
        body(file, transport, rank);
    });
}

std::uint64_t messages(const SimReport& report) {
    std::uint64_t sum = 0;
    for (const SimCounters& one : report.counters) sum += one.messages;
    return sum;
}

TEST(LateEnd, ARankReturnsWhileAnotherHasNotEnteredTheRead) {
    MemoryDisk disk = full_disk();
    int returned = 0;
    run_late(disk, {}, [&](RankFile& file, Transport& transport, Rank rank) {
        Piece first = part_of(rank, 0);
        EXPECT_EQ(file.access(first.access).bytes, kEach);
        // The plan is kept now, so no rank hears from the others before it reads.
        while (rank == kSlow && returned < kRanks - 1) transport.idle();
        Piece second = part_of(rank, 0);
        EXPECT_EQ(file.access(second.access).bytes, kEach);
        EXPECT_TRUE(second.is_right());
        ++returned;
    });
    EXPECT_EQ(returned, kRanks);
}

TEST(LateEnd, CostsNoFurtherMessage) {
    MemoryDisk disk = full_disk();
    const auto reads = [&](int count) {
        return messages(run_late(disk, {}, [&](RankFile& file, Transport&, Rank rank) {
            for (int i = 0; i < count; ++i) {
                Piece piece = part_of(rank, 0);
                EXPECT_EQ(file.access(piece.access).bytes, kEach);
            }
        }));
    };
    EXPECT_EQ(reads(5) - reads(4), reads(4) - reads(3));
    EXPECT_LE(reads(4) - reads(3), static_cast<std::uint64_t>(kRanks)) << "one reduction";
}

TEST(LateEnd, AFailureIsReportedOnAllRanksByTheNextCallWhichThenDoesNothing) {
    MemoryDisk disk = full_disk();
    const MemoryStoreOptions bad{.bad_reads = {kSlow * kEach + 100, kSlow * kEach + 101}};
    run_late(disk, bad, [&](RankFile& file, Transport&, Rank rank) {
        Piece read = part_of(rank, 0);
        const Outcome own = file.access(read.access);
        EXPECT_EQ(own.error.kind, rank == kSlow ? ErrorKind::io : ErrorKind::none);
        EXPECT_EQ(own.bytes, rank == kSlow ? 100 : kEach);
        Piece write(Direction::write, rank * kEach, kEach);
        const Outcome told = file.access(write.access);
        EXPECT_EQ(told.error.kind, ErrorKind::io);
        EXPECT_EQ(told.error.rank, kSlow);
        EXPECT_EQ(told.bytes, 0);
        Piece again = part_of(rank, 1);
        EXPECT_EQ(file.access(again.access).error.kind, ErrorKind::none) << "reported once";
        EXPECT_TRUE(again.is_right());
    });
    EXPECT_EQ(disk.contents({0, 1})[0], value_of(0)) << "nothing was written";
}

TEST(LateEnd, TheOtherRanksHearOfAFailureWithoutAnotherCallOfTheRankThatFailed) {
    MemoryDisk disk = full_disk();
    const MemoryStoreOptions bad{.bad_reads = {kSlow * kEach + 100, kSlow * kEach + 101}};
    int told = 0;
    run_late(disk, bad, [&](RankFile& file, Transport& transport, Rank rank) {
        Piece read = part_of(rank, 0);
        (void)file.access(read.access);
        while (rank == kSlow && told < kRanks - 1) transport.idle();
        Piece next = part_of(rank, 1);
        EXPECT_EQ(file.access(next.access).error.kind, ErrorKind::io);
        ++told;
    });
    EXPECT_EQ(told, kRanks);
}

TEST(LateEnd, AFailureOfAllRanksIsReportedOnlyOnce) {
    MemoryDisk disk = full_disk();
    run_ranks({.ranks = kRanks, .seed = 5}, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        MemoryStore store(disk, {.bad_reads = {0, kRanks * kEach}});
        Stats stats;
        RankFile file(transport, store, own_calls(), stats);
        Piece read = part_of(rank, 0);
        EXPECT_EQ(file.access(read.access).error.kind, ErrorKind::io);
        Piece again = part_of(rank, 1);
        EXPECT_EQ(file.access(again.access).error.kind, ErrorKind::none);
        EXPECT_TRUE(again.is_right());
    });
}

TEST(LateEnd, AnAccessUnlikeTheKeptPlanIsReadByItsOwnRankAndPlannedTogetherNextTime) {
    MemoryDisk disk = full_disk();
    run_late(disk, {}, [&](RankFile& file, Transport&, Rank rank) {
        for (int step = 0; step < 4; ++step) {
            const bool other = step == 2 && rank == kSlow;
            Piece piece = part_of(rank, step, other ? kEach / 2 : kEach);
            const Outcome outcome = file.access(piece.access);
            EXPECT_EQ(outcome.error.kind, ErrorKind::none);
            EXPECT_EQ(outcome.bytes, other ? kEach / 2 : kEach);
            EXPECT_TRUE(piece.is_right());
            if (step == 3) {
                EXPECT_EQ(file.plans.trusted(Direction::read), false) << "the ranks planned again";
            }
        }
    });
}

TEST(LateEnd, ARefusedReadIsReportedOnAllRanksAtOnceIfTheRanksPlanTogether) {
    MemoryDisk disk = full_disk();
    run_late(disk, {}, [&](RankFile& file, Transport&, Rank rank) {
        Piece read = part_of(rank, 0);
        if (rank == kSlow) {
            read.access.refused = Error::make(ErrorKind::argument, "refused");
            read.access.memory = {};
        }
        EXPECT_EQ(file.access(read.access).error.kind, ErrorKind::argument);
    });
}

TEST(LateEnd, WritesEndWithAnAgreement) {
    MemoryDisk disk = full_disk();
    const MemoryStoreOptions bad{.bad_writes = {kSlow * kEach, kSlow * kEach + 1}};
    run_late(disk, bad, [&](RankFile& file, Transport&, Rank rank) {
        Piece write(Direction::write, rank * kEach, kEach);
        EXPECT_EQ(file.access(write.access).error.kind, ErrorKind::io);
    });
}

}  // namespace
}  // namespace oratorio::test::late_end_test
