// SPDX-License-Identifier: BSD-3-Clause
#include "plan/locality.hpp"

#include <algorithm>

namespace oratorio {

namespace {

/// Domains of the aggregators of each node: their indices, node by node.
struct OfNodes {
    std::vector<std::size_t> first;  ///< of each node, and behind the last
    std::vector<int> indices;
};

OfNodes domains_of_nodes(const Nodes& nodes, const std::vector<Rank>& aggregators) {
    OfNodes of;
    of.first.assign(static_cast<std::size_t>(nodes.nodes()) + 1, 0);
    std::vector<std::size_t> node_of;
    for (const Rank rank : aggregators) {
        node_of.push_back(static_cast<std::size_t>(nodes.node(rank)));
        ++of.first[node_of.back() + 1];
    }
    for (std::size_t node = 1; node < of.first.size(); ++node) of.first[node] += of.first[node - 1];
    of.indices.resize(aggregators.size());
    std::vector<std::size_t> next = of.first;
    for (std::size_t i = 0; i < aggregators.size(); ++i)
        of.indices[next[node_of[i]]++] = static_cast<int>(i);
    return of;
}

}  // namespace

Locality locality_of(AllSummaries summaries, const Nodes& nodes, Extent hull,
                     const std::vector<Rank>& aggregators) {
    if (aggregators.empty() || hull.length() == 0) return {};
    const auto domain =
        static_cast<double>(hull.length()) / static_cast<double>(aggregators.size());
    const OfNodes of = domains_of_nodes(nodes, aggregators);
    double all = 0;
    Locality bytes;
    nodes.each([&](Rank rank, Seat seat) {
        const AccessSummary& one = summaries[static_cast<std::size_t>(rank)];
        if (one.bytes == 0) return;
        const auto density =
            static_cast<double>(one.bytes) / static_cast<double>(one.hull.length());
        const auto begin = static_cast<double>(one.hull.begin - hull.begin);
        const auto end = static_cast<double>(one.hull.end - hull.begin);
        all += static_cast<double>(one.bytes);
        const auto node = static_cast<std::size_t>(seat.node);
        for (std::size_t i = of.first[node]; i < of.first[node + 1]; ++i) {
            const int index = of.indices[i];
            const double met =
                std::min(end, (index + 1) * domain) - std::max(begin, index * domain);
            if (met <= 0) continue;
            bytes.node += met * density;
            if (aggregators[static_cast<std::size_t>(index)] == rank) bytes.own += met * density;
        }
    });
    if (all == 0) return {};
    return {bytes.own / all, bytes.node / all};
}

}  // namespace oratorio
