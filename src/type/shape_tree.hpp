// SPDX-License-Identifier: BSD-3-Clause
// Shapes as trees: how large one is, and whether two are the same, wherever they lie.
#pragma once

#include "type/shape.hpp"

namespace oratorio {

/// Numbers in the lists of all nodes, and one for each node; sub-shapes that are shared count each
/// time. Not counted to the end where there are more than `most`: then it says more than that.
[[nodiscard]] std::int64_t numbers_of(const Shape& shape, std::int64_t most);

/// Of the same kinds with the same numbers. Lists are compared as memory: a fraction of a
/// nanosecond for each number.
[[nodiscard]] bool same_tree(const Shape& a, const Shape& b);

}  // namespace oratorio
