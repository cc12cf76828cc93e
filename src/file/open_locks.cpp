// SPDX-License-Identifier: BSD-3-Clause
#include "file/open_locks.hpp"

#include "file/path.hpp"

namespace oratorio {

namespace {

Extent byte_at(Offset offset) {
    return {offset, offset + 1};
}

/// Completes rank 0's offer with what other nodes found when they looked for the byte that rank 0
/// holds locked. With lazy open, perhaps only one node has opened the file so far, and no rank has
/// looked: the handle then takes the job's locks, and also the file system's if they are usable.
void conclude(LockOffer& offer, const LockAnswers& found) {
    if (offer.probe == 0) return;
    offer.job = !found.seen;
    offer.reason = found.seen     ? LockReason::seen
                   : found.tested ? LockReason::unseen
                                  : LockReason::untested;
}

}  // namespace

LockOffer OpenLocks::offer(const OpenCall& call, const Opening& opening, long file_system,
                           LockChoice wanted) {
    if (call.locks == nullptr || !call.mode.writable() || opening.store == nullptr) return {};
    LockOffer offer =
        call.locks->offer({.number = opening.number,
                           .file_system = file_system,
                           .wanted = wanted,
                           .one_node = topology_.one_node(),
                           .one_machine = topology_.nodes_of_machine >= topology_.nodes(),
                           .covers_job = call.covers_job},
                          listing_);
    if (offer.probe == 0 || opening.store->lock(byte_at(offer.probe), true, true)) return offer;
    offer.probe = 0;
    offer.job = true;
    offer.reason = LockReason::no_locks;
    return offer;
}

LockSight OpenLocks::look(const OpenCall& call, const Opening& opening, const LockOffer& offer) {
    if (call.locks == nullptr || !call.mode.writable()) return {};
    if (topology_.rank != 0) listing_ = call.locks->list(opening.number, offer);
    LockSight sight{.others = listing_.others(), .filler = listing_.filler()};
    const bool looks = offer.probe != 0 && opening.store != nullptr &&
                       !are_beside(topology_, 0, topology_.rank) && opening.leads;
    if (!looks) return sight;
    const auto locked = opening.store->is_locked_elsewhere(byte_at(offer.probe));
    sight.looked = true;
    sight.seen = locked && *locked;
    return sight;
}

void OpenLocks::choose(const OpenCall& call, const Opening& opening, const LockAnswers& found) {
    policy_.sole = found.sole && found.holes_readable;
    policy_.lockable = found.lockable;
    if (call.locks == nullptr || !call.mode.writable()) return;
    LockOffer offer = found.offer;
    conclude(offer, found);
    policy_.fills = offer.fills;
    if (offer.probe != 0) {
        if (topology_.rank == 0) (void)opening.store->lock(byte_at(offer.probe), false, true);
        if (found.tested && opening.number.device != 0)
            call.locks->remember(opening.number, found.seen);
    }
    if (offer.job) use_job_locks(call, offer, found);
    listing_.settle(offer.job, policy_.may_fill());
    chosen_ = offer;
}

void OpenLocks::tell(const std::string& path, UserMessages& messages) const {
    if (!chosen_) return;
    const std::string choice = describe_locks(*chosen_, policy_.lockable);
    const std::string sentence = path + ": " + choice;
    const JsonMembers members = locks_members(path, choice);
    if (!policy_.lockable) return messages.warn(sentence, "locks", members);
    const bool of_one_kernel = !chosen_->job && policy_.fills && chosen_->one_node;
    if (messages.explains() && !of_one_kernel) messages.say(sentence + "\n", "locks", members);
}

/// Uses the job's locks. A handle fills holes under them only if its communicator has all processes
/// of the job and no other handle has the file open, because then all processes know of the handle;
/// or if the program has promised that no other handle exists (MPI_MODE_UNIQUE_OPEN).
void OpenLocks::use_job_locks(const OpenCall& call, const LockOffer& offer,
                              const LockAnswers& found) {
    job_locks_.service = call.locks->reach(offer);
    job_locks_.file = offer.file;
    job_locks_.refused = Error::make(ErrorKind::unsupported_operation,
                                     "lock: this file needs the job's lock service, and rank 0 "
                                     "can't start it",
                                     offer.refused_errno);
    const auto file_system = static_cast<long>(offer.file.file_system);
    const bool usable =
        found.lockable && !has_mandatory_locks(file_system) && !has_whole_file_locks(file_system);
    // Another handle that fills holes may hold only the file system's locks: either it is unknown
    // whether they are visible here, or the hint asked for the job's locks on this handle alone.
    const bool beside = !found.sole || found.others || found.deferred;
    const bool mixed = offer.reason == LockReason::untested ||
                       (offer.reason == LockReason::asked_for_job && beside);
    job_locks_.with_file_lock = usable && (mixed || is_incoherent(file_system));
    policy_.job = &job_locks_;
    policy_.lockable = job_locks_.service != nullptr;
    const bool alone = call.mode.unique_open ||
                       (policy_.sole && offer.covers_job && !found.others && !found.deferred);
    policy_.fills = policy_.lockable && alone && found.holes_readable;
    policy_.sole = !found.filler && !(usable && mixed && beside);
    policy_.shares_in_file = usable && mixed && !found.filler;
}

}  // namespace oratorio
