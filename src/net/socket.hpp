// SPDX-License-Identifier: BSD-3-Clause
// Socket: owns a nonblocking TCP socket. Also finds the addresses of this machine.
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

/// An IPv6 address, or an IPv4 address mapped into IPv6 (RFC 4291, 2.5.5.2).
using IpAddress = std::array<std::uint8_t, 16>;

/// Formats an address: "10.0.0.1 port 4000".
[[nodiscard]] std::string text_of(const IpAddress& address, std::uint16_t port);

/// Errors carry the errno: ETIMEDOUT after a time limit, ECONNRESET when the peer has closed the
/// connection. No operation raises SIGPIPE, and child programs don't inherit the socket.
class Socket {
  public:
    using Clock = std::chrono::steady_clock;
    explicit Socket(int number = -1) : descriptor_(number) {}
    Socket(Socket&&) = default;
    Socket& operator=(Socket&&) = default;
    /// Ends the connection, even if a child of this process holds the descriptor.
    ~Socket();

    /// Listens on all addresses of the machine, at a port that the system chooses.
    static Result<Socket> listen();
    /// Begins to connect. The socket becomes writable when connecting has succeeded or failed.
    static Result<Socket> connect(const IpAddress& to, std::uint16_t port);
    /// Returns true for the error that means that no data, or no room for data, is available yet.
    [[nodiscard]] static bool would_wait(const Error& error) {
        return error.system_errno == EAGAIN;
    }

    /// Accepts the next connection. The error is EAGAIN when there is none.
    [[nodiscard]] Result<Socket> accept() const;

    [[nodiscard]] int number() const { return descriptor_.number(); }
    /// Returns the port that the socket is bound to.
    [[nodiscard]] Result<std::uint16_t> port() const;
    /// Returns true if the listening socket accepts IPv6 connections, too.
    [[nodiscard]] bool hears_ipv6() const;
    /// Returns the outcome of connecting: 0 or an errno.
    [[nodiscard]] int error() const;
    /// Receives the bytes that have arrived, at least one. The error is EAGAIN when there are none.
    [[nodiscard]] Result<std::size_t> receive_some(std::span<std::byte> into) const;
    /// Sends as many bytes as there is room for, at least one. The error is EAGAIN when there is no
    /// room.
    [[nodiscard]] Result<std::size_t> send_some(std::span<const std::byte> data) const;
    /// Send or receive all bytes, waiting at most until `until`.
    [[nodiscard]] Result<void> send(std::span<const std::byte> data, Clock::time_point until) const;
    [[nodiscard]] Result<void> receive(std::span<std::byte> into, Clock::time_point until) const;
    /// Makes the system end the connection when the other machine has not answered for about
    /// `after`, even if there is nothing to send.
    void end_when_silent(std::chrono::milliseconds after) const;
    /// Makes the system probe the other machine while the connection is idle (TCP keep-alive).
    void tell_of_silence() const;
    /// Returns true if data or probes of this side are unanswered and nothing has arrived from the
    /// other machine for `since`. Says nothing about the process there, which may be slow.
    /// REQUIRES: tell_of_silence() was called.
    [[nodiscard]] bool is_unanswered(std::chrono::milliseconds since) const;

  private:
    [[nodiscard]] Result<void> wait_for(short events, Clock::time_point until) const;

    Descriptor descriptor_;
};

/// Returns the timeout for poll(2) in milliseconds, 0 when `until` has passed.
[[nodiscard]] int poll_timeout(Socket::Clock::time_point until);

/// Returns the addresses at which other machines may reach this one: those of interfaces that are
/// up, with loopback last. Leaves out link-local IPv6 addresses, and unless `ipv6` is set, all IPv6
/// addresses.
[[nodiscard]] Result<std::vector<IpAddress>> own_addresses(bool ipv6);

}  // namespace oratorio
