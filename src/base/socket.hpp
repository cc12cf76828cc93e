// SPDX-License-Identifier: BSD-3-Clause
// Socket: owns a TCP socket that never blocks; and the addresses of this machine.
#pragma once

#include <netinet/in.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.hpp"

namespace oratorio {

/// IPv6; IPv4 ones are mapped (RFC 4291, 2.5.5.2).
using IpAddress = std::array<std::uint8_t, 16>;

/// "10.0.0.1 port 4000".
[[nodiscard]] std::string text_of(const IpAddress& address, std::uint16_t port);

/// Errors tell the errno: ETIMEDOUT past a time limit, ECONNRESET where the peer has closed. No
/// signal (SIGPIPE) comes, and no child program gets it.
class Socket {
  public:
    using Clock = std::chrono::steady_clock;
    explicit Socket(int number = -1) : descriptor_(number) {}
    Socket(Socket&&) = default;
    Socket& operator=(Socket&&) = default;
    /// Ends the connection, even where a child of this process holds the descriptor.
    ~Socket();

    /// At a port of the system's choice on all addresses of the machine.
    static Result<Socket> listen();
    /// Begins to connect: it can be written to when that is done, one way or the other.
    static Result<Socket> connect(const IpAddress& to, std::uint16_t port);
    /// There is nothing, or no room, yet.
    [[nodiscard]] static bool would_wait(const Error& error) {
        return error.system_errno == EAGAIN;
    }

    /// The next connection; EAGAIN when there is none.
    [[nodiscard]] Result<Socket> accept() const;

    [[nodiscard]] int number() const { return descriptor_.number(); }
    /// Where it listens.
    [[nodiscard]] Result<std::uint16_t> port() const;
    /// Connections by IPv6 are heard, too.
    [[nodiscard]] bool hears_ipv6() const;
    /// How connecting went: 0 or an errno.
    [[nodiscard]] int error() const;
    /// Bytes that were there, at least one; EAGAIN when there are none.
    [[nodiscard]] Result<std::size_t> receive_some(std::span<std::byte> into) const;
    /// As much as there is room for, at least one byte; EAGAIN when there is none.
    [[nodiscard]] Result<std::size_t> send_some(std::span<const std::byte> data) const;
    /// All of it.
    [[nodiscard]] Result<void> send(std::span<const std::byte> data, Clock::time_point until) const;
    [[nodiscard]] Result<void> receive(std::span<std::byte> into, Clock::time_point until) const;
    /// Has the system end the connection once the other machine has not answered for about so long,
    /// whether or not there is something to send.
    void end_when_silent(std::chrono::milliseconds after) const;
    /// From now on the system asks now and then whether the other machine is still there.
    void tell_of_silence() const;
    /// After that: something of ours is unanswered, and nothing has come from the other machine for
    /// so long. A process there may be as slow as it likes.
    [[nodiscard]] bool is_unanswered(std::chrono::milliseconds since) const;

  private:
    [[nodiscard]] Result<void> wait_for(short events, Clock::time_point until) const;

    Descriptor descriptor_;
};

/// Milliseconds for poll(2) to wait, 0 when the time has come.
[[nodiscard]] int poll_timeout(Socket::Clock::time_point until);

/// By which others may reach this machine: of interfaces that are up; loopback comes last, and
/// addresses of one link alone aren't told.
[[nodiscard]] Result<std::vector<IpAddress>> own_addresses(bool ipv6);

}  // namespace oratorio
