// SPDX-License-Identifier: BSD-3-Clause
// The store behind an I/O thread: the thread really does the requests, and no call overtakes them.
#include "store/threaded.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <vector>

#include "engine/lock_policy.hpp"
#include "store/lazy_open.hpp"
#include "store/transfer.hpp"
#include "support/forbidden_calls.hpp"
#include "support/memory_store.hpp"
#include "support/temporary_folder.hpp"

namespace oratorio {
namespace {

using test::MemoryDisk;
using test::MemoryStore;
using test::MemoryStoreOptions;
using test::Random;

// What a store has seen: its requests, the thread of the last one, and how many requests preceded
// the last call of another kind.
struct Seen {
    std::vector<std::uint64_t> tokens;
    std::size_t requests_before_call = 0;
    std::thread::id thread;
    bool takes_signals = true;
};

// A store that, like its duplicates, fills in a Seen. A request takes some time, so that a call
// that does not wait for it would come first.
class SlowStore : public Store {
  public:
    explicit SlowStore(Seen& seen) : seen_(seen) {}
    Submitted submit(const IoRequest& request) override {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        seen_.thread = std::this_thread::get_id();
        sigset_t blocked;
        ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        seen_.takes_signals = sigismember(&blocked, SIGUSR1) == 0;
        seen_.tokens.push_back(request.token);
        return Submitted::done;
    }
    std::size_t reap(std::span<IoCompletion> out, bool) override {
        out[0] = {.token = seen_.tokens.back(), .bytes = 1};
        return 1;
    }
    Result<Bytes> size() override { return note(); }
    Result<void> resize(Bytes, bool) override { return (void)note(), Result<void>(); }
    Result<void> sync() override { return (void)note(), Result<void>(); }
    Result<void> lock(Extent, bool, bool) override { return (void)note(), Result<void>(); }
    Result<bool> is_locked_elsewhere(Extent) override { return (void)note(), false; }
    Result<Mapped> map(Extent range, Direction, Populate) override {
        (void)note();
        return Mapped(range.begin, {}, nullptr);
    }
    Result<std::unique_ptr<Store>> duplicate() override {
        return std::unique_ptr<Store>(std::make_unique<SlowStore>(seen_));
    }
    Result<void> close() override { return (void)note(), Result<void>(); }

  private:
    Bytes note() {
        seen_.requests_before_call = seen_.tokens.size();
        return static_cast<Bytes>(seen_.tokens.size());
    }

  protected:
    Seen& seen_;
};

// Marks the steps of a request to a RefusingStore.
struct Steps {
    std::latch has_changed{1};
    std::latch may_end{1};
};

// A store that gives up direct I/O in a request, and only then waits until the request may end.
class RefusingStore final : public SlowStore {
  public:
    RefusingStore(Seen& seen, Steps& steps) : SlowStore(seen), steps_(steps) {
        facts_.limits.direct_write = {512, 512};
    }
    [[nodiscard]] const StoreFacts& facts() const override { return facts_; }
    Submitted submit(const IoRequest& request) override {
        facts_.limits.direct_write = {};
        facts_.limits.remark = "refused";
        steps_.has_changed.count_down();
        steps_.may_end.wait();
        return SlowStore::submit(request);
    }
    Result<std::unique_ptr<Store>> duplicate() override {
        return std::unique_ptr<Store>(std::make_unique<RefusingStore>(seen_, steps_));
    }

