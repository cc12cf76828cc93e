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

RanksByNode able_ranks(const Nodes& topology, const Summaries& summaries) {
    return ranks_by_node(topology, [&](Rank rank) {
        return (summaries[static_cast<std::size_t>(rank)].flags & flag_no_store) == 0;
    });
}

std::vector<Rank> choose_aggregators(const Nodes& topology, const RanksByNode& nodes,
                                     const PlanOptions& options, Bytes hull_bytes, int per_node) {
    const auto entries = parse_config_list(options.cb_config_list);
    // cb_nodes alone is a wish for that many, wherever they fit; a config list alone bounds each
    // host.
    const int per_node_default = options.cb_nodes > 0 ? INT_MAX : per_node;
    std::vector<std::vector<Rank>> chosen(nodes.size());
    std::size_t most = 0;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        const std::string host = topology.node_names.empty() ? "" : topology.node_names[node];
        const std::int64_t allowed = entries.empty() ? per_node_default : allowed_on(host, entries);
        std::int64_t count =
            std::min<std::int64_t>(allowed, static_cast<std::int64_t>(nodes[node].size()));
        if (options.cb_nodes > 0) {
            const auto share = (options.cb_nodes + static_cast<std::int64_t>(nodes.size()) - 1) /
                               static_cast<std::int64_t>(nodes.size());
            count = std::min(count, std::max<std::int64_t>(share, entries.empty() ? share : 1));
        }
        for (std::int64_t i = 0; i < count; ++i) {
            chosen[node].push_back(
                nodes[node][i * static_cast<std::int64_t>(nodes[node].size()) / count]);
        }
        most = std::max(most, chosen[node].size());
    }
    std::vector<Rank> aggregators;
    for (std::size_t turn = 0; turn < most; ++turn) {
        for (const auto& on_node : chosen) {
            if (turn < on_node.size()) aggregators.push_back(on_node[turn]);
        }
    }
    std::size_t limit = options.cb_nodes > 0 ? options.cb_nodes : aggregators.size();
    if (options.cb_nodes == 0 && entries.empty() && per_node != kEveryRank) {
        limit = std::clamp<std::size_t>(hull_bytes / kBytesEachMin, 1,
                                        std::max<std::size_t>(1, aggregators.size()));
    }
    if (aggregators.size() > limit) aggregators.resize(limit);
    if (aggregators.empty()) {  // a list that names no host of ours must not stop the access
        for (const auto& node : nodes) {
            if (!node.empty()) return {node.front()};
        }
    }
    return aggregators;
}

}  // namespace oratorio
