// SPDX-License-Identifier: BSD-3-Clause
// Counters, such as the shared file pointer, that a process serves over TCP to the other ranks
// where not all ranks share memory. One thread serves all counters of the process. It never calls
// MPI, so it works at any level of thread support and while the process computes.
//
// A client admitted by the job listener (net/job_listener) sends requests of five words
// (CounterRequest). A reply is two words: kServed and the number before the operation, or kUnknown
// and 0 where there is no such counter. Words have 8 bytes and are little-endian.
//
// If there is no room for another client, the server closes the least recently used connection. A
// client that loses its connection before the reply connects again and repeats the request. The
// request's number shows the server whether it has served that request already.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "comm/shared_counter.hpp"
#include "comm/topology.hpp"
#include "net/job_listener.hpp"

namespace oratorio {

enum class CounterOperation : std::uint64_t { add = 1, set = 2 };

struct CounterRequest {
    CounterOperation operation = CounterOperation::add;
    std::uint64_t counter = 0;  ///< id of the counter
    std::int64_t operand = 0;
    std::uint64_t client = 0;  ///< number of the client; differs between clients of a counter
    std::uint64_t number = 0;  ///< larger than in the client's previous request
};

inline constexpr std::size_t kCounterRequest = 40;  ///< bytes
inline constexpr std::size_t kCounterReply = 16;    ///< bytes
inline constexpr std::uint64_t kServed = 1;
inline constexpr std::uint64_t kUnknown = 0;

/// The address of one counter. A plain value that fits a message.
struct CounterPlace {
    ServiceAddress server;
    std::uint64_t id = 0;
    std::int64_t refused = 0;  ///< errno that explains why there is no server; 0 if there is one
};

/// Serves the counters of this process. Thread-safe.
class CounterServer {
  public:
    /// Maximum number of open connections, unless a quarter of the process's limit of descriptors
    /// is less.
    static constexpr std::size_t connections_max = 256;

    /// Listens on all addresses of the machine. Fails without sockets, addresses or a thread.
    static Result<std::unique_ptr<CounterServer>> start();
    ~CounterServer() { stop(); }

    [[nodiscard]] const ServiceAddress& address() const { return address_; }
    /// Adds a counter that is 0, and returns its id.
    [[nodiscard]] std::uint64_t add();
    void remove(std::uint64_t id);
    /// Serves a request and returns the counter's number before the operation. If the client
    /// repeats its last request, returns the same number again and changes nothing. Returns nothing
    /// if the counter is unknown.
    std::optional<std::int64_t> serve(const CounterRequest& request);
    /// Ends the thread and all connections, even while clients wait for replies. This process can
    /// still use the counters after that.
    void stop();

  private:
    struct Connection {
        Socket socket;
        std::size_t filled = 0;  ///< bytes received of the request
        std::array<std::byte, kCounterRequest> request{};
    };
    struct Served {
        std::uint64_t request = 0;
        std::int64_t before = 0;
    };
    struct Counted {
        std::int64_t number = 0;
        std::map<std::uint64_t, Served> last;  ///< last request of each client
    };

    CounterServer(JobListener listener, Descriptor end, Descriptor spare);
    // Called by the server's thread only:
    void run();
    void serve_all();
    void serve_connections(std::span<const pollfd> watched);
    void admit(std::span<const pollfd> at_door);
    [[nodiscard]] bool answer(Connection& client);

