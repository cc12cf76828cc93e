// SPDX-License-Identifier: BSD-3-Clause
// When the writes of an access are flushed, on a file system whose client keeps writes until it
// flushes them (FUSE): no method leaves a write unflushed, an aggregator flushes many rounds
// together, and a failed flush is reported on all ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test::write_series_test {
namespace {

constexpr int kRanks = 4;
constexpr Bytes kSlot = 8 << 10;  // bytes of a round

/// What the clients of all ranks do.
struct Flushes {
    int fails_at = 0;     ///< the flush with this number fails, from 1; 0: none does
    int count = 0;        ///< number of flushes
    int kept = 0;         ///< writes that are not flushed
    int under_locks = 0;  ///< locks released while writes were kept, though limits() forbid it
    int fills = 0;        ///< number of times that holes were filled, under a lock
    std::mutex mutex;     ///< guards the other members, because I/O threads run concurrently
};

/// A store of a client that keeps writes until it flushes them.
class KeepingStore final : public MemoryStore {
  public:
    KeepingStore(MemoryDisk& disk, Flushes& flushes, bool before_unlock,
                 std::function<void()> while_locked, bool asynchronous = false)
        : MemoryStore(disk, {.asynchronous = asynchronous}, std::move(while_locked)),
          disk_(disk),
          flushes_(flushes),
          facts_(MemoryStore::facts()) {
        facts_.limits.mappable = false;
        facts_.limits.flush_before_unlock = before_unlock;
    }
    [[nodiscard]] const StoreFacts& facts() const override { return facts_; }
    Submitted submit(const IoRequest& request) override {
        const Submitted submitted = MemoryStore::submit(request);
        if (request.direction == Direction::read) return submitted;
        const std::lock_guard alone(flushes_.mutex);
        ++kept_;
        ++flushes_.kept;
        if (request.flush == Flush::at_once) fails_ = !flush();
        return submitted;
    }
    std::size_t reap(std::span<IoCompletion> out, bool wait) override {
        // There is at most one: limits().queue_depth.
        const std::size_t count = MemoryStore::reap(out, wait);
        // A failed write may report that an earlier one was lost.
        if (count > 0 && out[0].system_errno != 0 && kept_ > 1) ++lost_;
        if (count > 0 && std::exchange(fails_, false)) {
            out[0].bytes = 0;
            out[0].system_errno = ENOSPC;
        }
        return count;
    }
    [[nodiscard]] std::uint64_t lost_writes() const override { return lost_; }
    Result<void> flush_series(std::uint64_t lost_before) override {
        const std::lock_guard alone(flushes_.mutex);
        if (kept_ > 0) (void)flush();
        if (lost_ == lost_before) return {};
        return Error::of_errno("write", ENOSPC);
    }
    Result<void> lock(Extent range, bool lock, bool exclusive) override {
        if (!lock && kept_ > 0 && facts_.limits.flush_before_unlock) ++flushes_.under_locks;
        return MemoryStore::lock(range, lock, exclusive);
    }
    /// Makes the store of the rank's I/O thread.
    Result<std::unique_ptr<Store>> duplicate() override {
        return std::unique_ptr<Store>(std::make_unique<KeepingStore>(
            disk_, flushes_, facts_.limits.flush_before_unlock, [] { std::this_thread::yield(); }));
    }

  private:
    bool flush() {
        flushes_.kept -= std::exchange(kept_, 0);
        if (++flushes_.count != flushes_.fails_at) return true;
        ++lost_;
        return false;
    }

    MemoryDisk& disk_;
    Flushes& flushes_;
    StoreFacts facts_;
    int kept_ = 0;
    bool fails_ = false;  ///< the flush of the request that is to be reaped has failed
    std::uint64_t lost_ = 0;
};

struct Written {
    std::string method;
    bool holes = false;         ///< a fifth of the file belongs to no rank
    bool fills = true;          ///< holes may be filled, under a lock
    bool asynchronous = false;  ///< several rounds may be stored at the same time
    bool sole = true;           ///< no other handle fills holes; otherwise rounds are locked
    bool before_unlock = true;  ///< limits().flush_before_unlock
    Bytes piece = 512;          ///< of one rank; the pieces of the ranks take turns in the file
    Bytes each = 64 << 10;      ///< bytes of each rank
    Bytes buffer = 16 << 10;    ///< collective buffer of the only aggregator
    Bytes room = INT64_MAX;     ///< size of the disk
};

/// Writes pieces of all ranks by a method, and returns the outcomes of the ranks.
std::vector<Outcome> write(const Written& written, Flushes& flushes) {
    MemoryDisk disk(written.room);
    disk.resize(std::min(written.room, (kRanks + 1) * written.each));
    FlatTerms terms;
    terms.method = find_method(written.method);
    terms.cb_buffer_size = written.buffer;
    terms.sub_buffer = kSlot;
    terms.cb_nodes = 1;
    terms.striping_unit = 8 << 10;
    terms.agents = {.ranks = {0}, .threads = 1, .block = 4 << 10, .message = 64 << 10};
    std::vector<Outcome> outcomes(kRanks);
    run_ranks({.ranks = kRanks, .seed = 1}, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        KeepingStore store(
            disk, flushes, written.before_unlock, [&] { transport.idle(); }, written.asynchronous);
        Stats stats;
        RankFile file(transport, store, terms, stats, {.shares_memory = true});
        file.lock_policy.fills = written.fills;
        file.lock_policy.sole = written.sole;
        std::vector<std::byte> memory(static_cast<std::size_t>(written.each));
        Access access;
        access.direction = Direction::write;
        access.file = {Shape::run(written.piece),
                       (written.holes ? kRanks + 1 : kRanks) * written.piece, rank * written.piece,
                       Layout::unbounded};
        access.memory = {Shape::run(written.each), written.each, 0, 1};
        access.buffer = memory.data();
        outcomes[static_cast<std::size_t>(rank)] = file.access(access);
        flushes.fills += static_cast<int>(stats.hole_reads);
    });
    return outcomes;
}

