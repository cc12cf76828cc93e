// SPDX-License-Identifier: BSD-3-Clause
// Nesting: the rule that keeps the trees of datatypes shallow
// (docs/internals/decisions/layouts-and-conversion.md).
#pragma once

#include <cstddef>
#include <optional>

namespace oratorio {

/// Returns the part of a new node that should be replaced by that part's own parts, if any. The
/// node has `count` parts; `depth_of(i)` is the depth of part i, and `parts_of(i)` the number of
/// its own parts, 0 if it can't be replaced. The result is the deepest part, if no other part is as
/// deep, and if it has at most twice as many parts of its own as the node has other parts. This
/// rule keeps the depth logarithmic: in a tree without a part to replace, each step down at least
/// doubles the number of parts or halves the data.
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
