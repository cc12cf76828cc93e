// SPDX-License-Identifier: BSD-3-Clause
// Tests of the simulated disk: if its faults were not real faults, tests that rely on them would
// prove nothing.
#include "support/memory_store.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <set>

#include "store/transfer.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test::memory_store_test {
namespace {

using test::MemoryDisk;
using test::MemoryStore;

IoCompletion once(Store& store, Direction direction, Offset offset, std::span<std::byte> memory) {
    const iovec piece{memory.data(), memory.size()};
    EXPECT_NE(store.submit({direction, offset, std::span(&piece, 1), 1}), Submitted::full);
    std::array<IoCompletion, 1> out;
    EXPECT_EQ(store.reap(out, true), 1U);
    return out[0];
}

TEST(MemoryStore, a_full_disk_takes_what_fits_first) {
    MemoryDisk disk(10);
    MemoryStore store(disk);
    std::vector<std::byte> bytes(8, std::byte{1});
    EXPECT_EQ(once(store, Direction::write, 4, bytes).bytes, 6);
    EXPECT_EQ(once(store, Direction::write, 10, bytes).system_errno, ENOSPC);
    EXPECT_EQ(store.resize(11, false).error().kind, ErrorKind::no_space);
    EXPECT_EQ(disk.size(), 10);
}

TEST(MemoryStore, a_bad_range_fails_in_its_direction_only_and_after_the_bytes_before_it) {
    MemoryDisk disk;
    MemoryStore store(disk, {.bad_reads = {4, 6}, .bad_writes = {14, 16}});
    std::vector<std::byte> bytes(20, std::byte{1});
    EXPECT_EQ(once(store, Direction::write, 0, bytes).bytes, 14);
    EXPECT_EQ(once(store, Direction::write, 14, bytes).system_errno, EIO);
    EXPECT_EQ(once(store, Direction::read, 0, bytes).bytes, 4);
    EXPECT_EQ(once(store, Direction::read, 5, bytes).system_errno, EIO);
    EXPECT_EQ(once(store, Direction::read, 6, bytes).bytes, 8);
}

TEST(MemoryStore, faults_have_the_requested_rate_and_repeat_for_a_seed) {
    const auto results = [](std::uint64_t seed) {
        MemoryDisk disk;
        MemoryStore store(
            disk,
            {.seed = seed, .short_percent = 50, .interrupted_percent = 20, .again_percent = 20});
        std::vector<std::byte> bytes(100);
        std::vector<std::pair<Bytes, int>> all;
        for (int i = 0; i < 200; ++i) {
            const auto completion = once(store, Direction::write, 0, bytes);
            all.emplace_back(completion.bytes, completion.system_errno);
        }
        return all;
    };
    const auto first = results(5);
    EXPECT_EQ(first, results(5));
    EXPECT_NE(first, results(6));
    const auto count = [&](auto matches) { return std::ranges::count_if(first, matches); };
    EXPECT_GT(count([](auto r) { return r.second == EINTR; }), 10);
    EXPECT_GT(count([](auto r) { return r.second == EAGAIN; }), 10);
    EXPECT_GT(count([](auto r) { return r.second == 0 && r.first < 100; }), 20);
    EXPECT_EQ(count([](auto r) { return r.second == 0 && r.first == 0; }), 0);
}

TEST(MemoryStore, queued_requests_move_their_bytes_late_and_in_an_order_of_the_seed) {
    std::set<std::vector<std::uint64_t>> orders;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        MemoryDisk disk;
        MemoryStore store(disk, {.seed = seed, .asynchronous = true, .queue_depth = 4});
        std::array<std::byte, 4> bytes{};
        std::array<iovec, 4> pieces;
        for (std::uint64_t i = 0; i < 4; ++i) {
            pieces[i] = {&bytes[i], 1};
            const Offset at = static_cast<Offset>(i);
            EXPECT_EQ(store.submit({Direction::write, at, std::span(&pieces[i], 1), i}),
                      Submitted::queued);
        }
        EXPECT_EQ(store.submit({Direction::write, 0, pieces, 9}), Submitted::full);
        EXPECT_EQ(disk.size(), 0);
        // A caller must not change the bytes before the completion. This test does, to show that a
        // write reads its memory at completion.
        bytes.fill(std::byte{3});
        std::vector<std::uint64_t> order;
        std::array<IoCompletion, 4> out;
        while (const auto count = store.reap(out, true)) {
            for (std::size_t i = 0; i < count; ++i) order.push_back(out[i].token);
        }
        EXPECT_EQ(order.size(), 4U);
        EXPECT_EQ(disk.contents(), std::vector<std::byte>(4, std::byte{3}));
        orders.insert(order);
    }
    EXPECT_GT(orders.size(), 3U);
}

TEST(MemoryStore, counts_calls_and_bytes_of_all_stores_on_the_disk) {
    MemoryDisk disk;
    MemoryStore one(disk);
    MemoryStore two(disk);
    std::vector<std::byte> bytes(10);
    transfer(one, Direction::write, 0, bytes);
    transfer(two, Direction::write, 10, bytes);
    transfer(two, Direction::read, 15, bytes);
    EXPECT_TRUE(one.sync().ok());
    EXPECT_EQ(disk.counters().writes, 2U);
    EXPECT_EQ(disk.counters().bytes_written, 20U);
    EXPECT_EQ(disk.counters().bytes_read, 5U);
    EXPECT_EQ(disk.counters().syncs, 1U);
}

