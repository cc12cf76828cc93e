// SPDX-License-Identifier: BSD-3-Clause
#include "plan/order.hpp"

#include <algorithm>
#include <numeric>

#include "plan/plan.hpp"

namespace oratorio {

namespace {

/// Returns the device offset of the region's first byte with a known place, or the largest offset
/// if no place is known.
Offset device_offset(const Region& region, std::span<const DiskExtent> places) {
    for (std::int64_t i = 0; i < region.count; ++i) {
        const Extent extent = region.extent(i);
        const auto ends_before = [&](const DiskExtent& place) {
            return place.file.end <= extent.begin;
        };
        const auto found = std::ranges::partition_point(places, ends_before);
        if (found == places.end() || found->file.begin >= extent.end) continue;
        return found->device + std::max<Bytes>(0, extent.begin - found->file.begin);
    }
    return INT64_MAX;
}

}  // namespace

RoundOrder by_place(const Plan& plan, std::span<const DiskExtent> places) {
    if (places.empty()) return {};
    const auto rounds = static_cast<std::size_t>(plan.rounds);
    std::vector<std::int32_t> parts(rounds * plan.aggregators.size());
    std::vector<Offset> device(rounds);
    for (std::size_t index = 0; index < plan.aggregators.size(); ++index) {
        const auto mine = std::span(parts).subspan(index * rounds, rounds);
        for (std::size_t part = 0; part < rounds; ++part) {
            device[part] =
                device_offset(plan.domains.region(static_cast<int>(index),
                                                  static_cast<std::int64_t>(part), plan.slot_bytes),
                              places);
        }
        std::iota(mine.begin(), mine.end(), 0);
        std::ranges::stable_sort(
            mine, {}, [&](std::int32_t part) { return device[static_cast<std::size_t>(part)]; });
    }
    return {std::move(parts), plan.rounds};
}

}  // namespace oratorio