    ServiceAddress address_;
    JobListener listener_;
    Descriptor end_;    ///< an eventfd; readable when the thread must end
    Descriptor spare_;  ///< closed to make room for one connection when descriptors have run out
    std::size_t room_;
    std::atomic<bool> stopped_{false};  ///< makes stop() act once; publishes nothing
    std::mutex mutex_;                  ///< guards the counters
    std::map<std::uint64_t, Counted> counters_;
    std::uint64_t last_id_ = 0;
    std::vector<Connection> connections_;  ///< the thread's; the most recently used one is last
    std::thread thread_;
};

struct CounterLimits {
    std::chrono::milliseconds connect{10'000};
    std::chrono::milliseconds reply{30'000};
};

/// A connection to the counters of another process. Connects at the first use, and again when the
/// connection has ended. If a request gets no reply, all later requests fail at once, because it is
/// unknown whether the number changed. Their error is unsupported_operation if there never was a
/// connection, and otherwise io; it carries the errno. Thread-safe.
class CounterConnection {
  public:
    explicit CounterConnection(const ServiceAddress& address, CounterLimits limits = {})
        : address_(address), limits_(limits) {}
    [[nodiscard]] Result<std::int64_t> ask(const CounterRequest& request);
    [[nodiscard]] bool has_failed() const { return has_failed_; }

  private:
    using Words = std::array<std::byte, kCounterRequest>;
    using Reply = std::array<std::byte, kCounterReply>;
    // REQUIRES for these three functions: mutex_ is held.
    [[nodiscard]] Result<void> connect();
    [[nodiscard]] Result<Reply> exchange(const Words& request);
    [[nodiscard]] Error describe(const Error& failure) const;

    const ServiceAddress address_;
    const CounterLimits limits_;
    /// Written under mutex_ after failure_. has_failed() reads this word alone, without mutex_.
    std::atomic<bool> has_failed_{false};
    std::mutex mutex_;  ///< guards all below; held while waiting for a reply
    Socket socket_;
    bool was_connected_ = false;
    Error failure_;
};

/// A counter of this process.
class HostedCounter final : public SharedCounter {
  public:
    explicit HostedCounter(std::shared_ptr<CounterServer> server)
        : server_(std::move(server)), id_(server_->add()) {}
    ~HostedCounter() override { server_->remove(id_); }

    [[nodiscard]] CounterPlace address() const { return {server_->address(), id_}; }
    Result<std::int64_t> fetch_add(std::int64_t by) override {
        return serve(CounterOperation::add, by);
    }
    Result<void> set(std::int64_t to) override {
        (void)serve(CounterOperation::set, to);
        return {};
    }

  private:
    std::int64_t serve(CounterOperation operation, std::int64_t operand) {
        return *server_->serve({operation, id_, operand, 0, ++requests_});
    }

    std::shared_ptr<CounterServer> server_;
    std::uint64_t id_;
    std::uint64_t requests_ = 0;
};

/// A counter of another process.
class CounterClient final : public SharedCounter {
  public:
    /// `rank` is the rank of this process. It isn't 0, and no other client of the counter has it.
    CounterClient(std::shared_ptr<CounterConnection> connection, std::uint64_t id, Rank rank)
        : connection_(std::move(connection)), id_(id), rank_(static_cast<std::uint64_t>(rank)) {}
    Result<std::int64_t> fetch_add(std::int64_t by) override {
        return ask(CounterOperation::add, by);
    }
    Result<void> set(std::int64_t to) override;

  private:
    [[nodiscard]] Result<std::int64_t> ask(CounterOperation operation, std::int64_t operand) {
        return connection_->ask({operation, id_, operand, rank_, ++requests_});
    }

    std::shared_ptr<CounterConnection> connection_;
    std::uint64_t id_;
    std::uint64_t rank_;
    std::uint64_t requests_ = 0;
};

/// The server of this process, started for its first counter, and the connections to the servers of
/// other processes, kept while a counter uses them. Thread-safe.
class CounterService {
  public:
    /// Makes a counter of this process. Starts the server if none is running, and fails if
    /// CounterServer::start() does.
    Result<std::unique_ptr<HostedCounter>> host();
    /// Makes this rank's client of another process's counter. Sends nothing yet.
    std::unique_ptr<SharedCounter> reach(const CounterPlace& address, Rank rank);
    /// Ends the server if no counter of this process is left.
    void retire();
    /// Ends the server's thread. Called when MPI is finalized.
    void stop();

  private:
    std::mutex mutex_;  ///< guards all below
    std::shared_ptr<CounterServer> server_;
    /// Connections by their server's token.
    std::map<std::uint64_t, std::weak_ptr<CounterConnection>> connections_;
};

}  // namespace oratorio
