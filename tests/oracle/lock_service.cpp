// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/lock_service.hpp"

#include <string>

#include "oracle/scarcity.hpp"

namespace oratorio::oracle {

namespace {

class ServiceOfRank final : public LockService {
  public:
    ServiceOfRank(SimulatedLocks& locks, Rank rank) : locks_(locks), rank_(rank) {}

    Result<LockId> acquire(const LockKey& file, Extent range, bool exclusive) override {
        return locks_.acquire(rank_, {file, range, exclusive});
    }
    Result<void> release(LockId lock) override {
        locks_.release(lock);
        return {};
    }

  private:
    SimulatedLocks& locks_;
    Rank rank_;
};

std::string text(Extent range) {
    return "[" + std::to_string(range.begin) + ", " + std::to_string(range.end) + ")";
}

}  // namespace

Result<LockId> SimulatedLocks::acquire(Rank rank, const LockTable::Request& wanted) {
    const Spared spared;
    fibers_.maybe();
    if (fibers_.stopping()) return Error::make(ErrorKind::internal, "stopped");
    if (refused_.is_next(rank))
        return Error::make(ErrorKind::io, "lock: the job's lock service no longer answers");
    const LockId lock = ++last_;
    const bool granted = table_.request(lock, wanted);
    entries_[lock] = {rank, wanted.range, granted};
    if (!granted) {
        const std::string why = "a lock of the job of " + text(wanted.range) +
                                ", which is held by" + holders_of(wanted.range);
        fibers_.wait([this, lock] { return entries_.at(lock).granted; }, why);
    }
    ++granted_;
    if (killed_.is_next(rank)) {
        fibers_.maybe();
        leave(rank);
        before_death_();
        fibers_.vanish();
    }
    fibers_.moved();
    fibers_.maybe();
    return lock;
}

std::string SimulatedLocks::holders_of(Extent range) const {
    std::string holders;
    for (const auto& [lock, entry] : entries_) {
        if (entry.granted && !intersect(entry.range, range).empty())
            holders += " rank " + std::to_string(entry.rank) + " " + text(entry.range);
    }
    return holders;
}

void SimulatedLocks::drop(LockId lock) {
    for (const LockId granted : table_.release(lock)) entries_.at(granted).granted = true;
    entries_.erase(lock);
}

void SimulatedLocks::release(LockId lock) {
    const Spared spared;
    fibers_.maybe();
    drop(lock);
    fibers_.moved();
    fibers_.maybe();
}

void SimulatedLocks::leave(Rank rank) {
    for (auto next = entries_.begin(); next != entries_.end();) {
        const auto [lock, entry] = *next++;
        if (entry.rank == rank) drop(lock);
    }
    fibers_.moved();
}

LocksOfRank::LocksOfRank(SimulatedLocks& locks, Rank rank)
    : service_(std::make_shared<ServiceOfRank>(locks, rank)) {}

/// Returns an address with `count` set, because a count of 0 means that there is no server.
Result<ServiceAddress> LocksOfRank::serve() {
    ServiceAddress place;
    place.port = 1;
    place.count = 1;
    return place;
}

std::shared_ptr<LockService> LocksOfRank::reach(const ServiceAddress&) {
    return service_;
}

}  // namespace oratorio::oracle
