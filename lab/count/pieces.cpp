// SPDX-License-Identifier: BSD-3-Clause
#include "count/pieces.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "type/cursor.hpp"

namespace oratorio::count {

namespace {

/// Appends the pieces of a layout's first tile, in the order of the file.
void append_pieces(const Layout& layout, std::vector<Extent>& pieces) {
    Layout tile = layout;
    tile.count = 1;
    for (Cursor cursor(tile);;) {
        const StridedRun run = cursor.next();
        if (run.count == 0) return;
        for (std::int64_t i = 0; i < run.count; ++i) {
            const Offset begin = run.offset + i * run.stride;
            pieces.push_back({begin, begin + run.length});
        }
    }
}

/// Returns the number of pieces in `tiles` equal tiles with extent `tile`. `sorted` holds the
/// pieces of the first tile. Pieces that touch count as one.
std::int64_t joined(const std::vector<Extent>& sorted, Bytes tile, std::int64_t tiles) {
    if (sorted.empty()) return 0;
    std::int64_t count = 1;
    for (std::size_t i = 1; i < sorted.size(); ++i)
        count += sorted[i].begin == sorted[i - 1].end ? 0 : 1;
    const bool touches_next = sorted.back().end == sorted.front().begin + tile;
    return count * tiles - (touches_next ? tiles - 1 : 0);
}

}  // namespace

std::vector<Group> groups_of(int ranks, int groups) {
    if (ranks % groups != 0)
        throw std::invalid_argument("needs a multiple of " + std::to_string(groups) +
                                    " ranks, not " + std::to_string(ranks));
    std::vector<Group> all;
    const int each = ranks / groups;
    for (int i = 0; i < groups; ++i) all.push_back({i * each, (i + 1) * each});
    return all;
}

Pieces count_pieces(const std::vector<Group>& groups, const LayoutOf& layout_of) {
    Pieces found;
    std::vector<Extent> of_group;
    std::vector<Extent> of_rank;
    for (const Group& group : groups) {
        of_group.clear();
        Layout layout;
        for (Rank rank = group.first; rank < group.last; ++rank) {
            layout = layout_of(rank);
            of_rank.clear();
            append_pieces(layout, of_rank);
            found.own += joined(of_rank, layout.extent, layout.count);
            of_group.insert(of_group.end(), of_rank.begin(), of_rank.end());
        }
        std::ranges::sort(of_group, {}, &Extent::begin);
        found.joined += joined(of_group, layout.extent, layout.count);
    }
    return found;
}

}  // namespace oratorio::count
