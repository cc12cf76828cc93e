// What the ways through a node's sub-buffers call a round in the control words.
#pragma once

#include <cstdint>

namespace oratorio {

/// Tells a round from those of all other accesses; never 0. The upper half is the access's own.
[[nodiscard]] inline std::uint64_t round_key(unsigned sequence, std::int64_t round) {
    return (static_cast<std::uint64_t>(sequence) + 1) << 32 | static_cast<std::uint64_t>(round + 1);
}

}  // namespace oratorio
