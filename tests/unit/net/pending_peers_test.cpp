// SPDX-License-Identifier: BSD-3-Clause
// Clients without the token: a counter's server listens on all addresses, so they must not take up
// its resources.
#include <poll.h>

#include "counter_support.hpp"

namespace oratorio::test {
namespace {

std::vector<RawClient> strangers(const ServiceAddress& place, std::size_t count,
                                 std::span<const std::byte> words) {
    std::vector<RawClient> all;
    for (std::size_t i = 0; i < count; ++i) {
        all.emplace_back(place);
        all.back().say(words);
    }
    return all;
}

TEST(PendingPeers, silent_strangers_take_few_descriptors_and_no_place_of_a_rank) {
    constexpr std::size_t kMany = 200;
    constexpr int kClients = 20;
    Host host;
    const auto token = to_word(host.place().token);
    const auto before = open_descriptors();
    const auto silent = strangers(host.place(), kMany, {});
    const auto halfway = strangers(host.place(), kMany, std::span(token).first(7));
    std::vector<std::unique_ptr<CounterClient>> clients;
    for (int i = 0; i < kClients; ++i) {
        clients.push_back(std::unique_ptr<CounterClient>(new CounterClient(host.client())));
        EXPECT_EQ(*clients.back()->fetch_add(1), i);
    }
    const auto ours = static_cast<std::ptrdiff_t>(2 * kMany + 2 * kClients);
    EXPECT_LE(open_descriptors() - before - ours,
              static_cast<std::ptrdiff_t>(JobListener::pending_max));
    for (int i = 0; i < kClients; ++i) EXPECT_EQ(*clients[i]->fetch_add(1), kClients + i);
}

TEST(PendingPeers, invalid_peers_are_rejected_without_effect) {
    Host host;
    CounterClient first = host.client();
    EXPECT_EQ(*first.fetch_add(5), 0);
    auto guessing = strangers(host.place(), 100, to_word(host.place().token + 1));
    auto shouting = strangers(host.place(), 100, std::vector<std::byte>(4096, std::byte{'x'}));
    CounterClient late = host.client();
    EXPECT_EQ(*late.fetch_add(0), 5);
    EXPECT_EQ(*first.fetch_add(0), 5);
    for (RawClient& stranger : guessing) EXPECT_TRUE(stranger.is_closed());
    for (RawClient& stranger : shouting) EXPECT_TRUE(stranger.is_closed());
}

TEST(PendingPeers, with_too_many_connections_the_least_active_is_closed) {
    const ResourceLimit few(RLIMIT_NOFILE, 64);  // enough for 16 connections
    Host host;
    std::vector<RawClient> inside;
    for (int i = 0; i < 17; ++i) inside.push_back(RawClient::admitted(host.place()));
    EXPECT_TRUE(inside.front().is_closed());
    inside.back().say(request(kAdd, 3));
    EXPECT_EQ(inside.back().hear_number(), 0U);
}

/// Waits for clients for a millisecond and returns those that look() admits.
std::vector<Socket> look_once(JobListener& listener, std::size_t wanted) {
    std::vector<pollfd> watched;
    listener.watch(watched);
    (void)::poll(watched.data(), watched.size(), 1);
    return listener.look(watched, wanted);
}

TEST(PendingPeers, clients_that_come_at_once_are_all_admitted_but_never_more_than_wanted) {
    auto listener = JobListener::open();
    const ServiceAddress& place = listener->address();
    auto clients = strangers(place, 5, to_word(place.token));
    const auto give_up = Clock::now() + kSoon;
    std::vector<Socket> all;
    while (all.size() < clients.size() && Clock::now() < give_up) {
        auto admitted = look_once(*listener, 2);
        EXPECT_LE(admitted.size(), 2U);
        std::ranges::move(admitted, std::back_inserter(all));
    }
    for (auto& client : clients) EXPECT_EQ(client.hear(), place.answer);
}

TEST(PendingPeers, a_client_is_closed_if_none_is_wanted) {
    auto listener = JobListener::open();
    auto clients = strangers(listener->address(), 1, to_word(listener->address().token));
    std::jthread unwilling([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) EXPECT_TRUE(look_once(*listener, 0).empty());
    });
    EXPECT_TRUE(clients.front().is_closed());
}

TEST(PendingPeers, a_client_that_was_closed_as_pending_retries) {
    const auto listener = Socket::listen();
    const ServiceAddress place = at_loopback(*listener->port());
    std::thread besieged([&] {
        for (int i = 0; i < 3; ++i) {
            auto accepted = listener->accept();
            while (!accepted) accepted = listener->accept();
        }
        let_in(*listener, place.answer);
    });
    CounterClient client = client_of(place, {.connect = kSoon, .reply = 1ms});
    const auto connected = client.fetch_add(1);  // the client connects, but receives no reply
    EXPECT_TRUE(!connected && connected.error().kind == ErrorKind::io);
    besieged.join();
}

TEST(PendingPeers, without_descriptors_a_pending_peer_is_closed_before_a_rank) {
    Host host;
    CounterClient first = host.client();
    EXPECT_EQ(*first.fetch_add(1), 0);
    const auto before = open_descriptors();
    auto silent = strangers(host.place(), 2, {});
    const auto give_up = Clock::now() + kSoon;
    while (open_descriptors() < before + 4 && Clock::now() < give_up) std::this_thread::yield();
    NoDescriptors none;
    none.give_one_back();
    RawClient second = RawClient::admitted(host.place());
    second.say(request(kAdd, 1));
    EXPECT_EQ(second.hear_number(), 1U);
}

}  // namespace
}  // namespace oratorio::test
