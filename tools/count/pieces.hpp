// SPDX-License-Identifier: BSD-3-Clause
// Contiguous pieces of the file that ranks touch, before and after neighbours' pieces are joined
// (Kang et al. 2019, section V). Counted by walking cursors.
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
/// `ranks` in groups of equally many.
[[nodiscard]] std::vector<Group> groups_of(int ranks, int groups);

struct Pieces {
    std::int64_t own = 0;     ///< of the ranks, each for itself
    std::int64_t joined = 0;  ///< of the groups: pieces of a group's ranks that touch are one
};

/// Of the ranks of all groups. Tiles of a layout lie one behind the other and are equal, so one is
/// walked, and the ends of two neighbours are compared. All ranks' layouts have as many tiles.
[[nodiscard]] Pieces count_pieces(const std::vector<Group>& groups, const LayoutOf& layout_of);

}  // namespace oratorio::count
