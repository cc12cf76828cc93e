// SPDX-License-Identifier: BSD-3-Clause
#include "plan/aggregators.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <numeric>

namespace oratorio {

namespace {

// Minimum bytes of the hull per aggregator: with less, another aggregator costs more in messages
// than it saves.
constexpr Bytes kBytesEachMin = 1 << 20;

int allowed_on(const std::string& host, const std::vector<ConfigEntry>& entries) {
    for (const ConfigEntry& entry : entries) {
        if (entry.host == "*" || entry.host == host) return entry.count;
    }
    return 0;
}

/// Selects candidate aggregators on each node, up to the node's limit, spread evenly over the ranks
/// that may be aggregators (the able ranks). The i-th candidate of each node has turn i, so that
/// the caller can take one candidate of every node before a second of any. Stores numbers per node
/// only if some rank isn't able or there is a config list.
class Turns {
  public:
    Turns(const Nodes& topology, const AbleRanks& able, const PlanOptions& options, int per_node);

    /// Returns true if a config list limits the hosts.
    [[nodiscard]] bool listed() const { return !allowed_.empty(); }
    /// Returns the number of candidates on a node.
    [[nodiscard]] int count(int node) const {
        const auto at = static_cast<std::size_t>(node);
        return std::min({most_, able_on(node), allowed_.empty() ? INT_MAX : allowed_[at]});
    }
    /// Calls visit(rank, turn) for each candidate, in rank order.
    template <class Visit>
    void each(Visit visit) const {
        std::vector<int> seen(able_on_.size());
        topology_.each([&](Rank rank, NodeSlot slot) {
            if (!seen.empty() && !able_(rank)) return;
            const int place = seen.empty() ? slot.place : seen[std::size_t(slot.node)]++;
            const int turn = turn_of(place, slot.node);
            if (turn >= 0) visit(rank, turn);
        });
    }

  private:
    void count_able();
    [[nodiscard]] int able_on(int node) const {
        return able_on_.empty() ? topology_.ranks_of(node)
                                : able_on_[static_cast<std::size_t>(node)];
    }
    /// Returns the turn of the able rank with index `place` among the able ranks of `node`, -1 if
    /// that rank isn't a candidate.
    [[nodiscard]] int turn_of(int place, int node) const {
        const std::int64_t able = able_on(node);
        const std::int64_t chosen = count(node);
        const std::int64_t turn = (place * chosen + able - 1) / able;
        return turn < chosen && turn * able / chosen == place ? static_cast<int>(turn) : -1;
    }

