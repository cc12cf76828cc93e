// SPDX-License-Identifier: BSD-3-Clause
#include "base/served_counter.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <limits>
#include <string>

#include "counter_support.hpp"

namespace oratorio::test {
namespace {

TEST(ServedCounter, each_number_is_given_once_to_clients_and_the_server_together) {
    constexpr std::size_t kClients = 8;
    constexpr std::size_t kTimes = 300;
    const auto server = started();
    std::array<std::vector<std::int64_t>, kClients + 1> given;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i <= kClients; ++i) {
        threads.emplace_back([&, i] {
            CounterClient client(server->place());
            Counter& counter = i == kClients ? static_cast<Counter&>(*server) : client;
            for (std::size_t n = 0; n < kTimes; ++n) given[i].push_back(*counter.fetch_add(3));
        });
    }
    for (std::thread& thread : threads) thread.join();
    std::vector<std::int64_t> all;
    for (const auto& some : given) {
        EXPECT_TRUE(std::ranges::is_sorted(some));
        all.insert(all.end(), some.begin(), some.end());
    }
    std::ranges::sort(all);
    std::vector<std::int64_t> expected((kClients + 1) * kTimes);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = 3 * static_cast<int>(i);
    EXPECT_EQ(all, expected);
}

TEST(ServedCounter, what_one_sets_all_find) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    const auto server = started();
    CounterClient one(server->place()), two(server->place());
    ASSERT_TRUE(one.set(-7).ok());
    EXPECT_EQ(*two.fetch_add(0), -7);
    ASSERT_TRUE(server->set(kMost).ok());
    EXPECT_EQ(*one.fetch_add(1), kMost);
    EXPECT_EQ(*two.fetch_add(-1), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(*server->fetch_add(0), kMost);
}

TEST(ServedCounter, who_has_not_the_token_moves_nothing_and_harms_nobody) {
    const auto server = started();
    CounterClient good(server->place());
    EXPECT_EQ(*good.fetch_add(5), 0);
    ServicePlace wrong = server->place();
    wrong.token ^= 1;
    CounterClient stranger(wrong);
    const auto refused = stranger.fetch_add(100);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::unsupported_operation);
    RawClient raw(server->place());
    raw.say(to_word(wrong.token));
    EXPECT_TRUE(raw.is_closed());
    EXPECT_EQ(*good.fetch_add(0), 5);
}

TEST(ServedCounter, half_a_request_does_nothing_until_the_rest_has_come) {
    const auto server = started();
    const auto whole = request(kAdd, 40);
    RawClient slow = RawClient::admitted(server->place());
    slow.say(std::span(whole).first(11));
    CounterClient other(server->place());
    EXPECT_EQ(*other.fetch_add(2), 0);
    EXPECT_EQ(*other.fetch_add(0), 2);
    slow.say(std::span(whole).subspan(11));
    EXPECT_EQ(slow.hear(), 2U);
    EXPECT_EQ(*other.fetch_add(0), 42);
}

TEST(ServedCounter, a_client_that_goes_in_the_middle_is_forgotten) {
    const auto server = started();
    CounterClient other(server->place());
    EXPECT_TRUE(other.fetch_add(0).ok());
    const auto before = open_descriptors();
    for (const std::size_t bytes : {0U, 1U, 8U, 15U}) {
        RawClient gone = RawClient::admitted(server->place());
        gone.say(std::span<const std::byte>(request(kAdd, 40)).first(bytes));
    }
    for (const std::size_t bytes : {0U, 5U}) {
        RawClient stranger(server->place());
        stranger.say(std::span<const std::byte>(to_word(server->place().token)).first(bytes));
    }
    EXPECT_EQ(*other.fetch_add(1), 0);
    EXPECT_EQ(*server->fetch_add(0), 1);
    const auto give_up = Clock::now() + kSoon;
    while (open_descriptors() != before && Clock::now() < give_up) std::this_thread::yield();
    EXPECT_EQ(open_descriptors(), before);
}

TEST(ServedCounter, who_asks_for_what_there_is_not_is_sent_away) {
    const auto server = started();
    RawClient client = RawClient::admitted(server->place());
    client.say(request(77, 40));
    EXPECT_TRUE(client.is_closed());
    EXPECT_EQ(*server->fetch_add(0), 0);
}

TEST(ServedCounter, when_the_server_has_gone_its_clients_are_told_each_time) {
    auto server = started();
    const ServicePlace place = server->place();
    CounterClient connected(place), late(place);
    RawClient silent(place);  // doesn't keep the server
    EXPECT_TRUE(connected.fetch_add(1).ok());
    server.reset();
    for (int i = 0; i < 2; ++i) {
        const auto gone = connected.fetch_add(1);
        ASSERT_FALSE(gone.ok());
        EXPECT_EQ(gone.error().kind, ErrorKind::io);
        EXPECT_NE(gone.error().system_errno, 0);
        EXPECT_FALSE(connected.set(1).ok());
    }
    const auto none = late.fetch_add(1);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().kind, ErrorKind::unsupported_operation);
    EXPECT_EQ(none.error().system_errno, ECONNREFUSED);
}

