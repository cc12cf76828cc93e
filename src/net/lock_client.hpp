// SPDX-License-Identifier: BSD-3-Clause
// LockClient: the connections of one process to a lock server. TcpLocks: all lock clients of a
// process, and the lock server that this process itself offers.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "net/lock_server.hpp"

namespace oratorio {

/// A function that serves other ranks, called repeatedly by a thread that waits for a lock.
using WhileLocked = void (*)();

struct LockLimits {
    std::chrono::milliseconds connect{10'000};
};

/// A client with a connection for each lock that the process holds or waits for at the same time,
/// which is usually one. Connections are made when needed and kept for later locks. If a kept one
/// has ended, for example because the network was down, a new one takes its place.
///
/// A waiting thread calls `while_locked`, which may itself acquire another lock. The thread then
/// withdraws its first request, and repeats that request afterwards. So no thread holds a lock
/// while it waits for a second one.
class LockClient final : public LockService {
  public:
    explicit LockClient(const ServiceAddress& address, WhileLocked while_locked = nullptr,
                        LockLimits limits = {})
        : address_(address), while_locked_(while_locked), limits_(limits) {}

    /// Acquires a lock. The error is unsupported_operation if the server couldn't be reached, and
    /// otherwise io. It carries the errno.
    Result<LockId> acquire(const LockKey& file, Extent range, bool exclusive) override;
    Result<void> release(LockId lock) override;

  private:
    [[nodiscard]] Socket take_idle();
    void drop_idle();
    [[nodiscard]] Result<Socket> connect() const;
    [[nodiscard]] Result<LockId> acquire_by(Socket socket, const LockTable::Request& wanted);
    [[nodiscard]] Result<void> wait_for_grant(Socket& socket, const LockTable::Request& wanted,
                                              LockId& number);
    [[nodiscard]] LockId next_number();

    const ServiceAddress address_;
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
    Result<ServiceAddress> serve() override;
    void withdraw() override;
    std::shared_ptr<LockService> reach(const ServiceAddress& address) override;

  private:
    const WhileLocked while_locked_;
    std::mutex mutex_;  ///< guards all below
    std::unique_ptr<LockServer> server_;
    int offers_ = 0;
    /// Lock services by the server's token.
    std::map<std::uint64_t, std::shared_ptr<LockService>> reached_;
};

}  // namespace oratorio