    const Nodes& topology_;
    const AbleRanks& able_;
    int most_ = INT_MAX;        ///< limit for each node
    std::vector<int> able_on_;  ///< able ranks by node; empty if all ranks are able
    std::vector<int> allowed_;  ///< a config list's limits by node; empty without a list
};

Turns::Turns(const Nodes& topology, const AbleRanks& able, const PlanOptions& options, int per_node)
    : topology_(topology), able_(able) {
    const auto entries = parse_config_list(options.cb_config_list);
    const int nodes = topology.nodes();
    // cb_nodes limits each node to its share, rounded up. per_node is the limit only if neither
    // cb_nodes nor cb_config_list is given.
    if (options.cb_nodes > 0) most_ = options.cb_nodes / nodes + (options.cb_nodes % nodes > 0);
    if (options.cb_nodes == 0 && entries.empty()) most_ = per_node;
    for (int node = 0; node < nodes && !entries.empty(); ++node) {
        const auto at = static_cast<std::size_t>(node);
        const bool named = at < topology.node_names.size();
        allowed_.push_back(allowed_on(named ? topology.node_names[at] : "", entries));
    }
    count_able();
}

void Turns::count_able() {
    bool all = true;
    for (Rank rank = 0; rank < topology_.size && all; ++rank) all = able_(rank);
    if (all) return;
    able_on_.resize(static_cast<std::size_t>(topology_.nodes()));
    topology_.each([&](Rank rank, NodeSlot slot) {
        able_on_[static_cast<std::size_t>(slot.node)] += able_(rank) ? 1 : 0;
    });
}

/// Returns the number of candidates in each turn.
std::vector<std::size_t> count_turns(const Turns& turns, int nodes) {
    std::vector<std::size_t> counts;
    for (int node = 0; node < nodes; ++node) {
        const auto chosen = static_cast<std::size_t>(turns.count(node));
        counts.resize(std::max(counts.size(), chosen));
        for (std::size_t turn = 0; turn < chosen; ++turn) ++counts[turn];
    }
    return counts;
}

/// Returns `count` of the ranks, in rank order, from each switch in proportion to its number of
/// `ranks`.
std::vector<Rank> spread_over_switches(std::vector<Rank> ranks, std::size_t count,
                                       const Nodes& topology) {
    std::ranges::stable_sort(ranks, {}, [&](Rank rank) { return topology.switch_at(rank); });
    std::vector<Rank> kept;
    for (std::size_t i = 0; i < count; ++i) kept.push_back(ranks[i * ranks.size() / count]);
    std::ranges::sort(kept);
    return kept;
}

/// Returns the ranks that a hint names as aggregators and that exist and are able, at most
/// cb_nodes.
std::vector<Rank> named_aggregators(const Nodes& topology, const AbleRanks& able,
                                    const PlanOptions& options) {
    const auto most = options.cb_nodes > 0 ? static_cast<std::size_t>(options.cb_nodes) : SIZE_MAX;
    std::vector<Rank> named;
    for (const Rank rank : options.aggregators) {
        if (named.size() < most && rank < topology.size && able(rank)) named.push_back(rank);
    }
    return named;
}

std::vector<Rank> first_able(const Nodes& topology, const AbleRanks& able) {
    for (Rank rank = 0; rank < topology.size; ++rank) {
        if (able(rank)) return {rank};
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
    if (!options.aggregators.empty()) {
        std::vector<Rank> named = named_aggregators(topology, able, options);
        return named.empty() ? first_able(topology, able) : named;
    }
    const Turns turns(topology, able, options, per_node);
    std::vector<std::size_t> next = count_turns(turns, topology.nodes());
    std::size_t count = std::accumulate(next.begin(), next.end(), std::size_t{0});
    if (options.cb_nodes > 0) {
        count = std::min(count, static_cast<std::size_t>(options.cb_nodes));
    } else if (!turns.listed() && per_node != kEveryRank && count > 0) {
        count = std::clamp<std::size_t>(hull_bytes / kBytesEachMin, 1, count);
    }
    // A list that names no host of this job must not make the access fail.
    if (count == 0) return first_able(topology, able);
    std::exclusive_scan(next.begin(), next.end(), next.begin(), std::size_t{0});
    const auto last_turn = std::ranges::lower_bound(next, count) - next.begin() - 1;
    const std::size_t before_last = next[static_cast<std::size_t>(last_turn)];
    const bool spread = topology.switches() > 1;
    std::vector<Rank> aggregators(count);
    std::vector<Rank> in_last;
    turns.each([&](Rank rank, int turn) {
        const std::size_t at = next[static_cast<std::size_t>(turn)]++;
        if (at < count) aggregators[at] = rank;
        if (spread && turn == last_turn) in_last.push_back(rank);
    });
    if (spread) {
        aggregators.resize(before_last);
        for (const Rank rank : spread_over_switches(in_last, count - before_last, topology))
            aggregators.push_back(rank);
    }
    return aggregators;
}

std::vector<Rank> choose_target_aggregators(const Nodes& topology, const AbleRanks& able,
                                            const PlanOptions& options, int per_node) {
    constexpr Bytes kAnyHull = INT64_MAX;
    const int targets = options.striping_factor;
    if (targets == 0 || !options.aggregators.empty())
        return choose_aggregators(topology, able, options, kAnyHull, per_node);
    PlanOptions wanted = options;
    wanted.cb_nodes = options.cb_nodes > 0 ? std::min(options.cb_nodes, targets) : targets;
    std::vector<Rank> aggregators = choose_aggregators(topology, able, wanted, kAnyHull);
    std::size_t count = aggregators.size();
    while (count > 1 && static_cast<std::size_t>(targets) % count != 0) --count;
    aggregators.resize(count);
    return aggregators;
}

}  // namespace oratorio
