// SPDX-License-Identifier: BSD-3-Clause
// What fuzzers of protocols share: a place on this machine, and somebody who says what they like
// to a server there.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <span>

#include "base/door.hpp"
#include "fuzz.hpp"

namespace oratorio::test {

inline constexpr std::chrono::seconds kSoon{20};  // far more than anything here takes

inline ServicePlace at_loopback(std::uint16_t port) {
    ServicePlace place{.token = 1, .answer = 2, .port = port, .count = 1, .addresses = {}};
    place.addresses[0] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
    return place;
}

/// Nothing is said after it; waits until the other side has closed as well.
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

/// By a rank if `admitted`, which knows the token, else from outside; then it hangs up.
inline void say_to_server(const ServicePlace& place, std::span<const std::byte> input,
                          bool admitted) {
    auto liar =
        Socket::connect(at_loopback(0).addresses[0], static_cast<std::uint16_t>(place.port));
    claim(liar.ok(), "anybody may connect");
    // What isn't taken any more is refused; that's for the server to decide.
    if (admitted) static_cast<void>(liar->send(to_word(place.token), Socket::Clock::now() + kSoon));
    static_cast<void>(liar->send(input, Socket::Clock::now() + kSoon));
    hang_up(*liar);
}

}  // namespace oratorio::test
