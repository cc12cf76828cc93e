// SPDX-License-Identifier: BSD-3-Clause
// The server of a counter listens on all addresses: whoever comes without the token takes little.
#include "counter_support.hpp"

namespace oratorio::test {
namespace {

std::vector<RawClient> strangers(const ServicePlace& place, std::size_t count,
                                 std::span<const std::byte> words) {
    std::vector<RawClient> all;
    for (std::size_t i = 0; i < count; ++i) {
        all.emplace_back(place);
        all.back().say(words);
    }
    return all;
}

TEST(Strangers, silent_strangers_take_few_descriptors_and_no_place_of_a_rank) {
    constexpr std::size_t kMany = 200;
    constexpr int kClients = 20;
    const auto server = started(kClients);
    const auto token = to_word(server->place().token);
    const auto before = open_descriptors();
    const auto silent = strangers(server->place(), kMany, {});
    const auto halfway = strangers(server->place(), kMany, std::span(token).first(7));
    std::vector<std::unique_ptr<CounterClient>> clients;
    for (int i = 0; i < kClients; ++i) {
        clients.push_back(std::make_unique<CounterClient>(server->place()));
        EXPECT_EQ(*clients.back()->fetch_add(1), i);
    }
    const auto ours = static_cast<std::ptrdiff_t>(2 * kMany + 2 * kClients);
    EXPECT_LE(open_descriptors() - before - ours, static_cast<std::ptrdiff_t>(Door::strangers_max));
    for (int i = 0; i < kClients; ++i) EXPECT_EQ(*clients[i]->fetch_add(1), kClients + i);
}

TEST(Strangers, strangers_who_talk_are_sent_away_and_move_nothing) {
    const auto server = started();
    CounterClient first(server->place());
    EXPECT_EQ(*first.fetch_add(5), 0);
    auto guessing = strangers(server->place(), 100, to_word(server->place().token + 1));
    auto shouting = strangers(server->place(), 100, std::vector<std::byte>(4096, std::byte{'x'}));
    CounterClient late(server->place());
    EXPECT_EQ(*late.fetch_add(0), 5);
    EXPECT_EQ(*first.fetch_add(0), 5);
    for (RawClient& stranger : guessing) EXPECT_TRUE(stranger.is_closed());
    for (RawClient& stranger : shouting) EXPECT_TRUE(stranger.is_closed());
}

TEST(Strangers, no_more_come_in_than_there_are_ranks) {
    constexpr Rank kClients = 2;
    const auto server = started(kClients);
    const std::size_t most = kClients * server->place().count;
    std::vector<RawClient> inside;
    for (std::size_t i = 0; i < most; ++i) inside.push_back(RawClient::admitted(server->place()));
    RawClient another(server->place());
    another.say(to_word(server->place().token));
    EXPECT_TRUE(another.is_closed());
    inside.back().say(request(kAdd, 3));
    EXPECT_EQ(inside.back().hear(), 0U);
}

TEST(Strangers, a_client_who_was_taken_for_a_stranger_tries_again) {
    const auto listener = Socket::listen();
    const ServicePlace place = at_loopback(*listener->port());
    std::thread besieged([&] {
        for (int i = 0; i < 3; ++i) {
            auto accepted = listener->accept();
            while (!accepted) accepted = listener->accept();
        }
        let_in(*listener, place.answer);
    });
    CounterClient client(place, {.connect = kSoon, .reply = 1ms});
    const auto connected = client.fetch_add(1);  // that far, and no reply comes
    EXPECT_TRUE(!connected && connected.error().kind == ErrorKind::io);
    besieged.join();
}

TEST(Strangers, where_descriptors_run_out_a_stranger_goes_before_a_rank) {
    const auto server = started();
    CounterClient first(server->place());
    EXPECT_EQ(*first.fetch_add(1), 0);
    const auto before = open_descriptors();
    auto silent = strangers(server->place(), 2, {});
    const auto give_up = Clock::now() + kSoon;
    while (open_descriptors() < before + 4 && Clock::now() < give_up) std::this_thread::yield();
    NoDescriptors none;
    none.give_one_back();
    EXPECT_EQ(RawClient::admitted(server->place()).ask(request(kAdd, 1)), 1U);
}

}  // namespace
}  // namespace oratorio::test
