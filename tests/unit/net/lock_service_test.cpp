// SPDX-License-Identifier: BSD-3-Clause
// The job's locks over TCP: a server, and clients like those of several processes.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "counter_support.hpp"
#include "net/lock_client.hpp"

namespace oratorio::test::lock_service_test {
namespace {

constexpr LockKey kFile{3, 4};
constexpr Extent kRange{100, 200};

std::unique_ptr<LockServer> serving() {
    auto server = LockServer::start();
    EXPECT_TRUE(server.ok());
    return std::move(*server);
}

LockMessage message(LockOperation operation, std::uint64_t number, Extent range = kRange) {
    return lock_message(operation, {kFile, range, true}, number);
}

TEST(LockService, clients_and_threads_of_one_client_exclude_each_other) {
    constexpr int kClients = 3;
    constexpr int kThreads = 3;
    constexpr int kTimes = 100;
    const auto server = serving();
    std::vector<std::unique_ptr<LockClient>> clients;
    for (int i = 0; i < kClients; ++i)
        clients.push_back(std::make_unique<LockClient>(server->address()));
    std::atomic<int> inside{0};
    std::atomic<int> clashes{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kClients * kThreads; ++i) {
        threads.emplace_back([&, i] {
            for (int n = 0; n < kTimes; ++n) {
                const auto lock = clients[static_cast<std::size_t>(i % kClients)]->acquire(
                    kFile, {i, i + 50}, true);
                ASSERT_TRUE(lock.ok());
                if (++inside != 1) ++clashes;
                --inside;
                EXPECT_TRUE(clients[static_cast<std::size_t>(i % kClients)]->release(*lock).ok());
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(clashes, 0);
}

TEST(LockService, a_lock_is_free_when_its_client_is_gone) {
    const auto server = serving();
    LockClient other(server->address());
    auto client = std::make_unique<LockClient>(server->address());
    ASSERT_TRUE(client->acquire(kFile, kRange, true).ok());
    client.reset();
    EXPECT_TRUE(other.acquire(kFile, kRange, true).ok());
}

TEST(LockService, a_lock_is_free_when_its_process_is_killed) {
    const auto server = serving();
    std::array<int, 2> told{};
    ASSERT_EQ(::pipe(told.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        LockClient client(server->address());
        const char good = client.acquire(kFile, kRange, true) ? 'y' : 'n';
        [[maybe_unused]] const auto written = ::write(told[1], &good, 1);
        ::pause();
        ::_exit(0);
    }
    char good = 'n';
    EXPECT_EQ(::read(told[0], &good, 1), 1);
    EXPECT_EQ(good, 'y');
    ::kill(child, SIGKILL);
    LockClient other(server->address());
    EXPECT_TRUE(other.acquire(kFile, kRange, true).ok());
    ::waitpid(child, nullptr, 0);
    for (const int end : told) ::close(end);
}

TEST(LockService, a_client_that_leaves_while_it_waits_is_removed) {
    const auto server = serving();
    LockClient holder(server->address());
    const auto held = holder.acquire(kFile, kRange, false);
    {
        RawClient waits = RawClient::admitted(server->address());
        waits.say(message(LockOperation::exclude, 1));
    }
    ASSERT_TRUE(holder.release(*held).ok());
    LockClient other(server->address());
    EXPECT_TRUE(other.acquire(kFile, kRange, false).ok());
}

TEST(LockService, a_waiting_client_learns_that_it_has_the_lock) {
    const auto server = serving();
    LockClient holder(server->address());
    const auto held = holder.acquire(kFile, kRange, true);
    RawClient waits = RawClient::admitted(server->address());
    waits.say(message(LockOperation::share, 5));
    ASSERT_TRUE(holder.release(*held).ok());
    EXPECT_EQ(waits.hear(), 5U);
}

/// While a client waits for a first lock, a nested call of the client waits for a second one. The
/// holder of both locks can take the first one again, because the client gives up its place in the
/// queue for that lock.
TEST(LockService, a_nested_acquire_gives_up_the_place_in_the_queue) {
    const auto server = serving();
    static LockClient* nested = nullptr;
    static std::atomic<int> turns{0};
    LockClient client(server->address(), [] {
        if (turns++ != 0) return;
        const auto inner = nested->acquire({5, 5}, kRange, true);
        ASSERT_TRUE(inner.ok());
        EXPECT_TRUE(nested->release(*inner).ok());
    });
    LockClient other(server->address());
    nested = &client;
    turns = 0;
    const auto held = other.acquire(kFile, kRange, true);
    const auto inner_held = other.acquire({5, 5}, kRange, true);
    std::thread waits([&] {
        const auto outer = client.acquire(kFile, kRange, true);
        EXPECT_TRUE(outer.ok());
        EXPECT_TRUE(client.release(*outer).ok());
    });
    while (turns == 0) std::this_thread::yield();
    // The client now waits for the second lock inside its wait for the first, so that it must not
    // hold a place in the queue for the first.
    ASSERT_TRUE(other.release(*held).ok());
    const auto again = other.acquire(kFile, kRange, true);
    ASSERT_TRUE(again.ok());
    ASSERT_TRUE(other.release(*again).ok());
    ASSERT_TRUE(other.release(*inner_held).ok());
    waits.join();
}

TEST(LockService, strangers_and_liars_get_and_hold_nothing) {
    const auto server = serving();
    ServiceAddress wrong = server->address();
    wrong.token ^= 1;
    LockClient stranger(wrong, nullptr, {.connect = kSoon});
    const auto refused = stranger.acquire(kFile, kRange, true);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::unsupported_operation);
    const std::vector<std::vector<LockMessage>> lies{
        {message(static_cast<LockOperation>(0), 1)},
        {message(static_cast<LockOperation>(77), 1)},
        {message(LockOperation::release, 1)},
        {message(LockOperation::exclude, 1, {5, 5})},
        {message(LockOperation::exclude, 1, {9, 5})},
        {message(LockOperation::exclude, 1, {-1, 5})},
        {message(LockOperation::exclude, 1), message(LockOperation::exclude, 2)},
        {message(LockOperation::exclude, 1), message(LockOperation::release, 2)}};
    for (const auto& lie : lies) {
        RawClient liar = RawClient::admitted(server->address());
        for (const LockMessage& words : lie) liar.say(words);
        if (lie.size() > 1) {
            EXPECT_EQ(liar.hear(), 1U);
        }
        EXPECT_TRUE(liar.is_closed());
    }
    LockClient good(server->address());
    EXPECT_TRUE(good.acquire(kFile, {0, 1000}, true).ok());
}

TEST(LockService, half_a_request_asks_for_nothing) {
    const auto server = serving();
    const auto whole = message(LockOperation::exclude, 8);
    RawClient slow = RawClient::admitted(server->address());
    slow.say(std::span(whole).first(47));
    LockClient other(server->address());
    const auto lock = other.acquire(kFile, kRange, true);
    ASSERT_TRUE(lock.ok());
    ASSERT_TRUE(other.release(*lock).ok());
    slow.say(std::span(whole).subspan(47));
    EXPECT_EQ(slow.hear(), 8U);
}

TEST(LockService, clients_learn_that_the_server_is_gone) {
    static std::atomic<bool> waits;
    waits = false;
    auto server = serving();
    const ServiceAddress place = server->address();
    LockClient holder(place);
    LockClient late(place, nullptr, {.connect = 2000ms});
    LockClient waiter(place, [] { waits = true; });
    const auto held = holder.acquire(kFile, kRange, true);
    ASSERT_TRUE(held.ok());
    std::thread waiting([&waiter] {
        const auto got = waiter.acquire(kFile, kRange, true);
        ASSERT_FALSE(got.ok());
        EXPECT_EQ(got.error().kind, ErrorKind::io);
        EXPECT_EQ(got.error().offset, kRange.begin);
        EXPECT_EQ(got.error().length, kRange.length());
    });
    while (!waits) std::this_thread::yield();
    server.reset();
    waiting.join();
    const auto refused = late.acquire(kFile, kRange, true);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::unsupported_operation);
}

/// Ends all TCP connections of this process, like a network that is down for a while.
void end_all_connections() {
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int number = std::stoi(each.path().filename());
        sockaddr_storage peer{};
        socklen_t length = sizeof peer;
        const bool connected =
            ::getpeername(number, reinterpret_cast<sockaddr*>(&peer), &length) == 0;
        if (connected && peer.ss_family != AF_UNIX) ::shutdown(number, SHUT_RDWR);
    }
}

TEST(LockService, kept_connections_that_have_ended_are_replaced) {
    auto server = serving();
    LockClient client(server->address()), other(server->address());
    const auto one = client.acquire(kFile, kRange, false),
               two = client.acquire(kFile, kRange, false);
    ASSERT_TRUE(one.ok() && two.ok());
    ASSERT_TRUE(client.release(*one).ok() && client.release(*two).ok());
    end_all_connections();
    const auto again = client.acquire(kFile, kRange, true);
    ASSERT_TRUE(again.ok());
    ASSERT_TRUE(client.release(*again).ok());
    EXPECT_TRUE(other.acquire(kFile, kRange, true).ok()) << "nobody holds the lock";
    server.reset();
    const auto gone = client.acquire(kFile, kRange, true);
    ASSERT_FALSE(gone.ok());
    EXPECT_EQ(gone.error().kind, ErrorKind::io);
}

TEST(LockService, a_process_offers_one_service_until_its_last_offer_is_taken_back) {
    TcpLocks locks;
    const auto before = open_descriptors();
    const auto first = locks.serve();
    const auto second = locks.serve();
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(first->token, second->token);
    locks.withdraw();
    const auto service = locks.reach(*first);
    EXPECT_EQ(service, locks.reach(*second));
    const auto lock = service->acquire(kFile, kRange, true);
    ASSERT_TRUE(lock.ok());
    EXPECT_TRUE(service->release(*lock).ok());
    locks.withdraw();
    EXPECT_FALSE(service->acquire(kFile, kRange, true).ok());
    EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace oratorio::test::lock_service_test
