// SPDX-License-Identifier: BSD-3-Clause
// Tests accesses in which one rank's data begins 1100 rounds after the data of the other ranks:
// more than the tags of a host MPI with few tags can tell apart (2^10).
#include <gtest/gtest.h>

#include "engine/run.hpp"
#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test::far_rounds_test {
namespace {

TEST(FarRounds, ARankMayHaveItsFirstDataAThousandRoundsFurtherOn) {
    constexpr int kRanks = 3;
    constexpr Bytes kSlot = 4096;
    constexpr Bytes kHalf = 1100 * kSlot;
    for (const Direction direction : {Direction::write, Direction::read}) {
        MemoryDisk disk;
        disk.resize(2 * kHalf);
        run_ranks({.ranks = kRanks, .seed = 3}, [&](Transport& transport) {
            const Rank rank = transport.topology().rank;
            FlatTerms options;
            options.method = find_method("two_phase");
            options.cb_nodes = 1;
            options.cb_buffer_size = kSlot;
            MemoryStore store(disk);
            Stats stats;
            // Ranks 0 and 1 have alternate pieces of the first half, and rank 2 has all of the
            // second half.
            const Bytes bytes = rank == 2 ? kHalf : kHalf / 2;
            std::vector<std::byte> memory(static_cast<std::size_t>(bytes), std::byte{1});
            Access access;
            access.direction = direction;
            access.file = rank == 2 ? Layout{Shape::run(kHalf), kHalf, kHalf, 1}
                                    : Layout{Shape::run(512), 1024, rank * 512, kHalf / 1024};
            access.memory = {Shape::run(bytes), bytes, 0, 1};
            access.buffer = memory.data();
            RankFile file(transport, store, options, stats);
            const Outcome outcome = file.access(access);
            EXPECT_EQ(outcome.error.kind, ErrorKind::none) << outcome.error.what;
            EXPECT_EQ(outcome.bytes, bytes);
        });
    }
}

}  // namespace
}  // namespace oratorio::test::far_rounds_test
