// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/region_copy.hpp"

#include <algorithm>

#include "plan/methods.hpp"
#include "type/kernels.hpp"

namespace oratorio {

Bytes RegionCopy::copy(const Region& region, std::byte* buffer, std::byte* mask,
                       Offset valid_until) {
    const Timing timing(&stats_, &Stats::copy_time);
    Bytes all = 0;
    for (std::int64_t i = 0; i < region.count; ++i) {
        Extent extent = region.extent(i);
        if (reading_) extent.end = std::min(extent.end, valid_until);
        if (extent.empty()) continue;
        const Bytes base = region.buffer_position(i, extent.begin) - extent.begin;
        const Bytes moved = move(extent, displaced(buffer, base));
        if (mask != nullptr && moved > 0) mark(extent, displaced(mask, base));
        all += moved;
    }
    stats_.bytes_shared += static_cast<std::uint64_t>(all);
    return all;
}

std::unique_ptr<RegionCopy> make_region_copy(const Plan& plan, const Access& access, Stats& stats) {
    const bool flattens = plan.method->request_part().flattens;
    return flattens ? make_list_copy(access, plan.direction, stats)
                    : make_cursor_copy(access, plan.direction, stats);
}

}  // namespace oratorio
