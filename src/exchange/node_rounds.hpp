// SPDX-License-Identifier: BSD-3-Clause
// What the ways through a node's sub-buffers call a round in the control words, and where they find
// those.
#pragma once

#include <cstdint>

#include "exchange/node_memory.hpp"

namespace oratorio {

/// Tells a round from those of all other accesses; never 0. The upper half is the access's own.
[[nodiscard]] inline std::uint64_t round_key(unsigned sequence, std::int64_t round) {
    return (static_cast<std::uint64_t>(sequence) + 1) << 32 | static_cast<std::uint64_t>(round + 1);
}
[[nodiscard]] inline bool is_of_access(std::uint64_t key, unsigned sequence) {
    return key >> 32 == round_key(sequence, 0) >> 32;
}
[[nodiscard]] inline std::int64_t round_of(std::uint64_t key) {
    return static_cast<std::int64_t>(key & 0xffffffff) - 1;
}

/// Where any rank may load, a round has its fixed sub-buffer; else an aggregator takes the one that
/// is free.
[[nodiscard]] inline SlotControl& control_of(const NodeMemory& node, const Plan& plan,
                                             int aggregator, std::int64_t round) {
    return node.slot(aggregator, plan.shared_loads ? round % plan.slots : round);
}

}  // namespace oratorio