/// Makes a write that succeeds, and returns the number of flushes.
int flushes_of(const Written& written) {
    Flushes flushes;
    for (const Outcome& outcome : write(written, flushes)) {
        EXPECT_EQ(outcome.error.kind, ErrorKind::none) << written.method;
        EXPECT_EQ(outcome.bytes, written.each) << written.method;
    }
    EXPECT_EQ(flushes.kept, 0) << written.method;
    EXPECT_EQ(flushes.under_locks, 0) << written.method;
    return flushes.count;
}

TEST(WriteSeries, NoMethodLeavesAWriteUnflushed) {
    for (const Method& method : methods()) {
        for (int i = 0; i < 8; ++i) {
            SCOPED_TRACE(i);
            EXPECT_GE(flushes_of({.method = std::string(method.name),
                                  .holes = (i & 1) != 0,
                                  .fills = (i & 2) != 0,
                                  .before_unlock = (i & 4) != 0}),
                      1);
        }
    }
}

TEST(WriteSeries, AnAggregatorFlushesItsRoundsTogether) {
    EXPECT_EQ(flushes_of({.method = "two_phase"}), 1) << "32 rounds";
    EXPECT_EQ(flushes_of({.method = "shared_buffer"}), 1);
    EXPECT_EQ(flushes_of({.method = "list_io"}), kRanks) << "each rank for its own pieces";
}

TEST(WriteSeries, HolesAreFlushedBeforeTheirLockIsReleasedIfOtherNodesNeedIt) {
    for (const std::string method : {"two_phase", "shared_buffer"}) {
        const Written holes{.method = method, .holes = true, .piece = 64};
        Flushes flushes;
        (void)write(holes, flushes);
        EXPECT_GT(flushes.fills, 10);
        EXPECT_EQ(flushes.count, flushes.fills);
        Written changed = holes;
        changed.before_unlock = false;
        EXPECT_EQ(flushes_of(changed), 1) << "one node";
        changed = holes;
        changed.fills = false;
        EXPECT_EQ(flushes_of(changed), 1) << "pieces, without a lock";
    }
}

TEST(WriteSeries, IsFlushedWheneverItIsLong) {
    const Written longer{
        .method = "shared_buffer", .piece = 1 << 20, .each = 20 << 20, .buffer = 4 << 20};
    EXPECT_EQ(flushes_of(longer), 3) << "32, 32 and 16 MiB";
    // The first 32 MiB are stored; no later byte counts.
    Flushes flushes;
    flushes.fails_at = 2;
    Bytes stored = 0;
    for (const Outcome& outcome : write(longer, flushes)) {
        EXPECT_EQ(outcome.error.kind, ErrorKind::no_space);
        stored += outcome.bytes;
    }
    EXPECT_EQ(stored, WriteSeries::kBytesMost);
}

/// Other rounds are partly written when the flush of a long series fails.
TEST(WriteSeries, ALongSeriesThatFailsCountsFromItsFirstRound) {
    Flushes flushes;
    flushes.fails_at = 1;
    Bytes stored = 0;
    for (const Outcome& outcome : write(
             {.method = "shared_buffer", .asynchronous = true, .piece = 1 << 20, .each = 10 << 20},
             flushes)) {
        EXPECT_EQ(outcome.error.kind, ErrorKind::no_space);
        stored += outcome.bytes;
    }
    EXPECT_EQ(stored, 0);
}

/// The end of the disk is in the middle of a round, whose first bytes are written but not flushed.
TEST(WriteSeries, ARoundThatFailsUnderALockDoesNotCountInPart) {
    for (const bool before_unlock : {true, false}) {
        const Written full{.method = "two_phase",
                           .sole = false,
                           .before_unlock = before_unlock,
                           .room = 3 * kSlot + kSlot / 2};
        Flushes flushes;
        Bytes stored = 0;
        for (const Outcome& outcome : write(full, flushes)) {
            EXPECT_EQ(outcome.error.kind, ErrorKind::no_space);
            stored += outcome.bytes;
        }
        EXPECT_EQ(stored, before_unlock ? 3 * kSlot : 0) << "three rounds were flushed, or none";
        EXPECT_EQ(flushes.kept, 0);
    }
}

TEST(WriteSeries, AFailedFlushIsReportedOnAllRanks) {
    for (const Method& method : methods()) {
        SCOPED_TRACE(method.name);
        Flushes flushes;
        flushes.fails_at = 1;
        Bytes stored = 0;
        for (const Outcome& outcome : write({.method = std::string(method.name)}, flushes)) {
            EXPECT_EQ(outcome.error.kind, ErrorKind::no_space);
            stored += outcome.bytes;
        }
        EXPECT_LT(stored, kRanks * Written().each);
        EXPECT_EQ(flushes.kept, 0);
    }
}

}  // namespace
}  // namespace oratorio::test::write_series_test
