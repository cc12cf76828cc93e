// SPDX-License-Identifier: BSD-3-Clause
#include "plan/aggregators.hpp"

#include <algorithm>
#include <charconv>
#include <climits>

namespace oratorio {

namespace {

// Below a MiB each an aggregator costs more messages than it saves time.
constexpr Bytes kBytesEachMin = 1 << 20;

int allowed_on(const std::string& host, const std::vector<ConfigEntry>& entries) {
    for (const ConfigEntry& entry : entries) {
        if (entry.host == "*" || entry.host == host) return entry.count;
    }
    return 0;
}

/// Of one node.
struct OnNode {
    int able = 0;            ///< ranks that may be chosen
    int count = 0;           ///< that are
    std::int64_t first = 0;  ///< where they stand among those of all nodes
    int seen = 0;            ///< able ranks that came by
    int taken = 0;           ///< of them
};

std::vector<OnNode> count_able(const Nodes& topology, const AbleRanks& able) {
    std::vector<OnNode> nodes(std::max<std::size_t>(1, topology.node_names.size()));
    topology.each([&](Rank rank, Seat seat) {
        nodes[static_cast<std::size_t>(seat.node)].able += able(rank) ? 1 : 0;
    });
    return nodes;
}

/// Of each node its count, spread evenly over those that may be chosen; node by node.
std::vector<Rank> pick(const Nodes& topology, const AbleRanks& able, std::vector<OnNode>& nodes,
                       std::int64_t all) {
    std::vector<Rank> chosen(static_cast<std::size_t>(all));
    topology.each([&](Rank rank, Seat seat) {
        if (!able(rank)) return;
        OnNode& node = nodes[static_cast<std::size_t>(seat.node)];
        const std::int64_t next = std::int64_t{node.taken} * node.able / std::max(1, node.count);
        if (node.seen++ == next && node.taken < node.count)
            chosen[static_cast<std::size_t>(node.first + node.taken++)] = rank;
    });
    return chosen;
}

/// The first able rank of the first node that has one.
std::vector<Rank> first_able(const Nodes& topology, const AbleRanks& able,
                             const std::vector<OnNode>& nodes) {
    const auto has = std::ranges::find_if(nodes, [](const OnNode& one) { return one.able > 0; });
    for (Rank rank = 0; rank < topology.size && has != nodes.end(); ++rank) {
        if (able(rank) && topology.node(rank) == has - nodes.begin()) return {rank};
    }
    return {};
}

}  // namespace

std::vector<ConfigEntry> parse_config_list(const std::string& text) {
    std::vector<ConfigEntry> entries;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string item = text.substr(at, comma - at);
        at = comma + 1;
        const std::size_t colon = item.find(':');
        ConfigEntry entry{item.substr(0, colon), 1};
        if (colon != std::string::npos) {
            const std::string number = item.substr(colon + 1);
            const char* end = number.data() + number.size();
            const auto [stop, failure] = std::from_chars(number.data(), end, entry.count);
            if (number == "*" ||
                (failure == std::errc::result_out_of_range && stop == end && number[0] != '-')) {
                entry.count = INT_MAX;
            } else if (failure != std::errc() || stop != end || entry.count < 0) {
                return {};
            }
        }
        if (entry.host.empty()) return {};
        entries.push_back(entry);
    }
    return entries;
}

AbleRanks able_ranks(AllSummaries summaries) {
    return [summaries](Rank rank) {
        return (summaries[static_cast<std::size_t>(rank)].flags & flag_no_store) == 0;
    };
}

std::vector<Rank> choose_aggregators(const Nodes& topology, const AbleRanks& able,
                                     const PlanOptions& options, Bytes hull_bytes, int per_node) {
    const auto entries = parse_config_list(options.cb_config_list);
    std::vector<OnNode> nodes = count_able(topology, able);
    std::int64_t all = 0;
    std::int64_t most = 0;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        const std::string host = topology.node_names.empty() ? "" : topology.node_names[node];
        // cb_nodes alone is a wish for that many, wherever they fit; a config list alone bounds
        // each host.
        const int by_default = options.cb_nodes > 0 ? INT_MAX : per_node;
        const int allowed = entries.empty() ? by_default : allowed_on(host, entries);
        std::int64_t count = std::min<std::int64_t>(allowed, nodes[node].able);
        if (options.cb_nodes > 0) {
            const auto share = (options.cb_nodes + std::ssize(nodes) - 1) / std::ssize(nodes);
            count = std::min<std::int64_t>(
                count, std::max<std::int64_t>(share, entries.empty() ? share : 1));
        }
        nodes[node].count = static_cast<int>(count);
        nodes[node].first = all;
        all += count;
        most = std::max(most, count);
    }
    const std::vector<Rank> chosen = pick(topology, able, nodes, all);
    std::vector<Rank> aggregators;
    aggregators.reserve(chosen.size());
    for (std::int64_t turn = 0; turn < most; ++turn) {
        for (const OnNode& node : nodes) {
            if (turn < node.count)
                aggregators.push_back(chosen[static_cast<std::size_t>(node.first + turn)]);
        }
    }
    std::size_t limit = options.cb_nodes > 0 ? options.cb_nodes : aggregators.size();
    if (options.cb_nodes == 0 && entries.empty() && per_node != kEveryRank) {
        limit = std::clamp<std::size_t>(hull_bytes / kBytesEachMin, 1,
                                        std::max<std::size_t>(1, aggregators.size()));
    }
    if (aggregators.size() > limit) aggregators.resize(limit);
    // A list that names no host of ours must not stop the access.
    if (aggregators.empty()) return first_able(topology, able, nodes);
    return aggregators;
}

}  // namespace oratorio
