// SPDX-License-Identifier: BSD-3-Clause
// SimLocks: the job's lock service for simulated ranks, without sockets. Each rank has a
// SimLockServices of its own. A rank that waits for a lock lets other ranks run.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "net/lock_table.hpp"

namespace oratorio::test {

/// State that all ranks of a simulated job share.
struct SimLocks {
    LockTable table;
    std::set<LockTable::Owner> granted;
    LockTable::Owner last = 0;
    int locks = 0;    ///< number of locks granted so far
    int offers = 0;   ///< number of serve() calls that were not withdrawn
    int refused = 0;  ///< errno with which serve() fails; 0: it succeeds

    void end(LockTable::Owner owner) {
        granted.erase(owner);
        for (const LockTable::Owner next : table.release(owner)) granted.insert(next);
    }
};

class SimLockService final : public LockService {
  public:
    SimLockService(SimLocks& all, std::function<void()> while_locked)
        : all_(all), while_locked_(std::move(while_locked)) {}
    /// Releases the locks of this service, as the server does when a process dies.
    ~SimLockService() override {
        for (const LockId lock : mine_) all_.end(lock);
    }

    Result<LockId> acquire(const LockKey& file, Extent range, bool exclusive) override {
        const LockId mine = ++all_.last;
        mine_.insert(mine);
        if (all_.table.request(mine, {file, range, exclusive})) all_.granted.insert(mine);
        while (!all_.granted.contains(mine)) while_locked_();
        ++all_.locks;
        return mine;
    }
    Result<void> release(LockId lock) override {
        mine_.erase(lock);
        all_.end(lock);
        return {};
    }

  private:
    SimLocks& all_;
    std::function<void()> while_locked_;
    std::set<LockId> mine_;
};

/// The library's access to the job's locks on one rank.
class SimLockServices final : public LockServices {
  public:
    SimLockServices(SimLocks& all, std::function<void()> while_locked)
        : all_(all), service_(std::make_shared<SimLockService>(all, std::move(while_locked))) {}

    Result<ServiceAddress> serve() override {
        if (all_.refused != 0) return Error::of_errno("serving locks", all_.refused);
        ++all_.offers;
        return ServiceAddress{.token = 1, .count = 1};
    }
    void withdraw() override { --all_.offers; }
    std::shared_ptr<LockService> reach(const ServiceAddress&) override { return service_; }

  private:
    SimLocks& all_;
    std::shared_ptr<LockService> service_;
};

}  // namespace oratorio::test
