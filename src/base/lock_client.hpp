// SPDX-License-Identifier: BSD-3-Clause
// LockClient: one process's way to a lock server. TcpLocks: all of them, and the server that this
// process offers itself.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/lock_server.hpp"

namespace oratorio {

/// Serves other ranks. A thread that waits for a lock calls it repeatedly.
using WhileLocked = void (*)();

struct LockLimits {
    std::chrono::milliseconds connect{10'000};
};

/// A connection for each lock that the process holds or waits for at the same time, mostly one.
/// They are made when they are needed and kept for later locks.
///
/// A waiting thread calls `while_locked`, and what that does may want another lock. The thread then
/// gives up its place in the queue and asks again afterwards: nobody holds a lock while it waits
/// for a second one.
class LockClient final : public LockService {
  public:
    explicit LockClient(const ServicePlace& place, WhileLocked while_locked = nullptr,
                        LockLimits limits = {})
        : place_(place), while_locked_(while_locked), limits_(limits) {}

    /// Errors: unsupported_operation when there was no way to the server, else io; both with the
    /// errno.
    Result<LockId> acquire(const LockKey& file, Extent range, bool exclusive) override;
    Result<void> release(LockId lock) override;

  private:
    [[nodiscard]] Result<Socket> idle_connection();
    [[nodiscard]] Result<void> wait_for_grant(Socket& socket, const LockTable::Request& wanted,
                                              LockId& number);
    [[nodiscard]] LockId next_number();

    const ServicePlace place_;
    const WhileLocked while_locked_;
    const LockLimits limits_;
    std::mutex mutex_;  ///< guards all below
    LockId last_number_ = 0;
    std::vector<Socket> idle_;
    std::map<LockId, Socket> held_;
};

class TcpLocks final : public LockServices {
  public:
    explicit TcpLocks(WhileLocked while_locked = nullptr) : while_locked_(while_locked) {}
    Result<ServicePlace> serve() override;
    void withdraw() override;
    std::shared_ptr<LockService> reach(const ServicePlace& place) override;

  private:
    const WhileLocked while_locked_;
    std::mutex mutex_;  ///< guards all below
    std::unique_ptr<LockServer> server_;
    int offers_ = 0;
    std::map<std::uint64_t, std::shared_ptr<LockService>> reached_;  ///< by token
};

}  // namespace oratorio
