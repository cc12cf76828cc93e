// SPDX-License-Identifier: BSD-3-Clause
#include "file/job_locks.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

#include "file/path.hpp"
#include "type/coverage.hpp"

namespace oratorio {

namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(LockReason::count)> kReasons{
    "",
    "the hint oratorio_locks says `file`",
    "the hint oratorio_locks says `job`",
    "all ranks are on one node",
    "only this machine uses the file system",
    "locks are visible on other nodes",
    "locks are visible on one node only",
    "the file system has no locks",
    "locks are mandatory and also block their owner's accesses",
    "a lock on a range holds the whole file",
    "another handle of the job fills holes under the job's locks",
    "it is unknown whether other nodes see locks; writes with holes go piece by piece"};
static_assert(!kReasons.back().empty());

/// Returns the offset of a byte far beyond all data, for rank 0 to lock. The offset is random, so
/// that the lock of another program's test isn't mistaken for rank 0's.
Offset probed_byte() {
    constexpr Offset kProbes = (Offset{1} << 62) + (Offset{1} << 20);
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    const std::uint64_t any = mix(static_cast<Offset>(now)) ^ mix(::getpid());
    return kProbes + static_cast<Offset>(any % (std::uint64_t{1} << 40));
}

/// Returns the reason to use the job's locks even if other nodes see the file system's locks;
/// `unknown` if there is none.
LockReason fault_of(long file_system) {
    if (has_mandatory_locks(file_system)) return LockReason::mandatory;
    if (has_whole_file_locks(file_system)) return LockReason::whole_file;
    return LockReason::unknown;
}

}  // namespace

std::string describe_locks(const LockOffer& offer, bool lockable) {
    const auto file_system = static_cast<long>(offer.file.file_system);
    std::string text = lower_case_name(file_system) + ": ";
    text += kReasons[static_cast<std::size_t>(offer.reason)];
    text += offer.job ? "; using the job's locks" : "; using the file system's locks";
    if (!lockable)
        text += ", which are not available: atomic mode fails, and holes are never filled";
    return text;
}

JobLocks::Listing::~Listing() {
    if (of_ == nullptr) return;
    if (offers_) of_->services_.withdraw();
    const std::lock_guard lock(of_->mutex_);
    of_->entries_.erase(id_);
}

void JobLocks::Listing::settle(bool job, bool fills) {
    if (of_ == nullptr) return;
    if (std::exchange(offers_, false) && !job) of_->services_.withdraw();
    const std::lock_guard lock(of_->mutex_);
    of_->entries_.at(id_).may_fill = job && fills;
}

void JobLocks::Listing::swap(Listing& other) noexcept {
    std::swap(of_, other.of_);
    std::swap(id_, other.id_);
    std::swap(others_, other.others_);
    std::swap(filler_, other.filler_);
    std::swap(offers_, other.offers_);
}

LockOffer JobLocks::offer(const LockSituation& situation, Listing& listing) {
    const std::lock_guard lock(mutex_);
    LockOffer offer;
    offer.covers_job = situation.covers_job;
    offer.one_node = situation.one_node;
    offer.file = {situation.number.number, static_cast<std::uint64_t>(situation.file_system)};
    const bool serves = decide(situation, offer);
    listing = add(situation.number, offer);
    listing.offers_ = serves;
    return offer;
}

/// Decides which locks the handle uses. Returns true if the offer has the address of a lock service
/// that this process offers for this handle. REQUIRES: mutex_ is held.
bool JobLocks::decide(const LockSituation& situation, LockOffer& offer) {
    const auto choose = [&offer](LockReason reason, bool job) {
        offer.reason = reason;
        offer.job = job;
        return false;
    };
    const auto filler = std::ranges::find_if(entries_, [&](const auto& entry) {
        return entry.second.may_fill && entry.second.number == situation.number.number;
    });
    if (filler != entries_.end()) {
        offer.file = filler->second.file;
        offer.place = filler->second.place;
        return choose(LockReason::filled_by_other, true);
    }
    const LockReason fault = fault_of(situation.file_system);
    const bool usable = fault != LockReason::whole_file;
    if (situation.wanted == LockChoice::file && usable)
        return choose(LockReason::asked_for_file, false);
    const auto tested = seen_.find(situation.number.device);
    const bool was_seen = tested != seen_.end() && tested->second;
    const bool was_unseen = tested != seen_.end() && !tested->second;
    if (situation.wanted == LockChoice::job) {
        (void)choose(LockReason::asked_for_job, true);
    } else if (situation.one_machine && has_locks_of_one_machine(situation.file_system)) {
        return choose(LockReason::one_machine, false);
    } else if (situation.one_node && usable) {
        offer.fills = situation.covers_job || job_has_one_node_ || was_seen;
        return choose(offer.fills ? LockReason::one_node : LockReason::untested, false);
    } else if (fault != LockReason::unknown || was_unseen) {
        (void)choose(was_unseen ? LockReason::unseen : fault, true);
    } else if (was_seen) {
        return choose(LockReason::seen, false);
    } else {
        offer.probe = probed_byte();
    }
    return serve(offer);
}

/// Sets the address of the job's locks: that of a service that the process has used, or else of the
/// process's own service. Returns true for its own service. REQUIRES: mutex_ is held.
bool JobLocks::serve(LockOffer& offer) {
    if (known_) {
        offer.place = *known_;
        return false;
    }
    const auto served = services_.serve();
    if (served) offer.place = *served;
    if (!served) offer.refused_errno = served.error().system_errno;
    return served.ok();
}

JobLocks::Listing JobLocks::list(const FileNumber& number, const LockOffer& offer) {
    const std::lock_guard lock(mutex_);
    return add(number, offer);
}

/// Adds a handle to the list. REQUIRES: mutex_ is held.
JobLocks::Listing JobLocks::add(const FileNumber& number, const LockOffer& offer) {
    job_has_one_node_ = job_has_one_node_ || (offer.covers_job && offer.one_node);
    Listing listing;
    listing.of_ = this;
    listing.id_ = ++last_;
    for (const auto& [id, entry] : entries_) {
        if (entry.number != number.number) continue;
        listing.others_ = true;
        listing.filler_ = listing.filler_ || entry.may_fill;
    }
    const bool may_fill = (offer.job || offer.probe != 0) && offer.place.count > 0;
    entries_.emplace(listing.id_, Entry{number.number, may_fill, offer.file, offer.place});
    return listing;
}

void JobLocks::remember(const FileNumber& number, bool seen) {
    const std::lock_guard lock(mutex_);
    seen_[number.device] = seen;
}

std::shared_ptr<LockService> JobLocks::reach(const LockOffer& offer) {
    if (offer.place.count == 0) return nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (!known_) known_ = offer.place;
    }
    return services_.reach(offer.place);
}

}  // namespace oratorio
