// SPDX-License-Identifier: BSD-3-Clause
// LockServer: grants the locks of a job by TCP. A thread of its own answers, which never calls MPI,
// so it answers at any level of thread support and while its process computes.
//
// Behind the door (base/door) a client sends requests of six words: the operation, the key's two
// numbers, the begin and the end of the range, and a number of the client's choice. A lock that is
// granted is answered by that number, one word; a release has no answer. A connection has at most
// one lock, held or waited for, and loses it when the connection ends, so that the locks of a
// process that dies are free again. All words are of 8 bytes, little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/door.hpp"
#include "base/lock_table.hpp"

namespace oratorio {

enum class LockOperation : std::uint64_t { share = 1, exclude = 2, release = 3 };

using LockMessage = std::array<std::byte, 48>;
[[nodiscard]] LockMessage lock_message(LockOperation operation, const LockTable::Request& wanted,
                                       std::uint64_t number);

/// After that a machine that doesn't answer any more is taken for dead.
inline constexpr std::chrono::seconds kLockPeerSilence{30};

class LockServer {
  public:
    /// An error: no sockets, no addresses or no thread.
    static Result<std::unique_ptr<LockServer>> start();
    /// Ends the thread and all connections. Needs no client to agree.
    ~LockServer();
    LockServer(const LockServer&) = delete;
    LockServer& operator=(const LockServer&) = delete;

    [[nodiscard]] const ServicePlace& place() const { return place_; }

  private:
    struct Connection {
        Socket socket;
        std::size_t filled = 0;  ///< bytes of a request that isn't whole yet
        LockMessage request{};
        std::uint64_t number = 0;  ///< of the lock it has or waits for
    };
    using Owner = LockTable::Owner;

    LockServer(Door door, Descriptor end);
    void run();
    void serve_all();
    [[nodiscard]] bool serve(Owner owner, Connection& client);
    [[nodiscard]] bool handle(Owner owner, Connection& client);
    [[nodiscard]] static bool grant(const Connection& client);
    void release(Owner owner);
    void drop(Owner owner);

    ServicePlace place_;
    Door door_;
    Descriptor end_;  ///< an eventfd: the thread is to end
    // The thread's:
    LockTable locks_;
    std::map<Owner, Connection> connections_;
    Owner last_owner_ = 0;
    std::thread thread_;
};

}  // namespace oratorio
