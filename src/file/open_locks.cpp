// SPDX-License-Identifier: BSD-3-Clause
// Chooses the locks of a handle. Rank 0 decides when it opens the file, and the first ranks of
// other nodes test the decision, in the messages that an open sends anyway.
#include "file/opening.hpp"
#include "file/path.hpp"
#include "file/state.hpp"

namespace oratorio {

namespace {

Extent byte_at(Offset offset) {
    return {offset, offset + 1};
}

/// Completes rank 0's offer by what other nodes found when they looked for the byte that rank 0
/// holds locked. With lazy open perhaps only ranks of one node open the file now, and no rank has
/// looked: then the handle uses the job's locks, which are right in any case.
void conclude(LockOffer& offer, const LockAnswers& found) {
    if (offer.probe == 0) return;
    offer.job = !found.seen;
    offer.reason = found.seen     ? LockReason::seen
                   : found.tested ? LockReason::unseen
                                  : LockReason::untested;
}

}  // namespace

LockOffer File::State::offer_locks(const OpenCall& call, const Opening& opening, long file_system) {
    if (call.locks == nullptr || !call.mode.writable() || opening.store == nullptr) return {};
    const Topology& topology = transport->topology();
    LockOffer offer =
        call.locks->offer({.number = opening.number,
                           .file_system = file_system,
                           .wanted = hints->locks,
                           .one_node = topology.one_node(),
                           .one_machine = topology.nodes_of_machine >= topology.nodes(),
                           .covers_job = call.covers_job},
                          listing);
    if (offer.probe == 0 || opening.store->lock(byte_at(offer.probe), true, true)) return offer;
    offer.probe = 0;
    offer.job = true;
    offer.reason = LockReason::no_locks;
    return offer;
}

LockSight File::State::look_at_locks(const OpenCall& call, const Opening& opening,
                                     const LockOffer& offer) {
    if (call.locks == nullptr || !call.mode.writable()) return {};
    const Topology& topology = transport->topology();
    if (topology.rank != 0) listing = call.locks->list(opening.number, offer);
    LockSight sight{.others = listing.others(), .filler = listing.filler()};
    const bool looks = offer.probe != 0 && opening.store != nullptr &&
                       !are_beside(topology, 0, topology.rank) && opening.leads;
    if (!looks) return sight;
    const auto locked = opening.store->is_locked_elsewhere(byte_at(offer.probe));
    sight.looked = true;
    sight.seen = locked && *locked;
    return sight;
}

/// Chooses the file system's locks or the job's. The choice is the same on all ranks. Each process
/// also remembers, for its own node's mount, what the test has found.
void File::State::choose_locks(const OpenCall& call, const Opening& opening,
                               const LockAnswers& found) {
    LockPolicy& lock_policy = engine.lock_policy;
    lock_policy.sole = found.sole && opened.found->holes_readable;
    lock_policy.lockable = found.lockable;
    if (call.locks == nullptr || !call.mode.writable()) return;
    LockOffer offer = found.offer;
    conclude(offer, found);
    lock_policy.fills = offer.fills;
    if (offer.probe != 0) {
        if (transport->topology().rank == 0)
            (void)opening.store->lock(byte_at(offer.probe), false, true);
        if (found.tested && opening.number.device != 0)
            call.locks->remember(opening.number, found.seen);
    }
    if (offer.job) use_job_locks(call, offer, found);
    listing.settle(offer.job, lock_policy.may_fill());
    tell_locks(offer);
}

/// Tells the user which locks are used: in an explanation if several nodes are involved, always if
/// there are no locks at all.
void File::State::tell_locks(const LockOffer& offer) {
    const std::string sentence = opened.path + ": " + describe_locks(offer);
    const JsonMembers members = locks_members(opened.path, describe_locks(offer));
    if (!engine.lock_policy.lockable) return opened.messages.warn(sentence, "locks", members);
    const bool of_one_kernel = !offer.job && engine.lock_policy.fills && offer.one_node;
    if (opened.explain && !of_one_kernel) opened.messages.say(sentence + "\n", "locks", members);
}

/// Uses the job's locks. A handle fills holes under them only if its communicator has all processes
/// of the job and no other handle has the file open, because then all processes know of the handle.
/// Or the program has promised that (MPI_MODE_UNIQUE_OPEN).
void File::State::use_job_locks(const OpenCall& call, const LockOffer& offer,
                                const LockAnswers& found) {
    LockPolicy& lock_policy = engine.lock_policy;
    engine.job_locks.service = call.locks->reach(offer);
    engine.job_locks.file = offer.file;
    engine.job_locks.refused = Error::make(
        ErrorKind::unsupported_operation,
        "lock: this file system's locks don't hold between nodes, and rank 0 can't serve the job's",
        offer.refused_errno);
    const auto file_system = static_cast<long>(offer.file.file_system);
    engine.job_locks.revalidates = found.lockable && is_incoherent(file_system) &&
                                   !has_mandatory_locks(file_system) &&
                                   !has_slow_locks(file_system);
    lock_policy.job = &engine.job_locks;
    lock_policy.lockable = engine.job_locks.service != nullptr;
    const bool alone = call.mode.unique_open || (lock_policy.sole && offer.covers_job &&
                                                 !found.others && !opened.found->deferred);
    lock_policy.fills = lock_policy.lockable && alone && opened.found->holes_readable;
    lock_policy.sole = !found.filler;
}

}  // namespace oratorio
