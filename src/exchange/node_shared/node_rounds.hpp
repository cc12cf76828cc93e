// SPDX-License-Identifier: BSD-3-Clause
// Names rounds in node memory: the key of a round in control words, and the place of those words.
#pragma once

#include <cstdint>

#include "exchange/node_shared/node_memory.hpp"

namespace oratorio {

/// Returns a key that no round of any other access shares; never 0. The upper half identifies the
/// access.
[[nodiscard]] inline std::uint64_t round_key(unsigned sequence, std::int64_t round) {
    return (static_cast<std::uint64_t>(sequence) + 1) << 32 | static_cast<std::uint64_t>(round + 1);
}
[[nodiscard]] inline bool is_of_access(std::uint64_t key, unsigned sequence) {
    return key >> 32 == round_key(sequence, 0) >> 32;
}
[[nodiscard]] inline std::int64_t round_of(std::uint64_t key) {
    return static_cast<std::int64_t>(key & 0xffffffff) - 1;
}

/// Returns the control words of a round. If any rank may load rounds, each sub-buffer has its own
/// words, which its rounds use in turn; otherwise, each open round has its own.
[[nodiscard]] inline SlotControl& control_of(const NodeMemory& node, const Plan& plan,
                                             int aggregator, std::int64_t round) {
    return node.slot(aggregator, plan.any_rank_loads() ? round % plan.slots : round);
}

}  // namespace oratorio
