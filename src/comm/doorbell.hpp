// SPDX-License-Identifier: BSD-3-Clause
// Doorbell: wakes a rank that waits for other ranks of its node. A doorbell lies in memory that
// these ranks share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "comm/topology.hpp"

namespace oratorio {

/// What a rank does before it sleeps. Waking up from sleep takes several microseconds.
enum class WaitPolicy : std::uint32_t {
    nothing,  ///< sleeps at once, because other threads need the core
    spins,    ///< spins, because every rank has a core of its own
    yields,   ///< yields, because ranks share cores, and the awaited rank can run on this core
};

/// Returns the policy that a rank of a program usually has.
inline WaitPolicy usual_wait_policy(const Topology& topology) {
    return topology.crowded() ? WaitPolicy::yields : WaitPolicy::spins;
}

/// A doorbell. Other ranks ring it when something has changed that the owner may be waiting for.
/// The owner reads `rings` before it looks for work, and sleeps only if the doorbell has not rung
/// since.
///
/// Memory order: `rings` and `sleep` are sequentially consistent. A ringer changes the awaited
/// words, then `rings`, then reads `sleep`; the owner writes `sleep`, then reads `rings`. So one of
/// the two sees the other. The increment of `rings` publishes all that the ringer has changed
/// before it. `heard` is written before `sleep`, and call() reads it after `sleep`. `policy` is
/// read relaxed: only the owner writes it, and an old value costs time, not correctness.
struct alignas(64) Doorbell {
    explicit Doorbell(WaitPolicy usual) : policy(usual) {}
    std::atomic<std::uint32_t> rings{0};
    /// The state of the owner: awake; asleep, or about to sleep; or woken by call() and not yet
    /// running.
    enum Sleep : std::uint32_t { awake, asleep, called };
    std::atomic<std::uint32_t> sleep{awake};
    std::atomic<std::uint32_t> heard{0};  ///< `rings` as the owner saw it before it last slept
    /// What the owner does before it sleeps; only the owner writes it.
    std::atomic<WaitPolicy> policy;
};

/// What a rank waits for when no progress is possible: that the `rings` of `doorbell` differ from
/// `heard`. Without a doorbell the rank has to poll.
struct WaitHint {
    Doorbell* doorbell = nullptr;
    std::uint32_t heard = 0;
};

/// Returns a hint to wait for any ring from now on.
inline WaitHint wait_hint_for(Doorbell* doorbell) {
    return {doorbell, doorbell != nullptr ? doorbell->rings.load() : 0};
}

/// Rings the doorbell, and wakes its owner if the owner sleeps. The owner then sees what the caller
/// has changed before the ring.
void ring(Doorbell& doorbell);
/// Rings the doorbell without waking its owner. REQUIRES: some rank calls call() later.
void ring_softly(Doorbell& doorbell);
/// Wakes the owner if it still sleeps after a ring. Returns true if the owner has been woken by
/// call() but does not run yet.
bool call(Doorbell& doorbell);

/// Waits until `rings` differs from `heard`, or until the owner has slept for `longest`. REQUIRES:
/// the caller owns the doorbell.
void wait_until_rung(Doorbell& doorbell, std::uint32_t heard, std::chrono::microseconds longest);
/// Perform the two halves of wait_until_rung(), for a caller that has something to do between them.
/// rings_before_sleep() spins or yields, and returns true if the doorbell has rung.
[[nodiscard]] bool rings_before_sleep(const Doorbell& doorbell, std::uint32_t heard);
void sleep_until_rung(Doorbell& doorbell, std::uint32_t heard, std::chrono::microseconds longest);

}  // namespace oratorio
