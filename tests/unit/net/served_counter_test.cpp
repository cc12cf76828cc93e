// SPDX-License-Identifier: BSD-3-Clause
#include "net/served_counter.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <limits>
#include <string>

#include "counter_support.hpp"
#include "net/rank_zero_counter.hpp"

namespace oratorio::test {
namespace {

TEST(ServedCounter, clients_and_server_get_each_number_once) {
    constexpr std::size_t kClients = 8;
    constexpr std::size_t kTimes = 300;
    Host host;
    std::array<std::vector<std::int64_t>, kClients + 1> given;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i <= kClients; ++i) {
        threads.emplace_back([&, i] {
            CounterClient client = host.client();
            SharedCounter& counter =
                i == kClients ? static_cast<SharedCounter&>(host.counter) : client;
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

TEST(ServedCounter, a_value_set_by_one_client_is_visible_to_all) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    Host host;
    CounterClient one = host.client(), two = host.client();
    ASSERT_TRUE(one.set(-7).ok());
    EXPECT_EQ(*two.fetch_add(0), -7);
    ASSERT_TRUE(host.counter.set(kMost).ok());
    EXPECT_EQ(*one.fetch_add(1), kMost);
    EXPECT_EQ(*two.fetch_add(-1), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(*host.counter.fetch_add(0), kMost);
}

TEST(ServedCounter, a_client_without_the_token_changes_nothing) {
    Host host;
    CounterClient good = host.client();
    EXPECT_EQ(*good.fetch_add(5), 0);
    ServiceAddress wrong = host.place();
    wrong.token ^= 1;
    CounterClient stranger = client_of(wrong);
    const auto refused = stranger.fetch_add(100);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::unsupported_operation);
    RawClient raw(host.place());
    raw.say(to_word(wrong.token));
    EXPECT_TRUE(raw.is_closed());
    EXPECT_EQ(*good.fetch_add(0), 5);
}

TEST(ServedCounter, half_a_request_does_nothing_until_the_rest_has_come) {
    Host host;
    const auto whole = request(kAdd, 40);
    RawClient slow = RawClient::admitted(host.place());
    slow.say(std::span(whole).first(11));
    CounterClient other = host.client();
    EXPECT_EQ(*other.fetch_add(2), 0);
    EXPECT_EQ(*other.fetch_add(0), 2);
    slow.say(std::span(whole).subspan(11));
    EXPECT_EQ(slow.hear_number(), 2U);
    EXPECT_EQ(*other.fetch_add(0), 42);
}

TEST(ServedCounter, a_client_that_goes_in_the_middle_is_forgotten) {
    Host host;
    CounterClient other = host.client();
    EXPECT_TRUE(other.fetch_add(0).ok());
    const auto before = open_descriptors();
    for (const std::size_t bytes : {0U, 1U, 8U, 39U}) {
        RawClient gone = RawClient::admitted(host.place());
        gone.say(std::span<const std::byte>(request(kAdd, 40)).first(bytes));
    }
    for (const std::size_t bytes : {0U, 5U}) {
        RawClient stranger(host.place());
        stranger.say(std::span<const std::byte>(to_word(host.place().token)).first(bytes));
    }
    EXPECT_EQ(*other.fetch_add(1), 0);
    EXPECT_EQ(*host.counter.fetch_add(0), 1);
    const auto give_up = Clock::now() + kSoon;
    while (open_descriptors() != before && Clock::now() < give_up) std::this_thread::yield();
    EXPECT_EQ(open_descriptors(), before);
}

TEST(ServedCounter, unknown_requests_are_rejected) {
    Host host;
    RawClient client = RawClient::admitted(host.place());
    client.say(request(77, 40));
    EXPECT_TRUE(client.is_closed());
    EXPECT_EQ(*host.counter.fetch_add(0), 0);
}

TEST(ServedCounter, clients_learn_that_the_server_is_gone_each_time) {
    Host host;
    const ServiceAddress place = host.place();
    CounterClient connected = host.client(), late = host.client();
    RawClient silent(place);  // a connection without a token must not keep the server alive
    EXPECT_TRUE(connected.fetch_add(1).ok());
    host.server->stop();
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

/// The child inherits all descriptors, as a child that the user's program forks does.
TEST(ServedCounter, a_child_of_rank_0_does_not_keep_the_connections_alive) {
    Host host;
    CounterClient client = host.client();
    EXPECT_TRUE(client.fetch_add(1).ok());
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const ServiceAddress place = host.place();
    host.server->stop();
    const auto gone = client.fetch_add(1);
    EXPECT_TRUE(!gone && gone.error().system_errno != ETIMEDOUT);
    CounterClient late = client_of(place);
    const auto refused = late.fetch_add(1);
    EXPECT_TRUE(!refused && refused.error().system_errno == ECONNREFUSED);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

TEST(ServedCounter, a_connection_error_names_the_address_and_the_remedy) {
    const auto mute = Socket::listen();
    ASSERT_TRUE(mute.ok());
    CounterClient client = client_of(at_loopback(*mute->port()), {.connect = 50ms, .reply = 50ms});
    const auto none = client.fetch_add(1);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().kind, ErrorKind::unsupported_operation);
    EXPECT_EQ(none.error().system_errno, ETIMEDOUT);
    EXPECT_EQ(std::string(none.error().what), "no connection to rank 0 at 127.0.0.1 port " +
                                                  std::to_string(*mute->port()) +
                                                  "; check firewalls, or use collective calls");
}

TEST(RankZeroCounter, sums_are_modulo_2_to_the_64) {
    RankZeroCounter alone(0);
    EXPECT_EQ(*alone.fetch_add(INT64_MAX), 0);
    EXPECT_EQ(*alone.fetch_add(2), INT64_MAX);
    EXPECT_EQ(*alone.fetch_add(0), INT64_MIN + 1);
}

TEST(ServedCounter, another_server_at_the_same_address_is_rejected) {
    const auto listener = Socket::listen();
    ServiceAddress place = at_loopback(*listener->port());
    std::thread other([&] { let_in(*listener, place.answer + 1); });
    CounterClient client = client_of(place);
    const auto refused = client.fetch_add(1);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::unsupported_operation);
    EXPECT_EQ(refused.error().system_errno, EPROTO);
    other.join();
}

TEST(ServedCounter, a_reply_that_never_comes_is_an_error_in_the_end) {
    const auto listener = Socket::listen();
    const ServiceAddress place = at_loopback(*listener->port());
    std::thread mute([&] { let_in(*listener, place.answer); });
    CounterClient client = client_of(place, {.connect = kSoon, .reply = 50ms});
    const auto lost = client.fetch_add(1);
    ASSERT_FALSE(lost.ok());
    EXPECT_EQ(lost.error().kind, ErrorKind::io);
    EXPECT_EQ(lost.error().system_errno, ETIMEDOUT);
    mute.join();
}

/// Listens at 127.0.0.`last` only. Returns an invalid socket if the port is in use.
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
    ServiceAddress place = at_loopback(*listener.port());
    place.addresses[1] =
        std::exchange(place.addresses[0], {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 2});
    place.count = 2;
    std::thread server([&] { let_in(listener, place.answer); });
    CounterClient client = client_of(place, {.connect = kSoon, .reply = 1ms});
    const auto connected = client.fetch_add(1);  // the client connects, but receives no reply
    EXPECT_TRUE(!connected && connected.error().kind == ErrorKind::io);
    server.join();
}

TEST(ServedCounter, an_address_that_cannot_be_reached_is_passed_over) {
    Host host;
    ServiceAddress place = host.place();
    place.addresses[1] = at_loopback(0).addresses[0];
    // This address is reserved for documentation (RFC 5737), so that no host has it.
    place.addresses[0] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
    place.count = 2;
    CounterClient client = client_of(place);
    EXPECT_TRUE(client.fetch_add(9).ok());
    EXPECT_EQ(*host.counter.fetch_add(0), 9);
}

TEST(ServedCounter, each_offered_address_leads_to_the_server) {
    Host host;
    const ServiceAddress& place = host.place();
    ASSERT_GT(place.count, 0U);
    for (std::uint32_t i = 0; i < place.count; ++i) {
        ServiceAddress one = place;
        one.addresses[0] = place.addresses[i];
        one.count = 1;
        CounterClient client = client_of(one);
        EXPECT_EQ(*client.fetch_add(1), i) << text_of(place.addresses[i], 0);
    }
    const std::string last = text_of(place.addresses[place.count - 1], 1);
    EXPECT_TRUE(last == "127.0.0.1 port 1" || last == "::1 port 1") << last;
}

TEST(ServedCounter, servers_have_tokens_of_their_own) {
    const auto one = started(), two = started();
    EXPECT_NE(one->address().token, two->address().token);
    EXPECT_NE(one->address().answer, two->address().answer);
    EXPECT_NE(one->address().token, one->address().answer);
}

TEST(ServedCounter, without_sockets_there_is_no_server) {
    const NoDescriptors none;
    const auto server = CounterServer::start();
    ASSERT_FALSE(server.ok());
    EXPECT_EQ(server.error().system_errno, EMFILE);
}

/// Both sides of all connections are in this process, so that each connection takes two of its
/// descriptors.
TEST(ServedCounter, without_descriptors_the_least_active_client_is_dropped_and_reconnects) {
    Host host;
    CounterClient first = host.client();
    EXPECT_EQ(*first.fetch_add(1), 0);
    NoDescriptors none;
    none.give_one_back();
    RawClient second(host.place());
    second.say(to_word(host.place().token));
    EXPECT_EQ(second.hear(), host.place().answer);
    second.say(request(kAdd, 1));
    EXPECT_EQ(second.hear_number(), 1U);
    EXPECT_EQ(*first.fetch_add(1), 2);
    EXPECT_TRUE(second.is_closed());
}

/// The server has reserved one descriptor for the case that none is left.
TEST(ServedCounter, without_free_descriptors_clients_are_served_one_at_a_time) {
    Host host;
    NoDescriptors none;
    none.give_one_back();
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(*host.client().fetch_add(1), i);
}

TEST(ServedCounter, more_clients_than_connections_count_each_request_once) {
    constexpr int kClients = 40;
    const ResourceLimit few(RLIMIT_NOFILE, 128);  // enough for 32 connections
    Host host;
    const auto before = open_descriptors();
    std::vector<std::unique_ptr<CounterClient>> clients;
    std::int64_t count = 0;
    for (int turn = 0; turn < 3; ++turn) {
        for (int i = 0; i < kClients; ++i) {
            if (turn == 0)
                clients.push_back(
                    std::unique_ptr<CounterClient>(new CounterClient(client_of(host.place()))));
            const auto given = clients[static_cast<std::size_t>(i)]->fetch_add(1);
            ASSERT_TRUE(given.ok());
            EXPECT_EQ(*given, count++);
        }
    }
    EXPECT_LE(open_descriptors() - before, kClients + 32);
}

TEST(ServedCounter, a_request_that_is_repeated_is_not_done_again) {
    Host host;
    for (int i = 0; i < 2; ++i) {
        RawClient client = RawClient::admitted(host.place());
        client.say(request(kAdd, 7, 5));
        EXPECT_EQ(client.hear_number(), 0U);
    }
    RawClient client = RawClient::admitted(host.place());
    client.say(request(kAdd, 7, 6));
    EXPECT_EQ(client.hear_number(), 7U);
    EXPECT_EQ(*host.counter.fetch_add(0), 14);
}

TEST(CounterService, counters_of_a_process_share_a_server_and_those_of_another_a_connection) {
    CounterService here, there;
    const auto before = open_descriptors();
    auto one = here.host(), two = here.host();
    ASSERT_TRUE(one.ok() && two.ok());
    EXPECT_EQ((*one)->address().server.token, (*two)->address().server.token);
    const auto listening = open_descriptors();
    auto other_one = there.reach((*one)->address(), 1),
         other_two = there.reach((*two)->address(), 1);
    EXPECT_EQ(open_descriptors(), listening);
    EXPECT_EQ(*other_one->fetch_add(3), 0);
    EXPECT_EQ(*other_two->fetch_add(5), 0);
    EXPECT_EQ(open_descriptors(), listening + 2);  // only one connection is open, with two
                                                   // descriptors
    EXPECT_EQ(*(*one)->fetch_add(0), 3);
    EXPECT_EQ(*(*two)->fetch_add(0), 5);
    other_one.reset();
    other_two.reset();
    one->reset();
    here.retire();
    EXPECT_TRUE((*two)->fetch_add(0).ok());
    two->reset();
    here.retire();
    EXPECT_EQ(open_descriptors(), before);
}

TEST(CounterService, a_counter_that_is_gone_is_an_error_of_its_own) {
    CounterService here, there;
    auto one = here.host(), two = here.host();
    ASSERT_TRUE(one.ok() && two.ok());
    auto gone = there.reach((*one)->address(), 1), stays = there.reach((*two)->address(), 1);
    one->reset();
    const auto asked = gone->fetch_add(1);
    ASSERT_FALSE(asked.ok());
    EXPECT_EQ(asked.error().kind, ErrorKind::io);
    EXPECT_EQ(*stays->fetch_add(1), 0);
}

TEST(CounterService, after_its_end_a_new_server_is_started_and_reached) {
    CounterService here, there;
    auto before = here.host();
    ASSERT_TRUE(before.ok());
    auto cut_off = there.reach((*before)->address(), 1);
    EXPECT_TRUE(cut_off->fetch_add(1).ok());
    here.stop();
    EXPECT_FALSE(cut_off->fetch_add(1).ok());
    EXPECT_EQ(*(*before)->fetch_add(0), 1);
    auto after = here.host();
    ASSERT_TRUE(after.ok());
    EXPECT_EQ(*there.reach((*after)->address(), 1)->fetch_add(1), 0);
}

/// The next counter must not use a connection that has failed.
TEST(CounterService, the_next_counter_of_the_same_server_connects_again) {
    CounterService here, there;
    auto hosted = here.host();
    ASSERT_TRUE(hosted.ok());
    const CounterPlace place = (*hosted)->address();
    auto first = there.reach(place, 1);
    {
        const NoDescriptors none;
        EXPECT_FALSE(first->fetch_add(1).ok());
    }
    EXPECT_FALSE(first->fetch_add(1).ok());
    EXPECT_EQ(*there.reach(place, 2)->fetch_add(1), 0);
}

}  // namespace
}  // namespace oratorio::test
