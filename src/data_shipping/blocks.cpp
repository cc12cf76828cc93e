// SPDX-License-Identifier: BSD-3-Clause
#include "data_shipping/blocks.hpp"

#include <algorithm>

namespace oratorio {

BoundRuns::BoundRuns(const Layout& layout, Range range, const Binding& binding, int agent)
    : cursor_(layout),
      to_(range.to),
      binding_(binding),
      agent_(agent),
      searchable_(layout.searchable()) {
    cursor_.seek_size(range.from);
}

BoundRun BoundRuns::next(Bytes bytes_max) {
    while (find_mine()) {
        const Bytes first = cursor_.tell_size();
        const StridedRun run = cut(cursor_.next(std::min(bytes_max, to_ - first)));
        if (binding_.agent_of(run.offset) == agent_) return {run, first};
    }
    return {};
}

/// Advances the cursor to the next data in a block of this agent, if the layout can be searched by
/// offset. Otherwise leaves the cursor alone, and next() tests each run. Returns false at the end
/// of the range.
bool BoundRuns::find_mine() {
    while (cursor_.tell_size() < to_) {
        if (!searchable_) return true;
        const Offset at = cursor_.tell_offset();
        const int others = (agent_ - binding_.agent_of(at) + binding_.agents) % binding_.agents;
        if (others == 0) return true;
        cursor_.seek_offset((at / binding_.block + others) * binding_.block);
    }
    return false;
}

/// Returns the first part of `run`, which lies in the block of the run's first byte, and moves the
/// cursor to the end of that part.
StridedRun BoundRuns::cut(StridedRun run) {
    const Offset end = (run.offset / binding_.block + 1) * binding_.block;
    if (run.end() <= end && run.stride >= 0) return run;
    const Bytes first = cursor_.tell_size() - run.bytes();
    const bool whole = run.offset + run.length <= end && run.stride > 0;
    run.count = whole ? (end - run.offset - run.length) / run.stride + 1 : 1;
    run.length = std::min(run.length, end - run.offset);
    if (run.count == 1) run.stride = 0;
    cursor_.seek_size(first + run.bytes());
    return run;
}

}  // namespace oratorio
