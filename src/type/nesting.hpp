// SPDX-License-Identifier: BSD-3-Clause
// Nesting: the rule that keeps trees of datatypes shallow (decision 0055).
#pragma once

#include <cstddef>
#include <optional>

namespace oratorio {

/// Which of `count` parts a new node shall replace by the parts of that part. `depth_of(i)` is the
/// depth of part i, `parts_of(i)` the number of its own parts, 0 for one that can't be replaced.
/// That is the deepest part, if no other is as deep and it has at most twice as many parts as there
/// are beside it. Where none is to be replaced, the depth follows a logarithm: on the way down by
/// the deepest part the number of parts doubles from node to node, or the data is halved.
template <class DepthOf, class PartsOf>
std::optional<std::size_t> part_to_replace(std::size_t count, const DepthOf& depth_of,
                                           const PartsOf& parts_of) {
    std::size_t deepest = 0;
    bool alone = true;
    for (std::size_t i = 1; i < count; ++i) {
        if (depth_of(i) < depth_of(deepest)) continue;
        alone = depth_of(i) > depth_of(deepest);
        deepest = i;
    }
    if (count < 2 || !alone) return std::nullopt;
    const std::size_t parts = parts_of(deepest);
    return parts > 0 && parts <= 2 * (count - 1) ? std::optional(deepest) : std::nullopt;
}

}  // namespace oratorio
