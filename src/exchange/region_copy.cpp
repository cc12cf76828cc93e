#include "exchange/region_copy.hpp"

#include <algorithm>

#include "type/kernels.hpp"

namespace oratorio {

RoundContents RegionCopy::copy(const Region& region, std::byte* buffer, Offset valid_until,
                               bool with_hull) {
    const Timing timing(&stats_, &Stats::copy_time);
    RoundContents all;
    for (std::int64_t i = 0; i < region.count; ++i) {
        Extent extent = region.extent(i);
        if (reading_) extent.end = std::min(extent.end, valid_until);
        if (extent.empty()) continue;
        const Bytes base = region.buffer_position(i, extent.begin) - extent.begin;
        const Moved moved = move(extent, displaced(buffer, base), with_hull);
        all.bytes += moved.bytes;
        if (with_hull && moved.bytes > 0) all.hull = hull(all.hull, moved.hull);
    }
    stats_.bytes_shared += static_cast<std::uint64_t>(all.bytes);
    return all;
}

}  // namespace oratorio
