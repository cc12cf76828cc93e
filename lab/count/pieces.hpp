// SPDX-License-Identifier: BSD-3-Clause
// The contiguous pieces of the file that ranks access, before and after joining the pieces of
// neighbours (Kang et al. 2019, section V). Counted by walking cursors.
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
    std::int64_t own = 0;  ///< pieces of all ranks, each by itself
    /// Pieces of the groups, with those of a group's ranks joined where they touch.
    std::int64_t joined = 0;
};

/// Counts the pieces of all groups. Tiles of a layout lie one after the other and are equal, so one
/// tile is walked, and the ends of two neighbours are compared. REQUIRES: all ranks' layouts have
/// the same number of tiles.
[[nodiscard]] Pieces count_pieces(const std::vector<Group>& groups, const LayoutOf& layout_of);

}  // namespace oratorio::count
