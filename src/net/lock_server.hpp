// SPDX-License-Identifier: BSD-3-Clause
// LockServer: grants the locks of a job over TCP. It has a thread of its own that never calls MPI,
// so it works at any level of thread support and while its process computes.
//
// A client admitted by the job listener (net/job_listener) sends requests of six words: the
// operation, the key's two numbers, the range's first byte and its end, and a number of the
// client's choice. The server answers a granted lock with that number, one word; it does not answer
// a release. A connection has at most one lock, held or waited for, and the lock ends with the
// connection, so that the locks of a process that dies become free. All words have 8 bytes and are
// little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "net/job_listener.hpp"
#include "net/lock_table.hpp"

namespace oratorio {

enum class LockOperation : std::uint64_t { share = 1, exclude = 2, release = 3 };

using LockMessage = std::array<std::byte, 48>;
[[nodiscard]] LockMessage lock_message(LockOperation operation, const LockTable::Request& wanted,
                                       std::uint64_t number);

/// A machine that doesn't answer for this long is treated as dead.
inline constexpr std::chrono::seconds kLockPeerSilence{30};

class LockServer {
  public:
    /// Starts a server. Fails without sockets, addresses or a thread.
    static Result<std::unique_ptr<LockServer>> start();
    /// Ends the thread and all connections, even if clients hold locks.
    ~LockServer();
    LockServer(const LockServer&) = delete;
    LockServer& operator=(const LockServer&) = delete;

    [[nodiscard]] const ServiceAddress& address() const { return address_; }

  private:
    struct Connection {
        Socket socket;
        std::size_t filled = 0;  ///< bytes received of the request
        LockMessage request{};
        std::uint64_t number = 0;  ///< number of the lock that the connection holds or waits for
    };
    using Owner = LockTable::Owner;

    LockServer(JobListener listener, Descriptor end);
    // Called by the server's thread only:
    void run();
    void serve_all();
    [[nodiscard]] bool serve(Owner owner, Connection& client);
    [[nodiscard]] bool handle(Owner owner, Connection& client);
    [[nodiscard]] static bool grant(const Connection& client);
    void release(Owner owner);
    void drop(Owner owner);

    ServiceAddress address_;
    JobListener listener_;
    Descriptor end_;  ///< an eventfd; readable when the thread must end
    // Used by the server's thread only:
    LockTable locks_;
    std::map<Owner, Connection> connections_;
    Owner last_owner_ = 0;
    std::thread thread_;
};

}  // namespace oratorio
