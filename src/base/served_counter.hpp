// SPDX-License-Identifier: BSD-3-Clause
// A counter that rank 0 serves by TCP: for ranks that share no memory, where the host MPI has no
// one-sided communication between them. A thread beside answers, which never calls MPI, so it may
// at any level of thread support and while rank 0 computes.
//
// A connection: the client says the token, the server the answer; then come requests of an
// operation and an operand, each answered by the number before it. All are words of 8 bytes,
// little-endian.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/counter.hpp"
#include "base/socket.hpp"

struct pollfd;

namespace oratorio {

/// Where a counter is served, and what opens the door there. A plain value that fits a message.
struct CounterPlace {
    std::uint64_t token = 0;   ///< without it nobody moves the number
    std::uint64_t answer = 0;  ///< tells the server from whoever has its address elsewhere
    std::uint32_t port = 0;
    std::uint32_t count = 0;  ///< of addresses; 0 when there is no server
    std::array<IpAddress, 16> addresses{};
};

enum class CounterOperation : std::uint64_t { add = 1, set = 2 };

using Word = std::array<std::byte, 8>;
[[nodiscard]] Word to_word(std::uint64_t value);
[[nodiscard]] std::uint64_t from_word(std::span<const std::byte> word);

/// Rank 0's: has the number, which other threads may move meanwhile.
class CounterServer final : public Counter {
  public:
    /// Of those who haven't said the token: the next one takes the place of the oldest.
    static constexpr std::size_t strangers_max = 16;

    /// Listens on all addresses of the machine, for so many ranks. An error: no sockets, no
    /// addresses or no thread.
    static Result<std::unique_ptr<CounterServer>> start(Rank clients);
    /// Ends the thread and all connections. Needs no client to agree.
    ~CounterServer() override;

    [[nodiscard]] const CounterPlace& place() const { return place_; }
    Result<std::int64_t> fetch_add(std::int64_t by) override { return number_.fetch_add(by); }
    Result<void> set(std::int64_t to) override;

  private:
    struct Connection {
        Socket socket;
        Socket::Clock::time_point until;  ///< for the token
        bool admitted = false;
        std::size_t filled = 0;  ///< bytes of a request that isn't whole yet
        std::array<std::byte, 16> request{};
    };

    CounterServer(Socket listener, Descriptor end, Rank clients);
    [[nodiscard]] Result<void> find_place();
    void run();
    [[nodiscard]] int poll_once(std::vector<pollfd>& watched) const;
    [[nodiscard]] bool serve(Connection& client);
    [[nodiscard]] std::optional<std::uint64_t> reply_to(Connection& client);
    [[nodiscard]] bool may_come_in(std::uint64_t word) const;
    void accept_some();
    void welcome(Socket socket);
    bool drop_oldest_stranger();

    const std::size_t clients_;  ///< ranks besides this one
    CounterPlace place_;
    std::atomic<std::int64_t> number_{0};
    Socket listener_;
    Descriptor end_;  ///< an eventfd: the thread is to end
    // The thread's:
    std::vector<Connection> connections_;
    bool crowded_ = false;  ///< no room for another connection just now
    std::thread thread_;
};

struct CounterLimits {
    std::chrono::milliseconds connect{10'000};
    std::chrono::milliseconds reply{30'000};
};

/// The other ranks'. Connects at the first use and stays connected. What failed once fails again at
/// once: whether the number was moved isn't known. Errors: unsupported_operation when there never
/// was a connection, else io; both with the errno.
class CounterClient final : public Counter {
  public:
    explicit CounterClient(const CounterPlace& place, CounterLimits limits = {})
        : place_(place), limits_(limits) {}
    Result<std::int64_t> fetch_add(std::int64_t by) override {
        return ask(CounterOperation::add, by);
    }
    Result<void> set(std::int64_t to) override;

  private:
    [[nodiscard]] Result<std::int64_t> ask(CounterOperation operation, std::int64_t operand);
    [[nodiscard]] Result<void> connect();
    [[nodiscard]] Result<std::int64_t> request(CounterOperation operation, std::int64_t operand);

    CounterPlace place_;
    CounterLimits limits_;
    Socket socket_;
    std::optional<Error> failed_;
};

}  // namespace oratorio
