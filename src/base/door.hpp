// SPDX-License-Identifier: BSD-3-Clause
// Door: how ranks of one job, and nobody else, reach a thread of another rank by TCP. Whoever
// connects says the token first; the server's answer tells it from whoever has its address
// elsewhere. Both are random, and known to the ranks by the host MPI. Words are of 8 bytes,
// little-endian.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/socket.hpp"

struct pollfd;

namespace oratorio {

/// Where something is served, and what opens the door there. A plain value that fits a message.
struct ServicePlace {
    std::uint64_t token = 0;    ///< without it nobody is served
    std::uint64_t answer = 0;   ///< tells the server from whoever has its address elsewhere
    std::uint64_t service = 0;  ///< of several behind one door; who is served says it
    std::uint32_t port = 0;
    std::uint32_t count = 0;  ///< of addresses; 0 when there is no server
    std::array<IpAddress, 16> addresses{};
};

using Word = std::array<std::byte, 8>;
[[nodiscard]] Word to_word(std::uint64_t value);
[[nodiscard]] std::uint64_t from_word(std::span<const std::byte> word);

/// The server's side. Used by one thread.
class Door {
  public:
    /// Of those who haven't said the token: the next one takes the place of the oldest.
    static constexpr std::size_t strangers_max = 16;

    /// Listens on all addresses of the machine. An error: no sockets, no addresses, or no random
    /// numbers.
    static Result<Door> open();
    /// One that nobody comes to.
    Door() = default;

    [[nodiscard]] const ServicePlace& place() const { return place_; }
    /// Adds what it waits for, to be given to poll(2).
    void watch(std::vector<pollfd>& watched) const;
    /// Milliseconds for poll(2) to wait at most, -1 for any time.
    [[nodiscard]] int patience() const;
    /// After poll(2): what it added, and how many connections are wanted at most. Gives those whose
    /// clients have said the token and been answered.
    std::vector<Socket> look(std::span<const pollfd> watched, std::size_t wanted);
    /// After look(): somebody wants in and the process has no descriptor for the connection.
    [[nodiscard]] bool is_crowded() const { return crowded_; }
    /// The caller has closed a connection, so there may be a descriptor now.
    void try_again() { crowded_ = false; }

  private:
    struct Stranger {
        Socket socket;
        Socket::Clock::time_point until;
        std::size_t filled = 0;  ///< bytes of a token that isn't whole yet
        Word token{};
    };
    enum class Verdict { waits, comes_in, goes };

    explicit Door(Socket listener) : listener_(std::move(listener)) {}
    [[nodiscard]] Result<void> find_place();
    [[nodiscard]] Verdict hear(Stranger& stranger) const;
    void accept_some();
    [[nodiscard]] bool somebody_waits() const;
    bool drop_oldest();

    ServicePlace place_;
    Socket listener_;
    std::vector<Stranger> strangers_;
    std::vector<Socket> admitted_;
    std::size_t wanted_ = 0;
    bool crowded_ = false;  ///< no room for another connection just now
};

/// The client's side: a connection that the server has answered. Waits for it. The errno of the
/// first address where all fail.
[[nodiscard]] Result<Socket> connect_to(const ServicePlace& place, Socket::Clock::time_point until);

}  // namespace oratorio
