// Bell: how a rank that waits for others of its node is woken. Lies in memory that they share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace oratorio {

/// Rung by others when something changed that its owner may wait for. The owner reads `rings`
/// before it looks, and sleeps only if nothing has rung since.
struct alignas(64) Bell {
    std::atomic<std::uint32_t> rings{0};
    std::atomic<std::uint32_t> asleep{0};  ///< the owner sleeps, or is about to
};

/// What to wait for when nothing can be done just now. Without a bell only trying again tells.
struct Rest {
    Bell* bell = nullptr;
    std::uint32_t heard = 0;
};

/// What was changed before is seen by the owner when it wakes.
void ring(Bell& bell);
/// What a waiter does before it sleeps, which takes several microseconds to come back from.
enum class Before {
    nothing,  ///< a thread beside the program: others need the core
    spins,    ///< every rank has a core of its own
    yields,   ///< ranks share cores: who is waited for runs in our place
};

/// Owner only. Returns when the bell has rung after `heard`, or after `longest` of sleep.
void wait_until_rung(Bell& bell, std::uint32_t heard, Before sleep,
                     std::chrono::microseconds longest);

}  // namespace oratorio
