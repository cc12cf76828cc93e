// SPDX-License-Identifier: BSD-3-Clause
// The contiguous pieces of the file that ranks access, before and after joining the pieces of
// neighbours (Kang et al. 2019, section V). They are counted by walking cursors.
#pragma once

#include <functional>
#include <vector>

#include "type/shape.hpp"

namespace oratorio::count {

using LayoutOf = std::function<Layout(Rank rank)>;

/// Ranks [first, last).
struct Group {
    Rank first = 0;
    Rank last = 0;
};
/// Divides `ranks` into groups of equal size.
[[nodiscard]] std::vector<Group> groups_of(int ranks, int groups);

struct Pieces {
    std::int64_t own = 0;  ///< pieces of all ranks, without joining those of different ranks
    /// Pieces of all groups; pieces of a group's ranks that touch are joined.
    std::int64_t joined = 0;
};

/// Counts the pieces of all groups. The tiles of a layout are equal and lie one after another, so
/// that it suffices to walk one tile and to compare the ends of two neighbours. REQUIRES: all
/// ranks' layouts have the same number of tiles.
[[nodiscard]] Pieces count_pieces(const std::vector<Group>& groups, const LayoutOf& layout_of);

}  // namespace oratorio::count
