// SPDX-License-Identifier: BSD-3-Clause
#include "type/piece_run.hpp"

#include <algorithm>

namespace oratorio {

std::int64_t pieces_within(const PieceRun& run, std::int64_t first, Bytes bytes_max) {
    const std::int64_t left = run.count - first;
    if (run.bytes_of(first, left) <= bytes_max) return left;
    if (run.prefix == nullptr) return bytes_max / run.length;
    // Doubling steps narrow the search, so that its cost depends on the result and not on the
    // length of the list.
    const Bytes* const prefix = run.prefix + first;
    const Bytes limit = *prefix + bytes_max;
    std::int64_t past = 1;
    while (past < left && prefix[past] <= limit) past *= 2;
    return std::upper_bound(prefix + past / 2, prefix + std::min(past, left), limit) - prefix - 1;
}

}  // namespace oratorio
