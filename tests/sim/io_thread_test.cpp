// SPDX-License-Identifier: BSD-3-Clause
// Which thread makes the storage calls of each method that has several slots. The store is
// synchronous, so that storage overlaps the exchange only if an I/O thread makes the calls.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/sim_transport.hpp"
#include "support/watched_run.hpp"

namespace oratorio::test::io_thread_test {
namespace {

constexpr int kRanks = 2;
constexpr Bytes kPiece = 512;
constexpr Bytes kEach = 96 << 10;

/// The number of requests that ranks made, and that other threads made for them.
struct Callers {
    std::mutex mutex;
    int by_rank = 0;
    int by_another = 0;
};

/// A store that counts the requests of the rank and of other threads. Its duplicate counts for the
/// same rank.
class CountingStore final : public MemoryStore {
  public:
    CountingStore(MemoryDisk& disk, Callers& callers, std::thread::id rank)
        : MemoryStore(disk), disk_(disk), callers_(callers), rank_(rank) {}
    Submitted submit(const IoRequest& request) override {
        {
            const std::lock_guard alone(callers_.mutex);
            ++(std::this_thread::get_id() == rank_ ? callers_.by_rank : callers_.by_another);
        }
        return MemoryStore::submit(request);
    }
    Result<std::unique_ptr<Store>> duplicate() override {
        return std::unique_ptr<Store>(std::make_unique<CountingStore>(disk_, callers_, rank_));
    }

  private:
    MemoryDisk& disk_;
    Callers& callers_;
    std::thread::id rank_;
};

struct Moved {
    Direction direction = Direction::write;
    bool holes = false;  ///< a third of the file belongs to no rank
};

/// Moves interleaved pieces of all ranks by a method. Returns the plan's overlap.
Overlap move(const std::string& method, int slots, const Moved& moved, Callers& callers) {
    MemoryDisk disk;
    if (moved.direction == Direction::read) disk.resize((kRanks + 1) * kEach);
    FlatTerms terms;
    terms.method = find_method(method);
    terms.slots = slots;
    terms.sub_buffer = 8 << 10;
    terms.cb_nodes = 1;
    terms.striping_unit = 8 << 10;
    terms.agents = {.ranks = {0}, .threads = 1, .block = 4 << 10, .message = 64 << 10};
    Overlap overlap = Overlap::none;
    run_ranks({.ranks = kRanks, .seed = 1}, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        CountingStore store(disk, callers, std::this_thread::get_id());
        Stats stats;
        PlanRecorder recorder([&](const Plan& plan) {
            EXPECT_EQ(plan.method->name, terms.method->name);
            if (rank == 0) overlap = plan.overlap;
        });
        RankFile file(transport, store, terms, stats,
                      {.shares_memory = true, .observer = &recorder});
        std::vector<std::byte> memory(kEach);
        Access access;
        access.direction = moved.direction;
        access.file = {Shape::run(kPiece), (moved.holes ? kRanks + 1 : kRanks) * kPiece,
                       rank * kPiece, Layout::unbounded};
        access.memory = {Shape::run(kEach), kEach, 0, 1};
        access.buffer = memory.data();
        EXPECT_EQ(file.access(access).bytes, kEach);
    });
    return overlap;
}

constexpr Moved kMoves[] = {{Direction::write, false}, {Direction::write, true}, {Direction::read}};

/// Tsujita et al., "Multithreaded Two-Phase I/O" (2014), section II-B: storage calls that the
/// exchanging thread makes itself overlap nothing.
TEST(IoThread, MakesTheStorageCallsOfEveryMethodWithSeveralSlots) {
    int methods_seen = 0;
    for (const Method& method : methods()) {
        if (method.schedule.slots <= 1 || method.on_node()) continue;
        ++methods_seen;
        for (const Moved& moved : kMoves) {
            Callers callers;
            EXPECT_EQ(move(std::string(method.name), 0, moved, callers), Overlap::io_thread);
            EXPECT_EQ(callers.by_rank, 0) << method.name;
            EXPECT_GT(callers.by_another, 0) << method.name;
        }
    }
    EXPECT_GE(methods_seen, 5);
}

TEST(IoThread, MakesTheStorageCallsOfAnyMethodThatAHintGivesSlots) {
    for (const char* const method :
         {"two_phase", "cb_cyclic", "sparse", "two_layer", "data_shipping"}) {
        for (const Moved& moved : kMoves) {
            Callers with_slots;
            EXPECT_EQ(move(method, 3, moved, with_slots), Overlap::io_thread) << method;
            EXPECT_EQ(with_slots.by_rank, 0) << method;
            Callers with_one;
            EXPECT_EQ(move(method, 1, moved, with_one), Overlap::none) << method;
            EXPECT_EQ(with_one.by_another, 0) << method;
        }
    }
}

/// The ranks of a node keep its cores busy with copies, so that another thread would gain nothing.
TEST(IoThread, IsNotUsedForBuffersOfANodeOverAPageCache) {
    Callers callers;
    EXPECT_EQ(move("shared_buffer", 2, {Direction::write, false}, callers), Overlap::other_ranks);
    EXPECT_EQ(callers.by_another, 0);
}

}  // namespace
}  // namespace oratorio::test::io_thread_test
