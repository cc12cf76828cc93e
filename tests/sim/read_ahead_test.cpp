// SPDX-License-Identifier: BSD-3-Clause
// Controlled prefetching (Prost et al. 2001, section 2.3) with one range per file block. First 2 *
// max_acc ranges are prefetched; whenever max_acc of them have been accessed, they are released and
// max_acc more are prefetched.
#include <gtest/gtest.h>

#include "engine/run.hpp"
#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/sim_transport.hpp"
#include "support/watched_prefetch.hpp"

namespace oratorio::test::read_ahead_test {
namespace {

constexpr Bytes kBlock = 1000;

using Told = std::vector<std::string>;

/// A store that records its requests in the list in which `prefetch` records ranges.
class ToldStore final : public MemoryStore {
  public:
    ToldStore(MemoryDisk& disk, WatchedPrefetch& prefetch)
        : MemoryStore(disk, {.prefetch = &prefetch}), told_(prefetch) {}
    Submitted submit(const IoRequest& request) override {
        Bytes bytes = 0;
        for (const iovec& piece : request.memory) bytes += static_cast<Bytes>(piece.iov_len);
        const Submitted how = MemoryStore::submit(request);
        const Extent range{request.offset, request.offset + bytes};
        if (how != Submitted::full) told_.note("access", range);
        return how;
    }

