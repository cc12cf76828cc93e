// SPDX-License-Identifier: BSD-3-Clause
// RoundOrder: in which order the parts of a domain are handled. Pure, and the same on all ranks.
#pragma once

#include <cstdint>

namespace oratorio {

/// Which part (of `rounds`, counted from the front of each domain) is handled in `round`. A
/// permutation: each part comes once.
using RoundOrder = std::int64_t (*)(std::int64_t round, std::int64_t rounds);

[[nodiscard]] inline std::int64_t ascending(std::int64_t round, std::int64_t) {
    return round;
}

}  // namespace oratorio
