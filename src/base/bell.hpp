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
/// Owner only. Returns when the bell has rung after `heard`, or after `longest`. Sleeps; with
/// `spin` only after spinning for about as long as waking up costs, which pays where no other rank
/// needs the core.
void wait_until_rung(Bell& bell, std::uint32_t heard, bool spin, std::chrono::microseconds longest);

}  // namespace oratorio
