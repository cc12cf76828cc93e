// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/storage.hpp"

#include <algorithm>
#include <cerrno>
#include <string>

#include "oracle/scarcity.hpp"

namespace oratorio::oracle {

SimulatedStore::SimulatedStore(Fibers& fibers, Storage& storage, int rank, Fault& fault,
                               const test::MemoryStoreOptions& options)
    : fibers_(fibers),
      storage_(storage),
      rank_(rank),
      fault_(fault),
      store_(storage.disk, options, [this] { wait_for_unlock(); }),
      facts_(store_.facts()) {
    facts_.limits.performs_jobs = facts_.limits.asynchronous;
}

SimulatedStore::~SimulatedStore() {
    drop_locks();
}

Submitted SimulatedStore::submit(const IoRequest& request) {
    const Spared spared;
    fibers_.maybe();
    fibers_.moved();
    if (request.job != nullptr) {
        jobs_.push_back(request);
        return Submitted::queued;
    }
    const bool counts = request.direction == Direction::read ? fault_.reads : fault_.writes;
    if (counts && fault_.nth > 0 && --fault_.nth == 0) {
        ended_.push_back({.token = request.token, .system_errno = fault_.system_errno});
        return Submitted::done;
    }
    const Submitted submitted = store_.submit(request);
    fibers_.maybe();
    return submitted;
}

std::size_t SimulatedStore::reap(std::span<IoCompletion> out, bool wait) {
    const Spared spared;
    fibers_.maybe();
    was_late_ = !was_late_ && !wait;
    if (!jobs_.empty() && !in_job_ && !was_late_) perform_next_job();
    const std::size_t count = std::min(out.size(), ended_.size());
    std::copy_n(ended_.begin(), count, out.begin());
    ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(count));
    const std::size_t more = store_.reap(out.subspan(count), wait && count == 0);
    if (more > 0) fibers_.moved();
    return count + more;
}

/// Performs one job from its beginning to its end. During the job other ranks may run, but no other
/// job of this store.
void SimulatedStore::perform_next_job() {
    const IoRequest next = jobs_.front();
    jobs_.pop_front();
    in_job_ = true;
    next.job->perform(*this);
    in_job_ = false;
    ended_.push_back({.token = next.token});
    fibers_.moved();
}

void SimulatedStore::finish_jobs() {
    const Spared spared;
    while (!jobs_.empty() && !in_job_) perform_next_job();
}

Result<Bytes> SimulatedStore::size() {
    const Spared spared;
    fibers_.maybe();
    return store_.size();
}

Result<void> SimulatedStore::resize(Bytes bytes, bool allocate) {
    const Spared spared;
    fibers_.maybe();
    auto done = store_.resize(bytes, allocate);
    fibers_.maybe();
    return done;
}

Result<void> SimulatedStore::sync() {
    const Spared spared;
    fibers_.maybe();
    return store_.sync();
}

Result<void> SimulatedStore::lock(Extent range, bool lock, bool exclusive) {
    const Spared spared;
    fibers_.maybe();
    if (lock && fibers_.stopping()) return Error::make(ErrorKind::internal, "stopped");
    wanted_ = range;
    auto done = store_.lock(range, lock, exclusive);
    if (!done) return done;
    fibers_.moved();
    ++storage_.locks_changed;
    // A new lock replaces the owner's overlapping entries in `held`. A lock that was released in
    // part disappears as a whole, which is good enough for explanations.
    std::erase_if(storage_.held, [&](const Storage::Held& held) {
        return held.owner == this && !intersect(held.range, range).empty();
    });
    if (lock) storage_.held.push_back({this, rank_, range});
    fibers_.maybe();
    return done;
}

void SimulatedStore::wait_for_unlock() {
    std::string why = "a lock of [" + std::to_string(wanted_.begin) + ", " +
                      std::to_string(wanted_.end) + "), which is held by";
    for (const Storage::Held& held : storage_.held) {
        if (held.owner != this && !intersect(held.range, wanted_).empty())
            why += " rank " + std::to_string(held.fiber_rank) + " [" +
                   std::to_string(held.range.begin) + ", " + std::to_string(held.range.end) + ")";
    }
    const std::uint64_t seen = storage_.locks_changed;
    fibers_.wait([this, seen] { return storage_.locks_changed != seen; }, why);
}

Result<Mapped> SimulatedStore::map(Extent range, Direction direction, Populate populate) {
    const Spared spared;
    fibers_.maybe();
    return store_.map(range, direction, populate);
}

void SimulatedStore::drop_locks() {
    ++storage_.locks_changed;
    std::erase_if(storage_.held, [&](const Storage::Held& held) { return held.owner == this; });
}

Result<void> SimulatedStore::close() {
    const Spared spared;
    fibers_.maybe();
    auto done = store_.close();
    drop_locks();
    return done;
}

}  // namespace oratorio::oracle