TEST(MemoryStore, calls_fail_with_the_requested_errno) {
    MemoryDisk disk;
    MemoryStore store(disk, {.resize_errno = EDQUOT, .sync_errno = EIO, .close_errno = ENOSPC});
    EXPECT_EQ(store.resize(5, false).error().kind, ErrorKind::quota);
    EXPECT_EQ(store.sync().error().kind, ErrorKind::io);
    EXPECT_EQ(store.close().error().kind, ErrorKind::no_space);
}

TEST(MemoryStore, a_lock_of_another_store_is_waited_for) {
    MemoryDisk disk;
    int inside = 0;
    test::run_ranks({.ranks = 4, .seed = 3}, [&](Transport& transport) {
        MemoryStore store(disk, {}, [&] { transport.idle(); });
        for (int i = 0; i < 10; ++i) {
            ASSERT_TRUE(store.lock({0, 10}, true, true).ok());
            EXPECT_EQ(++inside, 1);
            transport.idle();
            --inside;
            ASSERT_TRUE(store.lock({0, 10}, false, false).ok());
        }
    });
    EXPECT_EQ(disk.counters().locks, 40U);
}

TEST(MemoryStore, part_of_a_lock_can_be_released) {
    MemoryDisk disk;
    MemoryStore mine(disk);
    MemoryStore theirs(disk);
    ASSERT_TRUE(mine.lock({0, 100}, true, true).ok());
    ASSERT_TRUE(mine.lock({40, 60}, false, false).ok());
    EXPECT_TRUE(theirs.lock({40, 60}, true, true).ok());
    EXPECT_FALSE(theirs.lock({39, 40}, true, false).ok());
    EXPECT_FALSE(theirs.lock({60, 61}, true, false).ok());
    ASSERT_TRUE(mine.close().ok());
    EXPECT_TRUE(theirs.lock({0, 100}, true, true).ok());
}

void set(std::span<std::byte> bytes, std::size_t at, int value) {
    bytes[at] = static_cast<std::byte>(value);
}

TEST(MemoryStore, a_mapping_gives_back_only_the_bytes_that_changed) {
    MemoryDisk disk;
    MemoryStore store(disk);
    std::vector<std::byte> bytes(100, std::byte{1});
    disk.write(0, bytes);
    {
        auto mapped = store.map({10, 120}, Direction::write, Populate::no);
        ASSERT_TRUE(mapped.ok());
        EXPECT_EQ(disk.size(), 120);
        const std::byte theirs[] = {std::byte{9}};
        disk.write(20, theirs);
        disk.write(22, theirs);
        EXPECT_TRUE(mapped->guarded([&] { set(mapped->bytes(), 11, 5); }).ok());
        EXPECT_EQ(disk.contents({20, 23}), (std::vector{std::byte{9}, std::byte{5}, std::byte{9}}));
        set(mapped->bytes(), 109, 7);
    }
    EXPECT_EQ(disk.contents({118, 120}), (std::vector{std::byte{0}, std::byte{7}}));
    EXPECT_EQ(disk.counters().maps, 1U);
}

TEST(MemoryStore, a_mapped_write_to_a_full_disk_keeps_what_fits_and_tells_where_it_ended) {
    for (const int value : {0, 3}) {
        MemoryDisk disk(50);
        MemoryStore store(disk);
        auto mapped = store.map({10, 100}, Direction::write, Populate::no);
        ASSERT_TRUE(mapped.ok());
        const auto written = mapped->guarded(
            [&] { std::ranges::fill(mapped->bytes(), static_cast<std::byte>(value)); });
        ASSERT_FALSE(written.ok());
        EXPECT_EQ(written.error().kind, ErrorKind::no_space);
        EXPECT_EQ(written.error().offset, 50);
        EXPECT_EQ(written.error().length, 50);
        EXPECT_EQ(disk.contents({10, 50}), std::vector(40, static_cast<std::byte>(value)));
        EXPECT_EQ(disk.contents({50, 100}), std::vector<std::byte>(50));
    }
}

TEST(MemoryStore, bad_ranges_are_met_by_mappings_too_and_only_where_they_are_touched) {
    MemoryDisk disk;
    disk.resize(100);
    MemoryStore store(disk, {.bad_reads = {40, 50}, .bad_writes = {60, 70}});
    auto read = store.map({30, 100}, Direction::read, Populate::no);
    ASSERT_TRUE(read.ok());
    const auto done = read->guarded([] {});
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().kind, ErrorKind::io);
    EXPECT_EQ(done.error().offset, 40);
    auto write = store.map({0, 100}, Direction::write, Populate::no);
    ASSERT_TRUE(write.ok());
    EXPECT_TRUE(write->guarded([&] { set(write->bytes(), 59, 1); }).ok());
    const auto failed = write->guarded([&] {
        set(write->bytes(), 58, 1);
        set(write->bytes(), 65, 1);
    });
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().system_errno, EIO);
    EXPECT_EQ(failed.error().offset, 65);
    EXPECT_EQ(disk.contents({58, 60}), std::vector(2, std::byte{1}));
}

}  // namespace
}  // namespace oratorio::test::memory_store_test