  private:
    Steps& steps_;
    StoreFacts facts_;
};

std::byte one_byte{1};
iovec one_piece{&one_byte, 1};

void submit(Store& store, std::uint64_t token) {
    ASSERT_EQ(store.submit({Direction::write, 0, std::span(&one_piece, 1), token}),
              Submitted::queued);
}

TEST(Threaded, requests_are_done_in_order_by_another_thread_without_signals) {
    Seen seen;
    SlowStore slow(seen);
    IoThread thread;
    const auto store = make_threaded(slow, thread, 3);
    EXPECT_TRUE(store->limits().asynchronous);
    EXPECT_EQ(store->limits().queue_depth, 3);
    for (std::uint64_t token = 0; token < 3; ++token) submit(*store, token);
    EXPECT_EQ(store->submit({Direction::write, 0, std::span(&one_piece, 1), 3}), Submitted::full);
    std::array<IoCompletion, 4> out;
    std::vector<std::uint64_t> tokens;
    while (const std::size_t count = store->reap(out, true)) {
        for (std::size_t i = 0; i < count; ++i) tokens.push_back(out[i].token);
    }
    EXPECT_EQ(tokens, (std::vector<std::uint64_t>{0, 1, 2}));
    EXPECT_NE(seen.thread, std::this_thread::get_id());
    EXPECT_FALSE(seen.takes_signals);
}

TEST(Threaded, limits_that_a_request_changes_are_seen_only_once_it_is_done) {
    Seen seen;
    Steps steps;
    RefusingStore refusing(seen, steps);
    IoThread thread;
    const auto store = make_threaded(refusing, thread, 1);
    submit(*store, 1);
    steps.has_changed.wait();
    const auto another = make_threaded(refusing, thread, 1);
    for (const StoreLimits& seen_now : {thread.limits(), store->limits(), another->limits()}) {
        EXPECT_EQ(seen_now.remark, "");
        EXPECT_EQ(seen_now.direct_write.file, 512);
    }
    steps.may_end.count_down();
    std::array<IoCompletion, 1> out;
    EXPECT_EQ(store->reap(out, true), 1U);
    for (const StoreLimits& seen_now : {thread.limits(), store->limits()}) {
        EXPECT_EQ(seen_now.remark, "refused");
        EXPECT_EQ(seen_now.direct_write.file, 0);
    }
}

// A job that makes two requests with the store that it is given.
struct TwoRequests final : StoreJob {
    Store* by = nullptr;
    void perform(Store& store) override {
        by = &store;
        for (const std::uint64_t token : {7, 8}) {
            EXPECT_EQ(store.submit({Direction::write, 0, std::span(&one_piece, 1), token}),
                      Submitted::done);
        }
    }
};

TEST(Threaded, a_job_is_performed_in_order_by_the_thread_with_its_own_store) {
    Seen seen;
    SlowStore slow(seen);
    IoThread thread;
    const auto store = make_threaded(slow, thread, 3);
    ASSERT_TRUE(store->limits().performs_jobs);
    Transfer transfer(*store, nullptr);
    TwoRequests job;
    transfer.start(Direction::write, 0, std::span(&one_byte, 1), 0);
    transfer.start(job, 1);
    thread.wait_until_idle();
    ASSERT_EQ(seen.tokens.size(), 3U);
    EXPECT_EQ(seen.tokens[1], 7U);
    EXPECT_EQ(seen.tokens[2], 8U);
    EXPECT_EQ(job.by, thread.store());
    EXPECT_NE(seen.thread, std::this_thread::get_id());
}

TEST(Threaded, a_job_is_performed_by_the_caller_where_the_store_performs_none) {
    Seen seen;
    SlowStore slow(seen);
    Transfer transfer(slow, nullptr);
    TwoRequests job;
    transfer.start(job, 1);
    EXPECT_EQ(seen.tokens, (std::vector<std::uint64_t>{7, 8}));
    EXPECT_EQ(job.by, &slow);
    Transferred done;
    ASSERT_TRUE(transfer.poll(done, false));
    EXPECT_EQ(done.token, 1U);
}

// Descriptors that were duplicated own their locks together, so a lock of the program's thread
// would replace that of the job, and its release would end the job's.
TEST(Threaded, a_lock_of_the_same_handle_waits_until_the_thread_is_idle) {
    Seen seen;
    SlowStore slow(seen);
    IoThread thread;
    const auto store = make_threaded(slow, thread, 3);
    for (std::uint64_t token = 0; token < 3; ++token) submit(*store, token);
    LockPolicy policy;
    policy.io_thread = &thread;
    ASSERT_TRUE(policy.take(slow, {0, 1}, true));
    EXPECT_EQ(seen.requests_before_call, 3U);
}

// A lock service that grants every lock, and counts the requests that were performed before.
struct GrantsAll final : LockService {
    explicit GrantsAll(const Seen& all) : seen(all) {}
    Result<LockId> acquire(const LockKey&, Extent, bool) override {
        requests_before = seen.tokens.size();
        return LockId{1};
    }
    Result<void> release(LockId) override { return {}; }
    const Seen& seen;
    std::size_t requests_before = 0;
};

// A queued job may wait for a lock of the same range. If the program's thread held it, that
// thread's next request, which is queued behind the job, would never end.
TEST(Threaded, a_lock_of_the_service_waits_until_the_queue_of_its_store_is_empty) {
    Seen seen;
    SlowStore slow(seen);
    IoThread thread;
    const auto store = make_threaded(slow, thread, 3);
    for (std::uint64_t token = 0; token < 3; ++token) submit(*store, token);
    const auto service = std::make_shared<GrantsAll>(seen);
    const JobLocksOfFile locks{
        .service = service, .file = {}, .refused = {}, .with_file_lock = false};
    LockPolicy policy;
    policy.job = &locks;
    ASSERT_TRUE(policy.take(*store, {0, 1}, true));
    EXPECT_EQ(service->requests_before, 3U);
}

TEST(Threaded, every_other_call_waits_for_what_is_queued) {
    Seen seen;
    SlowStore slow(seen);
    IoThread thread;
    const auto store = make_threaded(slow, thread, 8);
    const std::vector<std::function<void()>> calls{
        [&] { EXPECT_TRUE(store->size().ok()); },
        [&] { EXPECT_TRUE(store->resize(1, false).ok()); },
        [&] { EXPECT_TRUE(store->sync().ok()); },
        [&] {
            EXPECT_TRUE(store->lock({0, 1}, true, true).ok());
        },
        [&] {
            EXPECT_TRUE(store->map({0, 1}, Direction::read, Populate::no).ok());
        },
        [&] { EXPECT_TRUE(store->close().ok()); },
    };
    std::array<IoCompletion, 2> out;
    for (std::size_t number = 0; number < calls.size(); ++number) {
        submit(*store, 2 * number);
        submit(*store, 2 * number + 1);
        calls[number]();
        EXPECT_EQ(seen.requests_before_call, 2 * number + 2);
        // The requests are done, so that a reap need not wait.
        EXPECT_EQ(store->reap(out, false), 2U);
    }
}

TEST(Threaded, the_end_of_the_store_waits_for_its_requests_and_the_thread_serves_others) {
    Seen seen;
    SlowStore slow(seen);
    IoThread thread;
    const auto stays = make_threaded(slow, thread, 4);
    {
        const auto store = make_threaded(slow, thread, 4);
        for (std::uint64_t token = 0; token < 4; ++token) {
            submit(*stays, 4 + token);
            submit(*store, token);  // in the last turn, the last request of all
        }
    }
    EXPECT_EQ(std::ranges::count_if(seen.tokens, [](auto token) { return token < 4; }), 4);
    EXPECT_EQ(*stays->size(), 8);
}

// This is the test of the same name in transfer_test.cpp, with an I/O thread between the transfer
// and the store.
TEST(Threaded, what_it_says_was_moved_was_moved_under_faults_of_all_kinds) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Random random(seed);
        MemoryDisk disk(random.between(500, 3'000));
        MemoryStoreOptions options;
        options.seed = seed;
        options.short_percent = static_cast<int>(random.below(80));
        options.interrupted_percent = static_cast<int>(random.below(40));
        options.again_percent = static_cast<int>(random.below(40));
        options.asynchronous = random.chance(30);
        options.bytes_max = random.between(1, 200);
        const Offset bad = random.between(0, 3'000);
        options.bad_writes = {bad, random.chance(50) ? bad + 50 : bad};
        MemoryStore under(disk, options);
        IoThread thread;
        const auto store = make_threaded(under, thread, static_cast<int>(random.between(1, 8)));

        std::vector<std::byte> bytes(static_cast<std::size_t>(random.between(1, 2'000)));
        for (auto& byte : bytes) byte = static_cast<std::byte>(random.next());
        const Offset offset = random.between(0, 1'000);
        const Offset end = offset + static_cast<Bytes>(bytes.size());
        const Extent hit = intersect({offset, end}, options.bad_writes);
        Offset stop = std::min(end, std::max(disk.capacity(), offset));
        if (!hit.empty()) stop = std::min(stop, hit.begin);
        const auto done = transfer(*store, Direction::write, offset, bytes);
        EXPECT_EQ(done.error.kind != ErrorKind::none, stop < end);
        EXPECT_EQ(done.bytes, stop - offset);
        // Parts after the one that failed may have been written.
        EXPECT_GE(*store->size(), stop > offset ? stop : 0);
        EXPECT_EQ(disk.contents({offset, stop}),
                  std::vector(bytes.begin(), bytes.begin() + done.bytes));
    }
}

// When make_threaded() returns null, the caller uses the store that it has.
TEST(Threaded, there_is_none_without_a_thread) {
    bool forbidden = false;
    std::unique_ptr<Store> store;
    Seen seen;
    SlowStore slow(seen);
    std::thread([&] {
        forbidden = test::forbid({SYS_clone3, SYS_clone}, EAGAIN);
        IoThread thread;
        store = make_threaded(slow, thread, 2);
    }).join();
    if (!forbidden) GTEST_SKIP() << "this kernel has no system call filters";
    EXPECT_EQ(store, nullptr);
}

TEST(Threaded, a_store_of_its_own_does_requests_on_the_caller_where_there_is_no_thread) {
    bool forbidden = false;
    Transferred done;
    const test::TemporaryFolder folder;
    std::thread([&] {
        forbidden = test::forbid({SYS_clone3, SYS_clone}, EAGAIN);
        auto store =
            open_threaded(folder.file("data"), {.read = true, .write = true, .create = true}, 2);
        ASSERT_TRUE(store.ok());
        done = transfer(**store, Direction::write, 0, std::span(&one_byte, 1));
    }).join();
    if (!forbidden) GTEST_SKIP() << "this kernel has no system call filters";
    EXPECT_EQ(done.bytes, 1);
}

// A store that cannot be duplicated cannot be used by a thread.
TEST(Threaded, there_is_none_without_a_store_for_the_thread) {
    const auto refused = open_lazily([]() -> Result<std::unique_ptr<Store>> {
        return Error::make(ErrorKind::access, "test", EACCES);
    });
    MemoryDisk disk;
    MemoryStore store(disk);
    IoThread thread;  // its store doesn't outlive the disk
    EXPECT_EQ(make_threaded(*refused, thread, 2), nullptr);
    EXPECT_NE(make_threaded(store, thread, 2), nullptr);
}

// The program's thread accesses the file independently while the I/O thread has requests of a
// collective access. Each must get its own completions only. If both used one store, the I/O thread
// could reap a completed request of the program, and the program's own completion would never come.
class WithTheProgram : public testing::TestWithParam<const char*> {
  protected:
    Result<std::unique_ptr<Store>> open() {
        const OpenMode mode{.read = true, .write = true, .create = true};
        const std::string kind = GetParam();
        const std::string path = folder_.file("data");
        if (kind == "uring") return open_uring(path, mode, 4);
        if (kind == "threaded") return open_threaded(path, mode, 4);
        if (kind == "uncached") return open_uncached(path, mode);
        if (kind == "cached_reads") return open_cached_reads(path, mode);
        if (kind == "late") return open_lazily([=] { return open_posix(path, mode); });
        return open_posix(path, mode);
    }
    test::TemporaryFolder folder_;
};

TEST_P(WithTheProgram, requests_of_both_do_not_mix) {
    constexpr std::size_t kLength = 8192;
    auto opened = open();
    if (!opened.ok() && opened.error().kind == ErrorKind::unsupported_operation)
        GTEST_SKIP() << describe(opened.error(), GetParam());
    ASSERT_TRUE(opened.ok());
    Store& store = **opened;
    ASSERT_TRUE(store.prepare().ok());
    std::vector<std::byte> mine(kLength, std::byte{1}), theirs(kLength, std::byte{2});
    const iovec my_memory{mine.data(), mine.size()};
    const iovec their_memory{theirs.data(), theirs.size()};
    IoThread thread;
    {
        const auto beside = make_threaded(store, thread, 2);
        ASSERT_NE(beside, nullptr);
        for (int turn = 0; turn < 20; ++turn) {
            ASSERT_NE(store.submit({Direction::write, 0, std::span(&my_memory, 1), 1}),
                      Submitted::full);
            ASSERT_NE(beside->submit({Direction::write, kLength, std::span(&their_memory, 1), 2}),
                      Submitted::full);
            IoCompletion done;
            ASSERT_EQ(beside->reap(std::span(&done, 1), true), 1U);
            EXPECT_EQ(done.token, 2U);
            EXPECT_EQ(done.bytes, static_cast<Bytes>(kLength));
            ASSERT_EQ(store.reap(std::span(&done, 1), true), 1U);
            EXPECT_EQ(done.token, 1U);
            EXPECT_EQ(done.bytes, static_cast<Bytes>(kLength));
        }
    }
    std::vector<std::byte> both(2 * kLength), expected = mine;
    expected.insert(expected.end(), theirs.begin(), theirs.end());
    EXPECT_EQ(transfer(store, Direction::read, 0, both).bytes, std::ssize(both));
    EXPECT_EQ(both, expected);
    EXPECT_TRUE(thread.close().ok());
    EXPECT_TRUE(store.close().ok());
}

// The I/O thread may write the ranges that this handle has locked.
TEST_P(WithTheProgram, a_lock_is_held_for_both) {
    auto opened = open();
    if (!opened.ok()) GTEST_SKIP() << describe(opened.error(), GetParam());
    IoThread thread;
    const auto beside = make_threaded(**opened, thread, 2);
    ASSERT_NE(beside, nullptr);
    ASSERT_TRUE((*opened)->lock({0, 10}, true, true).ok());
    EXPECT_FALSE(*beside->is_locked_elsewhere({0, 10}));
    EXPECT_TRUE(beside->lock({0, 10}, false, true).ok());
    auto other = open();
    ASSERT_TRUE(other.ok());
    EXPECT_FALSE(*(*other)->is_locked_elsewhere({0, 10}));
}

INSTANTIATE_TEST_SUITE_P(Stores, WithTheProgram,
                         testing::Values("posix", "uring", "threaded", "uncached", "cached_reads",
                                         "late"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace oratorio
