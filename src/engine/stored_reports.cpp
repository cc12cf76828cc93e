// SPDX-License-Identifier: BSD-3-Clause
#include "engine/stored_reports.hpp"

#include <algorithm>

namespace oratorio {

namespace {

/// Returns the data bytes of the access within `range` of the file.
Bytes bytes_within(const Access& access, Extent range) {
    if (range.empty()) return 0;
    const Bytes to = access.from + access.bytes();
    const Bytes first = std::clamp(size_before_offset(access.file, range.begin), access.from, to);
    const Bytes last = std::clamp(size_before_offset(access.file, range.end), access.from, to);
    return last - first;
}

Offset stored_until(const StoredReport& report, std::int64_t round) {
    for (std::int64_t i = 0; i < report.shorts; ++i) {
        if (report.short_rounds[i].round == round) return report.short_rounds[i].stored_until;
    }
    return round >= report.first_not_begun ? INT64_MIN : INT64_MAX;
}

}  // namespace

Bytes stored_bytes(const Plan& plan, const Access& access, Extent mine,
                   std::span<const StoredReport> reports) {
    Bytes total = 0;
    for (int index = 0; index < static_cast<int>(plan.aggregators.size()); ++index) {
        for (std::int64_t round = 0; round < plan.rounds; ++round) {
            const Region region = plan.region(index, round);
            if (!region.touches(mine)) continue;
            const Offset until = stored_until(reports[static_cast<std::size_t>(index)], round);
            for (std::int64_t i = 0; i < region.count; ++i) {
                const Extent extent = region.extent(i);
                total += bytes_within(access, {extent.begin, std::min(extent.end, until)});
            }
        }
    }
    return total;
}

Bytes StoredReports::stored_bytes(const Plan& plan, const Access& access, Extent mine) const {
    std::vector<StoredReport> of_aggregators(plan.aggregators.size());
    for (std::size_t i = 0; i < of_aggregators.size(); ++i) {
        // An unknown aggregator (-1) has no data of this rank.
        const Rank rank = plan.aggregators[i];
        if (rank >= 0) of_aggregators[i] = gathering_.all()[static_cast<std::size_t>(rank)];
    }
    return oratorio::stored_bytes(plan, access, mine, of_aggregators);
}

}  // namespace oratorio
