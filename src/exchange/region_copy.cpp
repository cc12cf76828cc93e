#include "exchange/region_copy.hpp"

#include <algorithm>

#include "type/kernels.hpp"

namespace oratorio {

Bytes RegionCopy::copy(const Region& region, std::byte* buffer, std::byte* given,
                       Offset valid_until) {
    const Timing timing(&stats_, &Stats::copy_time);
    Bytes all = 0;
    for (std::int64_t i = 0; i < region.count; ++i) {
        Extent extent = region.extent(i);
        if (reading_) extent.end = std::min(extent.end, valid_until);
        if (extent.empty()) continue;
        const Bytes base = region.buffer_position(i, extent.begin) - extent.begin;
        const Bytes moved = move(extent, displaced(buffer, base));
        if (given != nullptr && moved > 0) mark(extent, displaced(given, base));
        all += moved;
    }
    stats_.bytes_shared += static_cast<std::uint64_t>(all);
    return all;
}

}  // namespace oratorio
