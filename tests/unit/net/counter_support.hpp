// SPDX-License-Identifier: BSD-3-Clause
// Helpers for tests of the served counter: servers, clients that break the protocol, and limits on
// descriptors.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "net/served_counter.hpp"
#include "support/resource_limit.hpp"

namespace oratorio::test {

using namespace std::chrono_literals;
using Clock = Socket::Clock;

inline constexpr auto kSoon = 20s;  // far more than any step here takes

inline std::shared_ptr<CounterServer> started() {
    auto server = CounterServer::start();
    EXPECT_TRUE(server.ok());
    return std::move(*server);
}

/// Returns a client of the server's first counter, for another rank at each call and with a
/// connection of its own.
inline CounterClient client_of(const ServiceAddress& place, CounterLimits limits = {}) {
    static std::atomic<Rank> last{0};
    return {std::make_shared<CounterConnection>(place, limits), 1, ++last};
}

/// The server and the counter of rank 0.
struct Host {
    std::shared_ptr<CounterServer> server = started();
    HostedCounter counter{server};
    [[nodiscard]] const ServiceAddress& place() const { return server->address(); }
    [[nodiscard]] CounterClient client() const { return client_of(place()); }
};

/// Returns an address on the loopback interface, which all sockets of this test use.
inline ServiceAddress at_loopback(std::uint16_t port) {
    ServiceAddress place{.token = 1, .answer = 2, .port = port, .count = 1, .addresses = {}};
    place.addresses[0] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
    return place;
}

/// A connection without the library's client, to send complete or incomplete messages.
class RawClient {
  public:
    explicit RawClient(const ServiceAddress& place)
        : socket_(std::move(*Socket::connect(at_loopback(0).addresses[0],
                                             static_cast<std::uint16_t>(place.port)))) {}
    static RawClient admitted(const ServiceAddress& place) {
        RawClient client(place);
        client.say(to_word(place.token));
        EXPECT_EQ(client.hear(), place.answer);
        return client;
    }

    void say(std::span<const std::byte> bytes) {
        // The server may have refused the client and closed the connection already.
        const auto sent = socket_.send(bytes, Clock::now() + kSoon);
        EXPECT_TRUE(sent || sent.error().system_errno == EPIPE ||
                    sent.error().system_errno == ECONNRESET);
    }
    std::uint64_t hear() {
        Word word{};
        EXPECT_TRUE(socket_.receive(word, Clock::now() + kSoon).ok());
        return from_word(word);
    }
    /// Receives a reply and returns the number in it.
    std::uint64_t hear_number() {
        EXPECT_EQ(hear(), kServed);
        return hear();
    }
    bool is_closed() {
        Word word{};
        const auto got = socket_.receive(word, Clock::now() + kSoon);
        return !got && got.error().system_errno == ECONNRESET;
    }

  private:
    Socket socket_;
};

/// Returns a request to a server's first counter, from a rank that no other client has.
inline std::array<std::byte, kCounterRequest> request(std::uint64_t operation, std::int64_t operand,
                                                      std::uint64_t number = 1) {
    constexpr std::uint64_t kNobody = UINT64_MAX;
    std::array<std::byte, kCounterRequest> words{};
    auto at = words.begin();
    for (const std::uint64_t word :
         {operation, std::uint64_t{1}, static_cast<std::uint64_t>(operand), kNobody, number})
        at = std::ranges::copy(to_word(word), at).out;
    return words;
}

inline constexpr auto kAdd = static_cast<std::uint64_t>(CounterOperation::add);

inline std::ptrdiff_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
}

/// Takes all descriptors that this process may have; give_one_back() releases one.
class NoDescriptors {
  public:
    NoDescriptors() {
        for (int copy = ::dup(0); copy >= 0; copy = ::dup(0)) taken_.emplace_back(copy);
    }
    void give_one_back() { taken_.pop_back(); }

  private:
    ResourceLimit few_{RLIMIT_NOFILE, 64};
    std::vector<Descriptor> taken_;
};

/// Runs a server that admits one client with `answer` and never replies to its requests.
inline void let_in(const Socket& listener, std::uint64_t answer) {
    const auto give_up = Clock::now() + kSoon;
    auto accepted = listener.accept();
    while (!accepted && Clock::now() < give_up) {
        std::this_thread::yield();
        accepted = listener.accept();
    }
    ASSERT_TRUE(accepted.ok());
    Word token{};
    EXPECT_TRUE(accepted->receive(token, Clock::now() + kSoon).ok());
    EXPECT_TRUE(accepted->send(to_word(answer), Clock::now() + kSoon).ok());
    Word request{};
    while (accepted->receive(request, Clock::now() + kSoon).ok()) {
    }
}

}  // namespace oratorio::test
