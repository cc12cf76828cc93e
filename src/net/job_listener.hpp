// SPDX-License-Identifier: BSD-3-Clause
// JobListener: a listener through which ranks of one job, and nobody else, reach a thread of
// another rank over TCP. A client sends the token first. The server's answer proves that it is the
// server, and not another machine with the same address. Token and answer are random; the ranks
// learn them through the host MPI. Words have 8 bytes and are little-endian.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "net/socket.hpp"

struct pollfd;

namespace oratorio {

/// The address of a service and the secrets needed to reach it. A plain value that fits a message.
struct ServiceAddress {
    std::uint64_t token = 0;   ///< secret that a client must send to be served
    std::uint64_t answer = 0;  ///< secret that proves the server's identity
    /// Number of the service, which the client sends if the server has several services.
    std::uint64_t service = 0;
    std::uint32_t port = 0;
    std::uint32_t count = 0;  ///< number of addresses; 0 when there is no server
    std::array<IpAddress, 16> addresses{};
};

using Word = std::array<std::byte, 8>;
[[nodiscard]] Word to_word(std::uint64_t value);
[[nodiscard]] std::uint64_t from_word(std::span<const std::byte> word);

/// The server's side. REQUIRES: one thread uses it.
class JobListener {
  public:
    /// Maximum number of connections that have not sent the token yet. A further connection
    /// replaces the oldest of them.
    static constexpr std::size_t pending_max = 16;

    /// Makes a listener on all addresses of the machine. Fails without sockets, addresses or random
    /// numbers.
    static Result<JobListener> open();
    /// Makes a listener that accepts nothing.
    JobListener() = default;

    [[nodiscard]] const ServiceAddress& address() const { return address_; }
    /// Adds the listener's descriptors to `watched`, the list for poll(2).
    void watch(std::vector<pollfd>& watched) const;
    /// Returns the timeout for poll(2) in milliseconds; -1: none.
    [[nodiscard]] int patience() const;
    /// Accepts connections and receives tokens after poll(2). `watched` is what watch() added, and
    /// `wanted` the maximum number of connections to return. Returns the connections on which the
    /// client has sent the token and the server has sent the answer. Further clients wait for the
    /// next call; if `wanted` is 0, the connections of clients that have sent the token are closed.
    std::vector<Socket> look(std::span<const pollfd> watched, std::size_t wanted);
    /// Returns true if a client waits and the process has no descriptor for its connection. Valid
    /// after look().
    [[nodiscard]] bool is_crowded() const { return crowded_; }
    /// Makes the next watch() listen again. Called after closing a connection, when a descriptor
    /// may be free again.
    void try_again() { crowded_ = false; }

  private:
    struct PendingPeer {
        Socket socket;
        Socket::Clock::time_point until;
        std::size_t filled = 0;  ///< bytes received of the token
        Word token{};
    };
    enum class Verdict { waits, comes_in, goes };

    explicit JobListener(Socket listener) : listener_(std::move(listener)) {}
    [[nodiscard]] Result<void> find_address();
    [[nodiscard]] Verdict hear(PendingPeer& peer) const;
    void accept_some();
    [[nodiscard]] bool has_enough() const;
    [[nodiscard]] bool somebody_waits() const;
    bool drop_oldest();

    ServiceAddress address_;
    Socket listener_;
    std::vector<PendingPeer> pending_;
    std::vector<Socket> admitted_;
    std::size_t wanted_ = 0;
    bool crowded_ = false;  ///< the process has no descriptor for another connection
};

/// Connects a client to a service, and waits until the server has answered the token, at most until
/// `until`. If all addresses fail, the error has the errno of the first one.
[[nodiscard]] Result<Socket> connect_to(const ServiceAddress& address,
                                        Socket::Clock::time_point until);

}  // namespace oratorio
