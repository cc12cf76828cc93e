// SPDX-License-Identifier: BSD-3-Clause
// Bell: how a rank that waits for others of its node is woken. Lies in memory that they share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/topology.hpp"

namespace oratorio {

/// What a waiter does before it sleeps, which takes several microseconds to come back from.
enum class Before : std::uint32_t {
    nothing,  ///< others need the core
    spins,    ///< every rank has a core of its own
    yields,   ///< ranks share cores: who is waited for runs in our place
};

/// Of a rank of a program.
inline Before usual_before_sleep(const Topology& topology) {
    return topology.crowded() ? Before::yields : Before::spins;
}

/// Rung by others when something changed that its owner may wait for. The owner reads `rings`
/// before it looks, and sleeps only if nothing has rung since.
struct alignas(64) Bell {
    explicit Bell(Before usual) : before(usual) {}
    std::atomic<std::uint32_t> rings{0};
    /// Whether the owner sleeps or is about to, and has been called since.
    enum Sleep : std::uint32_t { awake, asleep, called };
    std::atomic<std::uint32_t> sleep{awake};
    std::atomic<std::uint32_t> heard{0};  ///< the last ring before it fell asleep
    std::atomic<Before> before;           ///< what the owner does before it sleeps; the owner's
};

/// What to wait for when nothing can be done just now. Without a bell only trying again tells.
struct Rest {
    Bell* bell = nullptr;
    std::uint32_t heard = 0;
};

/// For what rings from now on.
inline Rest rest_on(Bell* bell) {
    return {bell, bell != nullptr ? bell->rings.load() : 0};
}

/// What was changed before is seen by the owner when it wakes.
void ring(Bell& bell);
/// The same, but leaves the owner asleep: somebody must call() it.
void ring_softly(Bell& bell);
/// Wakes the owner if it has slept through a ring; true when it is on its way.
bool call(Bell& bell);

/// Owner only. Returns when the bell has rung after `heard`, or after `longest` of sleep.
void wait_until_rung(Bell& bell, std::uint32_t heard, std::chrono::microseconds longest);
/// Its two halves, for who has something to see to in between. True when the bell has rung.
[[nodiscard]] bool rings_before_sleep(const Bell& bell, std::uint32_t heard);
void sleep_until_rung(Bell& bell, std::uint32_t heard, std::chrono::microseconds longest);

}  // namespace oratorio
