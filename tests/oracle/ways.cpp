// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/ways.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "comm/shared_segment.hpp"
#include "oracle/scarcity.hpp"

namespace oratorio::oracle {

std::unique_ptr<Transport> Ways::of(Rank rank, int handle) {
    const auto& members = program_.handles[static_cast<std::size_t>(handle)].members;
    auto& network = all_[static_cast<std::size_t>(handle)];
    if (network == nullptr) {
        std::vector<int> nodes;
        std::vector<int> seen;
        for (const Rank member : members) {
            const int per_node = program_.setting.ranks_per_node;
            const int node = per_node > 0 ? member / per_node : 0;
            const auto found = std::ranges::find(seen, node);
            nodes.push_back(static_cast<int>(found - seen.begin()));
            if (found == seen.end()) seen.push_back(node);
        }
        network = std::make_shared<Network>(fibers_, nodes, program_.setting.cores,
                                            program_.setting.late_percent);
    }
    const auto local = std::ranges::find(members, rank) - members.begin();
    return Network::transport(network, static_cast<Rank>(local));
}

std::unique_ptr<Transport> Ways::of_leaders(const Topology& ranks, int handle) {
    const Spared spared;
    auto& network = leaders_[static_cast<std::size_t>(handle)];
    if (network == nullptr) {
        std::vector<int> alone(static_cast<std::size_t>(ranks.nodes()));
        std::iota(alone.begin(), alone.end(), 0);
        network = std::make_shared<Network>(fibers_, std::move(alone), program_.setting.cores,
                                            program_.setting.late_percent);
    }
    if (first_beside(ranks, ranks.rank) != ranks.rank) return nullptr;
    return Network::transport(network, ranks.node(ranks.rank));
}

}  // namespace oratorio::oracle
