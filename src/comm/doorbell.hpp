// SPDX-License-Identifier: BSD-3-Clause
// Doorbell: the doorbell that wakes a rank waiting for other ranks of its node. Lies in memory that
// they share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "comm/topology.hpp"

namespace oratorio {

/// What a rank does before it sleeps. Waking up from sleep takes several microseconds.
enum class WaitPolicy : std::uint32_t {
    nothing,  ///< sleeps at once: others need the core
    spins,    ///< spins: every rank has a core of its own
    yields,   ///< yields: ranks share cores, and the rank waited for can run on this one
};

/// Returns the usual choice for a rank of a program.
inline WaitPolicy usual_wait_policy(const Topology& topology) {
    return topology.crowded() ? WaitPolicy::yields : WaitPolicy::spins;
}

/// A doorbell. Other ranks ring it when something changed that its owner may wait for. The owner
/// reads `rings` before it looks for work, and sleeps only if the doorbell has not rung since.
struct alignas(64) Doorbell {
    explicit Doorbell(WaitPolicy usual) : policy(usual) {}
    std::atomic<std::uint32_t> rings{0};
    /// Whether the owner sleeps or is about to, and whether call() has woken it since.
    enum Sleep : std::uint32_t { awake, asleep, called };
    std::atomic<std::uint32_t> sleep{awake};
    std::atomic<std::uint32_t> heard{0};  ///< value of `rings` when the owner last went to sleep
    std::atomic<WaitPolicy>
        policy;  ///< what the owner does before it sleeps; only the owner writes it
};

/// What to wait for when no progress is possible. Without a doorbell the waiter has to poll.
struct WaitHint {
    Doorbell* doorbell = nullptr;
    std::uint32_t heard = 0;
};

/// Returns a hint to wait for any ring from now on.
inline WaitHint wait_hint_for(Doorbell* doorbell) {
    return {doorbell, doorbell != nullptr ? doorbell->rings.load() : 0};
}

/// Rings the doorbell, and wakes its owner if that sleeps. The owner then sees what the caller
/// changed before.
void ring(Doorbell& doorbell);
/// Rings, but does not wake the owner. REQUIRES: some rank calls call() later.
void ring_softly(Doorbell& doorbell);
/// Wakes the owner if it has slept through a ring. Returns true if it has been woken but does not
/// run yet.
bool call(Doorbell& doorbell);

/// Waits until the doorbell has rung after `heard`, or for `longest` of sleep. REQUIRES: the caller
/// owns the doorbell.
void wait_until_rung(Doorbell& doorbell, std::uint32_t heard, std::chrono::microseconds longest);
/// The two halves of wait_until_rung, for a caller that has something to do between them. The
/// first, which spins or yields, returns true if the doorbell has rung.
[[nodiscard]] bool rings_before_sleep(const Doorbell& doorbell, std::uint32_t heard);
void sleep_until_rung(Doorbell& doorbell, std::uint32_t heard, std::chrono::microseconds longest);

}  // namespace oratorio
