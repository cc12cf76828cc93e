// SPDX-License-Identifier: BSD-3-Clause
#include "plan/locality.hpp"

#include <algorithm>
#include <functional>
#include <utility>

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
    const int at_switch = nodes.switch_at(rank);
    double all = 0;
    Locality met;
    for (std::size_t i = first; i < last; i += step) {
        const auto at = static_cast<double>(i) * domain;
        const double bytes = std::max(0.0, std::min(end, at + domain) - std::max(begin, at));
        all += bytes;
        if (nodes.node(aggregators[i]) == node) met.node += bytes;
        if (nodes.switch_at(aggregators[i]) == at_switch) met.on_switch += bytes;
        if (aggregators[i] == rank) met.own += bytes;
    }
    if (all <= 0) return {};
    return {met.own / all, met.node / all, met.on_switch / all};
}

/// Adds up data by parts of equal length.
class PartBytes {
  public:
    PartBytes(Extent hull, std::size_t parts)
        : begin_(static_cast<double>(hull.begin)),
          length_(static_cast<double>(hull.length()) / static_cast<double>(parts)),
          bytes_(parts),
          steps_(parts + 1) {}

    /// Adds data that is spread evenly over its hull.
    void add(const AccessSummary& one) {
        const double begin = (static_cast<double>(one.hull.begin) - begin_) / length_;
        const double end = (static_cast<double>(one.hull.end) - begin_) / length_;
        const auto first = std::min(static_cast<std::size_t>(begin), bytes_.size() - 1);
        const auto last = std::min(static_cast<std::size_t>(end), bytes_.size() - 1);
        const double each = static_cast<double>(one.bytes) / (end - begin);
        if (first == last) {
            bytes_[first] += static_cast<double>(one.bytes);
            return;
        }
        bytes_[first] += each * (static_cast<double>(first + 1) - begin);
        bytes_[last] += each * (end - static_cast<double>(last));
        steps_[first + 1] += each;
        steps_[last] -= each;
    }
    /// Returns the bytes of each part.
    [[nodiscard]] std::vector<double> take() {
        double whole = 0;  // bytes of ranks whose data begins before and ends after this part
        for (std::size_t part = 0; part < bytes_.size(); ++part) {
            whole += steps_[part];
            bytes_[part] += whole;
        }
        return std::move(bytes_);
    }

  private:
    double begin_;
    double length_;
    std::vector<double> bytes_;
    std::vector<double> steps_;  ///< change of the bytes from one part to the next
};

/// The switch with most of the data of a part.
struct PartOwner {
    std::size_t part = 0;
    int network_switch = 0;
    double bytes = 0;  ///< data of the part on that switch
};

/// Returns the owners of the even parts of `hull`, in descending order of bytes.
std::vector<PartOwner> owners_of(AllSummaries summaries, const Nodes& nodes, Extent hull,
                                 std::size_t parts) {
    std::vector<std::vector<std::size_t>> ranks_of(static_cast<std::size_t>(nodes.switches()));
    const std::size_t step = step_of(summaries.size(), kRanksMost);
    for (std::size_t rank = 0; rank < summaries.size(); rank += step) {
        const auto at = static_cast<std::size_t>(nodes.switch_at(static_cast<Rank>(rank)));
        if (summaries[rank].bytes > 0) ranks_of[at].push_back(rank);
    }
    std::vector<PartOwner> owners(parts);
    for (std::size_t part = 0; part < parts; ++part) owners[part].part = part;
    for (std::size_t at = 0; at < ranks_of.size(); ++at) {
        PartBytes sums(hull, parts);
        for (const std::size_t rank : ranks_of[at]) sums.add(summaries[rank]);
        const std::vector<double> bytes = sums.take();
        for (PartOwner& owner : owners)
            if (bytes[owner.part] > owner.bytes)
                owner = {owner.part, static_cast<int>(at), bytes[owner.part]};
    }
    std::ranges::stable_sort(owners, std::ranges::greater(), &PartOwner::bytes);
    return owners;
}

/// Returns the aggregators in the order of the parts that they will own. Each part goes to the next
/// aggregator of its owner. Parts of owners with no more aggregators get the aggregators that are
/// left over.
/// REQUIRES: `aggregators` is in rank order.
std::vector<Rank> dealt_to(const std::vector<PartOwner>& owners, const Nodes& nodes,
                           const std::vector<Rank>& aggregators) {
    std::vector<int> left(static_cast<std::size_t>(nodes.switches()));
    for (const Rank rank : aggregators) ++left[static_cast<std::size_t>(nodes.switch_at(rank))];
    constexpr int kNone = -1;
    std::vector<int> switch_of(owners.size(), kNone);
    for (const PartOwner& owner : owners) {
        int& free = left[static_cast<std::size_t>(owner.network_switch)];
        if (owner.bytes > 0 && free > 0) {
            switch_of[owner.part] = owner.network_switch;
            --free;
        }
    }
    // The last aggregators of a switch are the ones that own none of these parts.
    std::vector<std::vector<Rank>> of_switch(left.size());
    std::vector<Rank> others;
    for (std::size_t i = aggregators.size(); i-- > 0;) {
        const auto at = static_cast<std::size_t>(nodes.switch_at(aggregators[i]));
        (left[at]-- > 0 ? others : of_switch[at]).push_back(aggregators[i]);
    }
    std::vector<Rank> dealt;
    for (const int at : switch_of) {
        auto& from = at == kNone ? others : of_switch[static_cast<std::size_t>(at)];
        dealt.push_back(from.back());
        from.pop_back();
    }
    return dealt;
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
        bytes.on_switch += data * share.on_switch;
    }
    if (all == 0) return {};
    return {bytes.own / all, bytes.node / all, bytes.on_switch / all};
}

void put_near_data(std::vector<Rank>& aggregators, AllSummaries summaries, const Nodes& nodes,
                   Extent hull) {
    constexpr double kGain = 0.01;  // share of all data; less is noise of the estimate
    std::ranges::sort(aggregators);
    if (nodes.switches() == 1 || aggregators.size() < 2 || hull.length() == 0) return;
    const auto kept = [&](const std::vector<Rank>& order) {
        const Locality share = locality_of(summaries, nodes, hull, order);
        return share.node + share.on_switch;
    };
    const auto owners = owners_of(summaries, nodes, hull, aggregators.size());
    std::vector<Rank> dealt = dealt_to(owners, nodes, aggregators);
    if (kept(dealt) > kept(aggregators) + kGain) aggregators = std::move(dealt);
}

}  // namespace oratorio