/// As a child that a program has forked, which has all its descriptors.
TEST(ServedCounter, a_child_of_rank_0_does_not_keep_the_connections_alive) {
    auto server = started();
    CounterClient client(server->place());
    EXPECT_TRUE(client.fetch_add(1).ok());
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const ServicePlace place = server->place();
    server.reset();
    const auto gone = client.fetch_add(1);
    EXPECT_TRUE(!gone && gone.error().system_errno != ETIMEDOUT);
    CounterClient late(place);
    const auto refused = late.fetch_add(1);
    EXPECT_TRUE(!refused && refused.error().system_errno == ECONNREFUSED);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

TEST(ServedCounter, where_nobody_answers_the_error_tells_the_address_and_what_to_do) {
    const auto mute = Socket::listen();
    ASSERT_TRUE(mute.ok());
    CounterClient client(at_loopback(*mute->port()), {.connect = 50ms, .reply = 50ms});
    const auto none = client.fetch_add(1);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().kind, ErrorKind::unsupported_operation);
    EXPECT_EQ(none.error().system_errno, ETIMEDOUT);
    EXPECT_EQ(std::string(none.error().what),
              "no connection to rank 0 at 127.0.0.1 port " + std::to_string(*mute->port()) +
                  " for the shared pointer: check firewalls or use collective calls");
}

TEST(ServedCounter, another_server_at_that_address_is_not_taken_for_it) {
    const auto listener = Socket::listen();
    ServicePlace place = at_loopback(*listener->port());
    std::thread other([&] { let_in(*listener, place.answer + 1); });
    CounterClient client(place);
    const auto refused = client.fetch_add(1);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::unsupported_operation);
    EXPECT_EQ(refused.error().system_errno, EPROTO);
    other.join();
}

TEST(ServedCounter, a_reply_that_never_comes_is_an_error_in_the_end) {
    const auto listener = Socket::listen();
    const ServicePlace place = at_loopback(*listener->port());
    std::thread mute([&] { let_in(*listener, place.answer); });
    CounterClient client(place, {.connect = kSoon, .reply = 50ms});
    const auto lost = client.fetch_add(1);
    ASSERT_FALSE(lost.ok());
    EXPECT_EQ(lost.error().kind, ErrorKind::io);
    EXPECT_EQ(lost.error().system_errno, ETIMEDOUT);
    mute.join();
}

/// At 127.0.0.`last` alone; without a number where that port is in use.
Socket listen_at_loopback(std::uint8_t last, std::uint16_t port) {
    Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1U + last);
    const bool bound =
        ::bind(socket.number(), reinterpret_cast<sockaddr*>(&name), sizeof name) == 0;
    return bound && ::listen(socket.number(), 5) == 0 ? std::move(socket) : Socket();
}

TEST(ServedCounter, an_address_that_is_silent_does_not_keep_a_client_from_the_next) {
    Socket silent, listener;
    while (listener.number() < 0) {
        silent = listen_at_loopback(2, 0);
        listener = listen_at_loopback(1, *silent.port());
    }
    ServicePlace place = at_loopback(*listener.port());
    place.addresses[1] =
        std::exchange(place.addresses[0], {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 2});
    place.count = 2;
    std::thread server([&] { let_in(listener, place.answer); });
    CounterClient client(place, {.connect = kSoon, .reply = 1ms});
    const auto connected = client.fetch_add(1);  // that far, and no reply comes
    EXPECT_TRUE(!connected && connected.error().kind == ErrorKind::io);
    server.join();
}

TEST(ServedCounter, an_address_that_cannot_be_reached_is_passed_over) {
    const auto server = started();
    ServicePlace place = server->place();
    place.addresses[1] = at_loopback(0).addresses[0];
    // For documentation only: nobody has it (RFC 5737).
    place.addresses[0] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
    place.count = 2;
    CounterClient client(place);
    EXPECT_TRUE(client.fetch_add(9).ok());
    EXPECT_EQ(*server->fetch_add(0), 9);
}

TEST(ServedCounter, each_address_that_is_told_leads_to_the_server) {
    const auto server = started();
    const ServicePlace& place = server->place();
    ASSERT_GT(place.count, 0U);
    for (std::uint32_t i = 0; i < place.count; ++i) {
        ServicePlace one = place;
        one.addresses[0] = place.addresses[i];
        one.count = 1;
        CounterClient client(one);
        EXPECT_EQ(*client.fetch_add(1), i) << text_of(place.addresses[i], 0);
    }
    const std::string last = text_of(place.addresses[place.count - 1], 1);
    EXPECT_TRUE(last == "127.0.0.1 port 1" || last == "::1 port 1") << last;
}

TEST(ServedCounter, servers_have_tokens_of_their_own) {
    const auto one = started(), two = started();
    EXPECT_NE(one->place().token, two->place().token);
    EXPECT_NE(one->place().answer, two->place().answer);
    EXPECT_NE(one->place().token, one->place().answer);
}

TEST(ServedCounter, where_no_socket_can_be_made_there_is_no_server) {
    const NoDescriptors none;
    const auto server = CounterServer::start(1);
    ASSERT_FALSE(server.ok());
    EXPECT_EQ(server.error().system_errno, EMFILE);
}

TEST(ServedCounter, a_client_for_whom_rank_0_has_no_descriptor_waits_and_the_others_go_on) {
    const auto server = started();
    CounterClient first(server->place());
    EXPECT_EQ(*first.fetch_add(1), 0);
    auto none = std::make_unique<NoDescriptors>();
    none->give_one_back();
    RawClient second(server->place());
    second.say(to_word(server->place().token));
    for (int i = 1; i < 4; ++i) EXPECT_EQ(*first.fetch_add(1), i);
    none.reset();
    EXPECT_EQ(second.hear(), server->place().answer);
}

}  // namespace
}  // namespace oratorio::test
