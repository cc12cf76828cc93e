// SPDX-License-Identifier: BSD-3-Clause
#include "plan/locality.hpp"

#include <algorithm>

namespace oratorio {

namespace {

constexpr std::size_t kRanksMost = 4096;
constexpr std::size_t kDomainsMost = 64;  // domains looked at for one rank

/// Returns the distance between the items to look at, if at most `most` of `count` similar items
/// are sampled. The result is odd: with powers of two all samples would have the same index on
/// their nodes.
std::size_t step_of(std::size_t count, std::size_t most) {
    return count <= most ? 1 : (count + most - 1) / most | 1;
}

/// Returns the locality of one rank's data.
Locality share_of(Rank rank, Extent mine, Extent hull, const Nodes& nodes,
                  const std::vector<Rank>& aggregators) {
    const auto count = static_cast<double>(aggregators.size());
    const double domain = static_cast<double>(hull.length()) / count;
    const auto begin = static_cast<double>(mine.begin - hull.begin);
    const auto end = static_cast<double>(mine.end - hull.begin);
    const auto first = static_cast<std::size_t>(begin / domain);
    const auto last = std::min(aggregators.size(), static_cast<std::size_t>(end / domain) + 1);
    const std::size_t step = step_of(last - std::min(first, last), kDomainsMost);
    const int node = nodes.node(rank);
    double all = 0;
    Locality met;
    for (std::size_t i = first; i < last; i += step) {
        const auto at = static_cast<double>(i) * domain;
        const double bytes = std::max(0.0, std::min(end, at + domain) - std::max(begin, at));
        all += bytes;
        if (nodes.node(aggregators[i]) == node) met.node += bytes;
        if (aggregators[i] == rank) met.own += bytes;
    }
    if (all <= 0) return {};
    return {met.own / all, met.node / all};
}

}  // namespace

Locality locality_of(AllSummaries summaries, const Nodes& nodes, Extent hull,
                     const std::vector<Rank>& aggregators) {
    if (aggregators.empty() || hull.length() == 0) return {};
    double all = 0;
    Locality bytes;
    const std::size_t step = step_of(summaries.size(), kRanksMost);
    for (std::size_t rank = 0; rank < summaries.size(); rank += step) {
        const AccessSummary& one = summaries[rank];
        if (one.bytes == 0) continue;
        const Locality share =
            share_of(static_cast<Rank>(rank), one.hull, hull, nodes, aggregators);
        const auto data = static_cast<double>(one.bytes);
        all += data;
        bytes.own += data * share.own;
        bytes.node += data * share.node;
    }
    if (all == 0) return {};
    return {bytes.own / all, bytes.node / all};
}

}  // namespace oratorio