  private:
    WatchedPrefetch& told_;
};

struct Setting {
    Layout file;
    Bytes bytes = 0;
    Bytes from = 0;
    Direction direction = Direction::read;
    bool collective = false;
    int max_acc = 1;
    const char* method = "prefetch";
};

Stats run(const Setting& setting, WatchedPrefetch& prefetch) {
    MemoryDisk disk;
    disk.write(0, std::vector<std::byte>(100000, std::byte{0x22}));
    Stats stats;
    run_ranks({.ranks = 1}, [&](Transport& transport) {
        ToldStore store(disk, prefetch);
        FlatTerms options;
        options.method = find_method(setting.method);
        options.max_acc = setting.max_acc;
        options.striping_unit = kBlock;
        std::vector<std::byte> memory(static_cast<std::size_t>(setting.bytes));
        Access access;
        access.direction = setting.direction;
        access.file = setting.file;
        access.from = setting.from;
        access.memory = {Shape::run(setting.bytes), setting.bytes, 0, 1};
        access.buffer = memory.data();
        RankFile file(transport, store, options, stats);
        const Outcome outcome = file.access(access, setting.collective);
        EXPECT_EQ(outcome.error.kind, ErrorKind::none);
        EXPECT_EQ(outcome.bytes, setting.bytes);
    });
    EXPECT_TRUE(prefetch.outstanding.empty());
    EXPECT_EQ(prefetch.strangers, 0);
    return stats;
}

/// Returns a layout with two pieces of 100 bytes in each block, 300 and 700 bytes from the start of
/// the block.
Layout two_in_each_block() {
    return {Shape::runs({300, 700}, {100, 100}), kBlock, 0, Layout::unbounded};
}

TEST(ReadAhead, TheLargestNumberOfRangesIsFetchedAccessedAndReleasedInTurn) {
    for (const bool collective : {false, true}) {
        WatchedPrefetch prefetch;
        const Stats stats = run(
            {.file = two_in_each_block(), .bytes = 4 * 200, .collective = collective}, prefetch);
        EXPECT_EQ(prefetch.told,
                  (Told{"want 300-800", "want 1300-1800", "access 300-400", "access 700-800",
                        "release 300-800", "want 2300-2800", "access 1300-1400", "access 1700-1800",
                        "release 1300-1800", "want 3300-3800", "access 2300-2400",
                        "access 2700-2800", "release 2300-2800", "access 3300-3400",
                        "access 3700-3800", "release 3300-3800"}));
        EXPECT_EQ(stats.ranges_asked, 4U);
        EXPECT_EQ(stats.ranges_accessed, 4U);
        EXPECT_EQ(stats.ranges_released, 4U);
        EXPECT_EQ(prefetch.most_outstanding, 2U);
    }
}

TEST(ReadAhead, NeverAreMoreThanTwiceMaxAccOutstanding) {
    for (const int max_acc : {1, 2, 3, 7}) {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            WatchedPrefetch prefetch(seed);
            const Stats stats =
                run({.file = two_in_each_block(), .bytes = 30 * 200, .max_acc = max_acc}, prefetch);
            const auto most = static_cast<std::size_t>(2 * max_acc);
            EXPECT_LE(prefetch.most_outstanding, most);
            if (seed == 0) {
                EXPECT_EQ(prefetch.most_outstanding, most);
                EXPECT_EQ(stats.ranges_asked, 30U);
            }
            EXPECT_EQ(stats.ranges_accessed, 30U);
            EXPECT_EQ(stats.ranges_released, stats.ranges_asked);
        }
    }
}

TEST(ReadAhead, WithoutPrefetchingOneRangeIsAccessedAtATime) {
    WatchedPrefetch prefetch(0, 0);
    const Stats stats =
        run({.file = two_in_each_block(), .bytes = 2 * 200, .max_acc = 2}, prefetch);
    EXPECT_EQ(prefetch.told,
              (Told{"access 300-400", "access 700-800", "access 1300-1400", "access 1700-1800"}));
    EXPECT_EQ(stats.ranges_asked, 0U);
    EXPECT_EQ(stats.ranges_accessed, 2U);
    EXPECT_EQ(stats.ranges_released, 0U);
}

TEST(ReadAhead, RequestsRejectedRangesAgain) {
    WatchedPrefetch prefetch(0, 1);
    run({.file = two_in_each_block(), .bytes = 3 * 200, .max_acc = 2}, prefetch);
    EXPECT_EQ(prefetch.told, (Told{"want 300-800", "access 300-400", "access 700-800",
                                   "release 300-800", "want 1300-1800", "access 1300-1400",
                                   "access 1700-1800", "release 1300-1800", "want 2300-2800",
                                   "access 2300-2400", "access 2700-2800", "release 2300-2800"}));
}

TEST(ReadAhead, RangesAreCutAtBlocksAndAtTheAccess) {
    WatchedPrefetch prefetch;
    // The access is to data bytes 50 to 2650 of a view without holes that starts at byte 400.
    const Layout whole{Shape::run(1), 1, 400, Layout::unbounded};
    run({.file = whole, .bytes = 2600, .from = 50, .max_acc = 5}, prefetch);
    EXPECT_EQ(prefetch.told[0], "want 450-1000");
    EXPECT_EQ(prefetch.told[1], "want 1000-2000");
    EXPECT_EQ(prefetch.told[2], "want 2000-3000");
    EXPECT_EQ(prefetch.told[3], "want 3000-3050");
    EXPECT_EQ(prefetch.told[4], "access 450-3050") << "one transfer, as nothing waits in between";
    // If the storage has larger blocks, ranges are cut at these instead.
    WatchedPrefetch larger(0, 1000, 2500);
    run({.file = whole, .bytes = 2600, .from = 50, .max_acc = 5}, larger);
    EXPECT_EQ(larger.told[0], "want 450-2500");
    EXPECT_EQ(larger.told[1], "want 2500-3050");
}

TEST(ReadAhead, WritesDoTheSame) {
    WatchedPrefetch prefetch;
    const Stats stats =
        run({.file = two_in_each_block(), .bytes = 200, .direction = Direction::write}, prefetch);
    EXPECT_EQ(prefetch.told, (Told{"want to write 300-800", "access 300-400", "access 700-800",
                                   "release 300-800"}));
    EXPECT_EQ(stats.ranges_released, 1U);
}

TEST(ReadAhead, ZeroRangesAndOtherMethodsFetchNone) {
    WatchedPrefetch prefetch;
    const Setting none{.file = two_in_each_block(), .bytes = 2000, .max_acc = 0};
    EXPECT_EQ(run(none, prefetch).ranges_accessed, 0U);
    run({.file = two_in_each_block(), .bytes = 2000, .method = "list_io"}, prefetch);
    EXPECT_EQ(
        std::ranges::count_if(prefetch.told, [](const std::string& one) { return one[0] != 'a'; }),
        0);
}

}  // namespace
}  // namespace oratorio::test::read_ahead_test
