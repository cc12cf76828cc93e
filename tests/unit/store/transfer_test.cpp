// SPDX-License-Identifier: BSD-3-Clause
// Transfers under faults of every kind: a transfer reports exactly the bytes that were moved.
#include "store/transfer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <deque>
#include <vector>

#include "base/system_call.hpp"
#include "store/direct.hpp"
#include "support/memory_store.hpp"

namespace oratorio::test::transfer_test {
namespace {

using test::MemoryDisk;
using test::MemoryStore;
using test::MemoryStoreOptions;
using test::Random;

std::vector<std::byte> pattern(std::size_t length, std::uint64_t seed) {
    Random random(seed);
    std::vector<std::byte> bytes(length);
    for (auto& byte : bytes) byte = static_cast<std::byte>(1 + random.below(255));  // never 0
    return bytes;
}

// A store that returns the completions of a script, and then success for every request.
class ScriptedStore final : public Store {
  public:
    explicit ScriptedStore(std::deque<IoCompletion> script, int depth = 1)
        : script_(std::move(script)) {
        facts_.limits.queue_depth = depth;
        facts_.limits.bytes_max = 10;
    }
    const StoreFacts& facts() const override { return facts_; }
    Submitted submit(const IoRequest& request) override {
        if (done_.size() == static_cast<std::size_t>(limits().queue_depth)) return Submitted::full;
        offsets.push_back(request.offset);
        IoCompletion completion{.token = request.token};
        if (script_.empty() && is_aligned(request, limits().direct(request.direction))) ++direct;
        if (script_.empty()) {
            for (const iovec& piece : request.memory) {
                completion.bytes += static_cast<Bytes>(piece.iov_len);
            }
        } else {
            completion.bytes = script_.front().bytes;
            completion.system_errno = script_.front().system_errno;
            script_.pop_front();
        }
        done_.push_back(completion);
        return Submitted::done;
    }
    std::size_t reap(std::span<IoCompletion> out, bool) override {
        if (done_.empty()) return 0;
        out[0] = done_.back();  // completions come in reverse order
        done_.pop_back();
        return 1;
    }
    Result<Bytes> size() override { return Bytes{0}; }
    Result<void> resize(Bytes, bool) override { return {}; }
    Result<void> sync() override { return {}; }
    Result<void> lock(Extent, bool, bool) override { return {}; }
    Result<bool> is_locked_elsewhere(Extent) override { return false; }
    Result<Mapped> map(Extent range, Direction, Populate) override {
        return Mapped(range.begin, {}, nullptr);
    }
    Result<void> close() override { return {}; }

    void set_direct(const DirectAlignment& alignment, Bytes bytes_max) {
        facts_.limits.direct_write = alignment;
        facts_.limits.bytes_max = bytes_max;
    }

    std::vector<Offset> offsets;  // offsets of all requests
    // number of requests after those of the script that could bypass the page cache
    int direct = 0;

