// SPDX-License-Identifier: BSD-3-Clause
// SimulatedLocks: the job's lock service for the simulated ranks. The table of locks is the
// library's own; a rank that waits for a lock lets others run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "net/lock_table.hpp"
#include "oracle/fibers.hpp"

namespace oratorio::oracle {

/// State that all ranks of a program share.
class SimulatedLocks {
  public:
    explicit SimulatedLocks(Fibers& fibers) : fibers_(fibers) {}

    Result<LockId> acquire(Rank rank, const LockTable::Request& wanted);
    void release(LockId lock);
    /// Makes the rank's nth and all later locks (from 1) fail.
    void refuse(Rank rank, int nth) { refused_ = {rank, nth}; }
    /// Makes the rank die when its nth lock (from 1) has been granted. Calls `before_death` just
    /// before that.
    void kill(Rank rank, int nth, std::function<void()> before_death) {
        killed_ = {rank, nth};
        before_death_ = std::move(before_death);
    }
    /// Drops the rank's locks and requests, as the server does when a connection ends.
    void leave(Rank rank);
    /// Returns the number of locks that are held or waited for.
    [[nodiscard]] std::size_t size() const { return table_.size(); }
    /// Returns the number of locks granted so far.
    [[nodiscard]] int granted() const { return granted_; }

  private:
    struct Entry {
        Rank rank;
        Extent range;
        bool granted;
    };
    struct Chosen {
        Rank rank = -1;
        int left = 0;  ///< requests of the rank up to and including the chosen one
        bool is_next(Rank asking) { return asking == rank && --left <= 0; }
    };
    void drop(LockId lock);
    [[nodiscard]] std::string holders_of(Extent range) const;

    Fibers& fibers_;
    LockTable table_;
    std::map<LockId, Entry> entries_;
    LockId last_ = 0;
    int granted_ = 0;
    Chosen refused_;
    Chosen killed_;
    std::function<void()> before_death_;
};

/// The access of one rank to the job's locks.
class LocksOfRank final : public LockServices {
  public:
    LocksOfRank(SimulatedLocks& locks, Rank rank);

    Result<ServiceAddress> serve() override;
    void withdraw() override {}
    std::shared_ptr<LockService> reach(const ServiceAddress& place) override;

  private:
    std::shared_ptr<LockService> service_;
};

}  // namespace oratorio::oracle
