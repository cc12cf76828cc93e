// SPDX-License-Identifier: BSD-3-Clause
// Memory of accesses under a kept plan. Before the first message of such an access the ranks don't
// agree that all of them have memory, so a rank keeps its buffers with the plan. The program
// replaces mmap.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <vector>

#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/sim_transport.hpp"

namespace {

/// True if the calling thread, which runs one rank, gets no more memory from the system.
thread_local bool out_of_memory = false;

}  // namespace

extern "C" {
void* __real_mmap(void*, std::size_t, int, int, int, off_t);
void* __wrap_mmap(void* where, std::size_t bytes, int protection, int flags, int descriptor,
                  off_t offset) {
    if (!out_of_memory) return __real_mmap(where, bytes, protection, flags, descriptor, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}
}

namespace oratorio::test::kept_memory_test {
namespace {

constexpr int kRanks = 4;
constexpr Bytes kPiece = 8;
constexpr Bytes kMine = 80000;

/// Returns the `number`th of several equal collective writes. The ranks have pieces in turn.
Access interleaved_write(Rank me, int number, std::vector<std::byte>& data) {
    Access access;
    access.direction = Direction::write;
    access.file = {Shape::run(kPiece), kRanks * kPiece, me * kPiece, Layout::unbounded};
    access.from = number * kMine;
    access.memory = {Shape::run(kMine), kMine, 0, 1};
    access.buffer = data.data();
    return access;
}

/// Makes independent writes of more sizes than the pool keeps free buffers.
void use_many_buffers(RankFile& file) {
    for (int size = 1; size <= 40; ++size) {
        std::vector<std::byte> data(std::size_t{1} << 20);
        Access access;
        access.direction = Direction::write;
        access.file = {Shape::run(kPiece), 8 * kPiece, 0, Layout::unbounded};
        access.from = 1 << 20;
        access.memory = {Shape::run(kPiece), 2 * kPiece, 0, 512 * size};
        access.buffer = data.data();
        EXPECT_EQ(file.access(access, false).error.kind, ErrorKind::none);
    }
}

/// Writes twice by one plan. Before the second write, the rank `poor` uses up the pool's buffers,
/// and the system then refuses memory to it. Returns the number of wrong bytes on the disk.
std::size_t wrong_bytes(const char* method, Rank poor) {
    MemoryDisk disk;
    FlatTerms terms;
    terms.method = find_method(method);
    terms.cb_buffer_size = 1 << 20;
    std::vector<Stats> stats(kRanks);
    run_ranks({.ranks = kRanks, .seed = 3, .ranks_per_node = 2}, [&](Transport& transport) {
        const Rank me = transport.topology().rank;
        MemoryStore store(disk);
        RankFile file(transport, store, terms, stats[static_cast<std::size_t>(me)]);
        std::vector<std::byte> data(kMine, std::byte(me + 1));
        EXPECT_EQ(file.access(interleaved_write(me, 0, data)).error.kind, ErrorKind::none);
        if (me == poor) use_many_buffers(file);
        out_of_memory = me == poor;
        EXPECT_EQ(file.access(interleaved_write(me, 1, data)).error.kind, ErrorKind::none);
        out_of_memory = false;
    });
    std::size_t wrong = 0;
    const auto written = disk.contents({0, 2 * kRanks * kMine});
    for (std::size_t i = 0; i < written.size(); ++i)
        wrong += written[i] != std::byte(i / kPiece % kRanks + 1) ? 1 : 0;
    return wrong;
}

class KeptMemory : public testing::TestWithParam<const char*> {};

TEST_P(KeptMemory, a_rank_out_of_memory_still_takes_part_in_a_kept_plan) {
    EXPECT_EQ(wrong_bytes(GetParam(), 0), 0U) << "an aggregator";
    EXPECT_EQ(wrong_bytes(GetParam(), kRanks - 1), 0U) << "a rank that is no aggregator";
}

INSTANTIATE_TEST_SUITE_P(, KeptMemory, testing::Values("two_phase", "double_buffer", "auto"));

}  // namespace
}  // namespace oratorio::test::kept_memory_test
