// SPDX-License-Identifier: BSD-3-Clause
// Code that the fuzzers of protocols share: an address on this machine, and peers that send
// arbitrary bytes, to a server or as a server.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "fuzz.hpp"
#include "net/job_listener.hpp"

namespace oratorio::test {

inline constexpr std::chrono::seconds kSoon{20};  // far more than any step here takes

inline ServiceAddress at_loopback(std::uint16_t port) {
    ServiceAddress place{.token = 1, .answer = 2, .port = port, .count = 1, .addresses = {}};
    place.addresses[0] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
    return place;
}

/// Ends the output and waits until the other side has closed as well.
inline void hang_up(const Socket& socket) {
    ::shutdown(socket.number(), SHUT_WR);
    std::array<std::byte, 4096> rest{};
    const auto until = Socket::Clock::now() + kSoon;
    while (Socket::Clock::now() < until) {
        const auto got = socket.receive_some(rest);
        if (!got && got.error().system_errno != EAGAIN) return;
        pollfd watched{socket.number(), POLLIN, 0};
        ::poll(&watched, 1, poll_timeout(until));
    }
    claim(false, "the other side ends a connection that was ended");
}

/// Sends bytes to a server and hangs up. If `admitted`, the token is sent first, as a rank does.
inline void say_to_server(const ServiceAddress& place, std::span<const std::byte> input,
                          bool admitted) {
    auto liar =
        Socket::connect(at_loopback(0).addresses[0], static_cast<std::uint16_t>(place.port));
    claim(liar.ok(), "anybody may connect");
    // The server may close the connection at any time, so errors are ignored.
    if (admitted) static_cast<void>(liar->send(to_word(place.token), Socket::Clock::now() + kSoon));
    static_cast<void>(liar->send(input, Socket::Clock::now() + kSoon));
    hang_up(*liar);
}

/// Returns the server's right answer to the token, followed by the input, so that a client accepts
/// the peer.
inline std::vector<std::byte> after_answer(std::span<const std::byte> input) {
    const auto answer = to_word(at_loopback(0).answer);
    std::vector<std::byte> words(answer.begin(), answer.end());
    words.insert(words.end(), input.begin(), input.end());
    return words;
}

/// A server that sends the same bytes to every client, until the object is destroyed.
class Liar {
  public:
    explicit Liar(std::vector<std::byte> words)
        : words_(std::move(words)),
          listener_(std::move(*Socket::listen())),
          thread_([this] { run(); }) {}
    ~Liar() {
        ended_ = true;
        const auto woken = Socket::connect(at_loopback(0).addresses[0], *listener_.port());
        thread_.join();
    }
    [[nodiscard]] std::uint16_t port() const { return *listener_.port(); }

  private:
    void run() {
        for (;;) {
            pollfd watched{listener_.number(), POLLIN, 0};
            ::poll(&watched, 1, -1);
            const auto client = listener_.accept();
            if (ended_) return;
            if (!client) continue;
            static_cast<void>(client->send(words_, Socket::Clock::now() + kSoon));
            hang_up(*client);
        }
    }

    std::vector<std::byte> words_;
    Socket listener_;
    std::atomic<bool> ended_{false};
    std::thread thread_;
};

/// Runs one input of a protocol between clients and a server. Its first byte selects the sender of
/// the rest: a client without the token or with it (`to_server`), or an impostor at the server's
/// address, without the right answer to the token or with it (`to_client`).
inline int lie(std::span<const std::uint8_t> input,
               void (*to_server)(std::span<const std::byte> input, bool admitted),
               void (*to_client)(std::span<const std::byte> input, bool with_answer)) {
    const unsigned sender = take_byte(input) % 4;
    const auto bytes = std::as_bytes(input);
    if (sender < 2) {
        to_server(bytes, sender == 1);
    } else {
        to_client(bytes, sender == 3);
    }
    return 0;
}

}  // namespace oratorio::test