  private:
    StoreFacts facts_;
    std::deque<IoCompletion> script_;
    std::deque<IoCompletion> done_;
};

IoCompletion moved(Bytes bytes) {
    return {.bytes = bytes};
}
IoCompletion fails(int number) {
    return {.system_errno = number};
}

TEST(Transfer, a_short_transfer_is_continued_where_it_stopped) {
    ScriptedStore store({moved(3), moved(1)});
    std::vector<std::byte> bytes(10);
    const auto done = transfer(store, Direction::write, 100, bytes);
    EXPECT_EQ(done.bytes, 10);
    EXPECT_EQ(done.error.kind, ErrorKind::none);
    EXPECT_EQ(store.offsets, (std::vector<Offset>{100, 103, 104}));
}

TEST(Transfer, requests_completed_at_submit_are_not_polled) {
    ScriptedStore store({moved(10), moved(3), moved(7), fails(EINTR), fails(ENOSPC)});
    std::vector<std::byte> bytes(10);
    const iovec memory{bytes.data(), bytes.size()};
    Transfer some(store);
    Transferred done;
    const auto moves_at_once = [&](std::uint64_t token) {
        return some.move_or_start(Direction::write, 100, std::span(&memory, 1), token);
    };
    EXPECT_TRUE(moves_at_once(1));
    EXPECT_EQ(some.outstanding(), 0U);
    EXPECT_FALSE(some.poll(done, true));
    EXPECT_FALSE(moves_at_once(2)) << "it was short";
    EXPECT_EQ(some.outstanding(), 1U);
    ASSERT_TRUE(some.poll(done, true));
    EXPECT_EQ(done.token, 2U);
    EXPECT_EQ(done.bytes, 10);
    EXPECT_FALSE(moves_at_once(3)) << "it failed";
    ASSERT_TRUE(some.poll(done, true));
    EXPECT_EQ(done.bytes, 0);
    EXPECT_EQ(done.error.kind, ErrorKind::no_space);
    EXPECT_EQ(store.offsets, (std::vector<Offset>{100, 100, 103, 100, 100}));
    EXPECT_TRUE(moves_at_once(4)) << "all is as before";
}

TEST(Transfer, an_interrupted_request_is_repeated_very_often_and_fails_in_the_end) {
    for (const int times : {kInterruptionsMax - 1, kInterruptionsMax}) {
        ScriptedStore store(std::deque<IoCompletion>(times, fails(EINTR)));
        std::vector<std::byte> bytes(10);
        const auto done = transfer(store, Direction::read, 0, bytes);
        EXPECT_EQ(done.error.system_errno, times < kInterruptionsMax ? 0 : EINTR);
    }
}

TEST(Transfer, a_store_that_reports_too_many_bytes_has_failed) {
    for (const bool later : {false, true}) {
        ScriptedStore store(later ? std::deque{moved(4), moved(7)} : std::deque{moved(11)});
        std::vector<std::byte> bytes(10);
        const auto done = transfer(store, Direction::read, 0, bytes);
        EXPECT_EQ(done.bytes, later ? 4 : 0);
        EXPECT_EQ(done.error.system_errno, kInvalidResult);
    }
}

TEST(Transfer, a_request_that_always_returns_eagain_fails) {
    for (int number : {EAGAIN, ECANCELED}) {
        ScriptedStore some(std::deque<IoCompletion>(50, fails(number)));
        std::vector<std::byte> bytes(10);
        EXPECT_EQ(transfer(some, Direction::write, 0, bytes).bytes, 10);
        ScriptedStore many(std::deque<IoCompletion>(10'000, fails(number)));
        const auto done = transfer(many, Direction::write, 0, bytes);
        EXPECT_EQ(done.bytes, 0);
        EXPECT_EQ(done.error.kind, ErrorKind::io);
        EXPECT_EQ(done.error.system_errno, number);
        EXPECT_LT(many.offsets.size(), 10'000U);
    }
}

TEST(Transfer, a_request_that_moves_on_may_say_again_as_often_as_it_likes) {
    std::deque<IoCompletion> script;
    for (int i = 0; i < 9; ++i) {
        script.insert(script.end(), 60, fails(EAGAIN));
        script.push_back(moved(1));
    }
    ScriptedStore store(script);
    std::vector<std::byte> bytes(10);
    EXPECT_EQ(transfer(store, Direction::write, 0, bytes).bytes, 10);
}

TEST(Transfer, its_end_waits_for_what_the_store_holds) {
    MemoryDisk disk;
    MemoryStore store(disk, {.asynchronous = true, .queue_depth = 4});
    std::vector<std::byte> bytes(100);
    {
        Transfer transfer(store);
        for (int i = 0; i < 9; ++i) transfer.start(Direction::write, 0, bytes, 1);
    }
    EXPECT_EQ(disk.counters().writes, 4U);  // requests that only the Transfer had queued are
                                            // dropped
    std::vector<IoCompletion> out(4);
    EXPECT_EQ(store.reap(out, true), 0U);
}

TEST(Transfer, a_write_that_takes_no_bytes_is_an_error) {
    ScriptedStore store({moved(4), moved(0)});
    std::vector<std::byte> bytes(10);
    const auto done = transfer(store, Direction::write, 20, bytes);
    EXPECT_EQ(done.bytes, 4);
    EXPECT_EQ(done.error.kind, ErrorKind::io);
    EXPECT_EQ(done.error.offset, 24);
    EXPECT_EQ(done.error.length, 6);
}

TEST(Transfer, a_read_of_no_bytes_is_the_end_of_file_and_no_error) {
    ScriptedStore store({moved(4), moved(0)});
    std::vector<std::byte> bytes(10);
    const auto done = transfer(store, Direction::read, 20, bytes);
    EXPECT_EQ(done.bytes, 4);
    EXPECT_EQ(done.error.kind, ErrorKind::none);
    EXPECT_EQ(done.error.offset, -1);
}

TEST(Transfer, a_later_part_that_went_well_does_not_count_after_an_earlier_failed) {
    // The store holds three parts of 10 bytes at once, of which the second fails after 0 bytes.
    ScriptedStore store({moved(10), fails(EIO), moved(10)}, 3);
    std::vector<std::byte> bytes(30);
    const auto done = transfer(store, Direction::write, 0, bytes);
    EXPECT_EQ(store.offsets, (std::vector<Offset>{0, 10, 20}));
    EXPECT_EQ(done.bytes, 10);
    EXPECT_EQ(done.error.kind, ErrorKind::io);
    EXPECT_EQ(done.error.offset, 10);
}

TEST(Transfer, the_failure_at_the_lowest_offset_is_reported) {
    ScriptedStore store({moved(10), fails(ENOSPC), fails(EIO)}, 3);
    std::vector<std::byte> bytes(30);
    const auto done = transfer(store, Direction::write, 0, bytes);
    EXPECT_EQ(done.bytes, 10);
    EXPECT_EQ(done.error.kind, ErrorKind::no_space);
}

TEST(Transfer, no_request_follows_a_failure) {
    ScriptedStore store({moved(10), fails(EIO)});
    std::vector<std::byte> bytes(100);
    EXPECT_EQ(transfer(store, Direction::write, 0, bytes).bytes, 10);
    EXPECT_EQ(store.offsets.size(), 2U);
}

TEST(Transfer, an_empty_request_finishes_at_once_and_asks_nothing) {
    ScriptedStore store({});
    Transfer transfer(store);
    transfer.start(Direction::write, 5, std::span<std::byte>{}, 9);
    transfer.start(Direction::read, 5, std::span<const iovec>{}, 10);
    EXPECT_EQ(transfer.outstanding(), 2U);
    Transferred done;
    for (std::uint64_t token : {9U, 10U}) {
        ASSERT_TRUE(transfer.poll(done, false));
        EXPECT_EQ(done.token, token);
        EXPECT_EQ(done.bytes, 0);
        EXPECT_EQ(done.error.kind, ErrorKind::none);
    }
    EXPECT_FALSE(transfer.poll(done, true));
    EXPECT_EQ(transfer.calls(), 0U);
}

TEST(Transfer, polling_without_waiting_completes_all_requests) {
    MemoryDisk disk;
    MemoryStore store(disk, {.asynchronous = true, .late_percent = 95, .bytes_max = 10});
    auto bytes = pattern(1'000, 1);
    Transfer transfer(store);
    transfer.start(Direction::write, 0, bytes, 1);
    Transferred done;
    while (!transfer.poll(done, false)) ASSERT_EQ(transfer.outstanding(), 1U);
    EXPECT_EQ(done.bytes, 1'000);
    EXPECT_EQ(disk.contents(), bytes);
}

TEST(Transfer, a_full_disk_keeps_the_bytes_that_fit_and_reports_the_end) {
    for (bool asynchronous : {false, true}) {
        MemoryDisk disk(1'500);
        MemoryStore store(disk, {.asynchronous = asynchronous, .bytes_max = 400});
        auto bytes = pattern(2'000, 2);
        const auto done = transfer(store, Direction::write, 1'000, bytes);
        EXPECT_EQ(done.bytes, 500);
        EXPECT_EQ(done.error.kind, ErrorKind::no_space);
        EXPECT_EQ(done.error.system_errno, ENOSPC);
        EXPECT_EQ(done.error.offset, 1'500);
        EXPECT_EQ(disk.size(), 1'500);
    }
}

constexpr DirectAlignment kAlignment{.file = 4096, .memory = 512};

struct Split {
    std::vector<Offset> offsets;
    int direct;
};

// Returns the requests into which a write of memory pieces is split. A piece is a place in memory
// and a length.
Split split_of(Offset offset, std::vector<std::pair<std::size_t, std::size_t>> pieces,
               Bytes bytes_max = 1 << 20, std::deque<IoCompletion> script = {}) {
    alignas(4096) static std::array<std::byte, 1 << 17> memory;
    std::vector<iovec> list;
    Bytes total = 0;
    for (const auto& [at, length] : pieces) {
        list.push_back({memory.data() + at, length});
        total += static_cast<Bytes>(length);
    }
    ScriptedStore store(std::move(script));
    store.set_direct(kAlignment, bytes_max);
    Transfer transfer(store);
    transfer.start(Direction::write, offset, list, 1);
    Transferred done;
    EXPECT_TRUE(transfer.poll(done, true));
    EXPECT_EQ(done.bytes, total);
    return {store.offsets, store.direct};
}

using Offsets = std::vector<Offset>;

TEST(TransferDirect, ragged_ends_are_cut_off_when_memory_and_file_are_congruent) {
    const Split both = split_of(100, {{100, 20'000}});
    EXPECT_EQ(both.offsets, (Offsets{100, 4096, 16'384}));
    EXPECT_EQ(both.direct, 1);
    const Split other = split_of(100, {{612, 20'000}});  // same remainder by the memory's alignment
    EXPECT_EQ(other.offsets, (Offsets{100, 4096, 16'384}));
    const Split begin = split_of(8192, {{0, 5'000}});
    EXPECT_EQ(begin.offsets, (Offsets{8192, 12'288}));
    EXPECT_EQ(begin.direct, 1);
    const Split whole = split_of(8192, {{512, 8192}});
    EXPECT_EQ(whole.offsets, (Offsets{8192}));
    EXPECT_EQ(whole.direct, 1);
}

TEST(TransferDirect, unalignable_requests_are_not_split) {
    EXPECT_EQ(split_of(100, {{101, 20'000}}).offsets, (Offsets{100}));
    EXPECT_EQ(split_of(100, {{100, 4'000}}).offsets, (Offsets{100}));
    EXPECT_EQ(split_of(100, {{100, 8'000}}).offsets, (Offsets{100}));  // no whole block inside
    EXPECT_EQ(split_of(0, {{0, 100}, {512, 20'000}}).offsets, (Offsets{0}));
}

TEST(TransferDirect, pieces_of_memory_go_together_as_long_as_they_are_aligned) {
    const Split all = split_of(4096, {{0, 4096}, {16'384, 8192}, {0, 0}, {8192, 4096}});
    EXPECT_EQ(all.offsets, (Offsets{4096}));
    EXPECT_EQ(all.direct, 1);
    const Split some = split_of(4096, {{0, 8192}, {16'385, 8192}});
    EXPECT_EQ(some.offsets, (Offsets{4096, 12'288}));
    EXPECT_EQ(some.direct, 1);
    const Split late = split_of(3'000, {{0, 500}, {500, 596}, {8192, 9'000}});
    EXPECT_EQ(late.offsets, (Offsets{3'000, 4096, 12'288}));
    EXPECT_EQ(late.direct, 1);
}

TEST(TransferDirect, a_split_at_the_largest_request_stays_aligned) {
    const Split split = split_of(0, {{0, 20'480}}, 10'000);
    EXPECT_EQ(split.offsets, (Offsets{0, 8192, 16'384}));
    EXPECT_EQ(split.direct, 3);
}

TEST(TransferDirect, the_rest_of_a_short_transfer_follows_its_alignment) {
    const Split odd = split_of(0, {{0, 16'384}}, 1 << 20, {moved(5'000)});
    EXPECT_EQ(odd.offsets, (Offsets{0, 5'000}));
    EXPECT_EQ(odd.direct, 0);
    const Split even = split_of(0, {{0, 16'384}}, 1 << 20, {moved(8192)});
    EXPECT_EQ(even.offsets, (Offsets{0, 8192}));
    EXPECT_EQ(even.direct, 1);
}

// With random faults, bytes reported as moved must be in the file, and only a fault that lasts may
// stop a request.
TEST(Transfer, what_it_says_was_moved_was_moved_under_faults_of_all_kinds) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Random random(seed);
        MemoryDisk disk;
        MemoryStoreOptions options;
        options.seed = seed;
        options.short_percent = static_cast<int>(random.below(80));
        options.interrupted_percent = static_cast<int>(random.below(40));
        options.again_percent = static_cast<int>(random.below(40));
        options.asynchronous = random.chance(50);
        options.queue_depth = static_cast<int>(random.between(1, 8));
        options.iovecs_max = static_cast<int>(random.between(1, 5));
        options.bytes_max = random.between(1, 200);
        const Offset bad = random.between(0, 3'000);
        const bool breaks = random.chance(50);
        const Extent bad_range{bad, breaks ? bad + 50 : bad};
        options.bad_writes = bad_range;
        MemoryStore store(disk, options);

        auto bytes = pattern(static_cast<std::size_t>(random.between(1, 2'000)), seed);
        std::vector<iovec> pieces;
        for (std::size_t at = 0; at < bytes.size();) {
            const auto length = std::min<std::size_t>(random.below(300), bytes.size() - at);
            pieces.push_back({bytes.data() + at, length});
            at += length;
        }
        const Offset offset = random.between(0, 1'000);
        const auto length = static_cast<Bytes>(bytes.size());
        const Extent range{offset, offset + length};
        const bool hit = !intersect(range, bad_range).empty();
        Transfer transfer(store);
        transfer.start(Direction::write, offset, pieces, seed);
        Transferred done;
        ASSERT_TRUE(transfer.poll(done, true));
        EXPECT_EQ(done.token, seed);
        EXPECT_EQ(done.error.kind, hit ? ErrorKind::io : ErrorKind::none);
        EXPECT_EQ(done.bytes, hit ? std::max(bad, offset) - offset : length);
        EXPECT_EQ(disk.contents({offset, offset + done.bytes}),
                  std::vector(bytes.begin(), bytes.begin() + done.bytes));

        std::vector<std::byte> back(bytes.size() + 100);
        const auto read = oratorio::transfer(store, Direction::read, offset, back);
        EXPECT_EQ(read.error.kind, ErrorKind::none);
        EXPECT_EQ(read.bytes, std::max<Bytes>(disk.size() - offset, 0));
        EXPECT_TRUE(std::equal(back.begin(), back.begin() + done.bytes, bytes.begin()));
    }
}

}  // namespace
}  // namespace oratorio::test::transfer_test
