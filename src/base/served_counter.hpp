// SPDX-License-Identifier: BSD-3-Clause
// A counter that rank 0 serves by TCP: for ranks that share no memory, where the host MPI has no
// one-sided communication between them. A thread beside answers, which never calls MPI, so it may
// at any level of thread support and while rank 0 computes.
//
// Behind the door (base/door) a connection has requests of an operation and an operand, each
// answered by the number before it. All are words of 8 bytes, little-endian.
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
#include "base/door.hpp"

namespace oratorio {

enum class CounterOperation : std::uint64_t { add = 1, set = 2 };

/// Rank 0's: has the number, which other threads may move meanwhile.
class CounterServer final : public Counter {
  public:
    /// Listens on all addresses of the machine, for so many ranks. An error: no sockets, no
    /// addresses or no thread.
    static Result<std::unique_ptr<CounterServer>> start(Rank clients);
    /// Ends the thread and all connections. Needs no client to agree.
    ~CounterServer() override;

    [[nodiscard]] const ServicePlace& place() const { return place_; }
    Result<std::int64_t> fetch_add(std::int64_t by) override { return number_.fetch_add(by); }
    Result<void> set(std::int64_t to) override;

  private:
    struct Connection {
        Socket socket;
        std::size_t filled = 0;  ///< bytes of a request that isn't whole yet
        std::array<std::byte, 16> request{};
    };

    CounterServer(Door door, Descriptor end, Rank clients);
    void run();
    [[nodiscard]] std::size_t room() const;
    [[nodiscard]] bool serve(Connection& client);
    [[nodiscard]] std::optional<std::uint64_t> reply_to(const Connection& client);

    const std::size_t clients_;  ///< ranks besides this one
    ServicePlace place_;
    std::atomic<std::int64_t> number_{0};
    Door door_;
    Descriptor end_;  ///< an eventfd: the thread is to end
    // The thread's:
    std::vector<Connection> connections_;
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
    explicit CounterClient(const ServicePlace& place, CounterLimits limits = {})
        : place_(place), limits_(limits) {}
    Result<std::int64_t> fetch_add(std::int64_t by) override {
        return ask(CounterOperation::add, by);
    }
    Result<void> set(std::int64_t to) override;

  private:
    [[nodiscard]] Result<std::int64_t> ask(CounterOperation operation, std::int64_t operand);
    [[nodiscard]] Result<void> connect();
    [[nodiscard]] Result<std::int64_t> request(CounterOperation operation, std::int64_t operand);

    ServicePlace place_;
    CounterLimits limits_;
    Socket socket_;
    std::optional<Error> failed_;
};

}  // namespace oratorio
