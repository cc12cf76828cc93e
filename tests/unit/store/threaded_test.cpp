// SPDX-License-Identifier: BSD-3-Clause
// The store behind a thread: that requests really go there, and nothing overtakes them.
#include "store/threaded.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <functional>
#include <vector>

#include "store/transfer.hpp"
#include "support/memory_store.hpp"

namespace oratorio {
namespace {

using test::MemoryDisk;
using test::MemoryStore;
using test::MemoryStoreOptions;
using test::Random;

// Remembers who called what. A request takes its time, so that a call which doesn't wait comes
// first.
class SlowStore final : public Store {
  public:
    Submitted submit(const IoRequest& request) override {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        thread = std::this_thread::get_id();
        sigset_t blocked;
        ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        takes_signals = sigismember(&blocked, SIGUSR1) == 0;
        tokens.push_back(request.token);
        return Submitted::done;
    }
    std::size_t reap(std::span<IoCompletion> out, bool) override {
        out[0] = {.token = tokens.back(), .bytes = 1};
        return 1;
    }
    Result<Bytes> size() override { return seen(); }
    Result<void> resize(Bytes, bool) override { return (void)seen(), Result<void>(); }
    Result<void> sync() override { return (void)seen(), Result<void>(); }
    Result<void> lock(Extent, bool, bool) override { return (void)seen(), Result<void>(); }
    Result<bool> is_locked_elsewhere(Extent) override { return (void)seen(), false; }
    Result<Mapped> map(Extent range, Direction, Populate) override {
        (void)seen();
        return Mapped(range.begin, {}, nullptr);
    }
    Result<void> close() override { return (void)seen(), Result<void>(); }

    Bytes seen() {
        requests_before_call = tokens.size();
        return static_cast<Bytes>(tokens.size());
    }
    std::vector<std::uint64_t> tokens;
    std::size_t requests_before_call = 0;
    std::thread::id thread;
    bool takes_signals = true;
};

std::byte one_byte{1};
iovec one_piece{&one_byte, 1};

void submit(Store& store, std::uint64_t token) {
    ASSERT_EQ(store.submit({Direction::write, 0, std::span(&one_piece, 1), token}),
              Submitted::queued);
}

TEST(Threaded, requests_are_done_in_order_by_another_thread_without_signals) {
    SlowStore slow;
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
    EXPECT_NE(slow.thread, std::this_thread::get_id());
    EXPECT_FALSE(slow.takes_signals);
}

TEST(Threaded, every_other_call_waits_for_what_is_queued) {
    SlowStore slow;
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
        EXPECT_EQ(slow.requests_before_call, 2 * number + 2);
        EXPECT_EQ(store->reap(out, false), 2U);  // they are done, so nothing is waited for
    }
}

TEST(Threaded, the_end_of_the_store_waits_for_its_requests_and_the_thread_serves_others) {
    SlowStore slow;
    SlowStore other;
    IoThread thread;
    const auto stays = make_threaded(other, thread, 4);
    {
        const auto store = make_threaded(slow, thread, 4);
        for (std::uint64_t token = 0; token < 4; ++token) {
            submit(*store, token);
            submit(*stays, token);
        }
    }
    EXPECT_EQ(slow.tokens.size(), 4U);
    EXPECT_EQ(*stays->size(), 4);
    EXPECT_EQ(other.thread, slow.thread);
}

// The oracle of transfer_test, with a thread in between.
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
        EXPECT_GE(*store->size(), stop > offset ? stop : 0);  // parts after a failed one may be in
        EXPECT_EQ(disk.contents({offset, stop}),
                  std::vector(bytes.begin(), bytes.begin() + done.bytes));
    }
}

// Refuses new threads to the calling thread.
bool forbid_threads() {
    std::array<sock_filter, 5> filter{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    const sock_fprog program{filter.size(), filter.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(Threaded, without_a_thread_the_caller_does_the_requests) {
    bool forbidden = false;
    Transferred done;
    std::thread::id caller;
    SlowStore slow;
    std::thread([&] {
        forbidden = forbid_threads();
        caller = std::this_thread::get_id();
        IoThread thread;
        const auto store = make_threaded(slow, thread, 2);
        done = transfer(*store, Direction::write, 0, std::span(&one_byte, 1));
    }).join();
    if (!forbidden) GTEST_SKIP() << "this kernel has no system call filters";
    EXPECT_EQ(done.bytes, 1);
    EXPECT_EQ(slow.thread, caller);
}

}  // namespace
}  // namespace oratorio
