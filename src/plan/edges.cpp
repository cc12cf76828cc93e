// SPDX-License-Identifier: BSD-3-Clause
#include "plan/edges.hpp"

#include <algorithm>

#include "plan/plan.hpp"

namespace oratorio {

namespace {

/// Returns true if data in [first, last) of the cursor's layout lies in the region. `first` and
/// `last` are data positions.
bool has_data(Cursor& file, Bytes first, Bytes last, const Region& region) {
    for (std::int64_t i = 0; i < region.count; ++i) {
        const Extent extent = region.extent(i);
        if (extent.empty()) continue;
        seek_within(file, extent.begin, first);
        if (file.tell_size() < last && file.tell_offset() < extent.end) return true;
    }
    return false;
}

}  // namespace

EdgeScale::EdgeScale(std::size_t aggregators, std::int64_t rounds) {
    const auto most = static_cast<std::int64_t>(
        std::max<std::size_t>(1, EdgeBits().size() / std::max<std::size_t>(1, aggregators)));
    rounds_per_cell_ = std::max<std::int64_t>(1, (rounds + most - 1) / most);
    cells_ = static_cast<std::size_t>((rounds + rounds_per_cell_ - 1) / rounds_per_cell_);
}

EdgeBits edges_of(const Plan& plan, Rank rank, const Access& access) {
    EdgeBits bits;
    if (access.bytes() == 0) return bits;
    const EdgeScale scale(plan.aggregators.size(), plan.rounds);
    Cursor file(access.file);
    for (RankRegions regions = plan.regions_of(rank); !regions.at_end(); regions.advance()) {
        const std::size_t bit = scale.bit(regions.aggregator(), regions.round());
        if (!bits[bit] &&
            has_data(file, access.from, access.from + access.bytes(), regions.region()))
            bits.set(bit);
    }
    return bits;
}

std::vector<int> aggregators_of_edges(const Plan& plan, Rank rank) {
    std::vector<bool> met(plan.aggregators.size());
    for (RankRegions regions = plan.regions_of(rank); !regions.at_end(); regions.advance())
        met[static_cast<std::size_t>(regions.aggregator())] = true;
    std::vector<int> indices;
    for (int index = 0; index < static_cast<int>(met.size()); ++index) {
        if (met[static_cast<std::size_t>(index)] && index != plan.aggregator_index(rank))
            indices.push_back(index);
    }
    return indices;
}

std::vector<Rank> ranks_of_edges(const Plan& plan, int index) {
    std::vector<bool> met(plan.graph.size());
    for (std::int64_t round = 0; round < plan.rounds; ++round) {
        plan.each_participant(index, round, [&](std::size_t i) { return met[i] = true; });
    }
    std::vector<Rank> ranks;
    for (std::size_t i = 0; i < met.size(); ++i) {
        const Rank rank = plan.graph.participant(i).rank;
        if (met[i] && plan.aggregator_index(rank) != index) ranks.push_back(rank);
    }
    return ranks;
}

}  // namespace oratorio
