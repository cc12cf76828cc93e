// SPDX-License-Identifier: BSD-3-Clause
#include "count/schedule.hpp"

#include <algorithm>
#include <memory>

#include "exchange/run_joiner.hpp"

namespace oratorio::count {

namespace {

/// Joins the pieces of a local aggregator's ranks, as exchange/group_runs does.
class Merger {
  public:
    explicit Merger(std::span<std::byte> message)
        : table_(message), room_(std::ssize(message) - Bytes{sizeof(MessageHead)}) {}

    /// `pieces`: of ranks one after another, each in the order of the file; `ends`: where each
    /// rank's end. Both are used up.
    Cut cut(const Region& region, std::vector<Extent>& pieces, std::vector<std::size_t>& ends) {
        sort(pieces, ends);
        Cut all;
        std::size_t at = 0;
        Bytes taken = 0;  // of the piece that a message ended in
        do {
            RunJoiner joiner(table_, region);
            Bytes payload = 0;
            while (at < pieces.size()) {
                const Bytes room = room_ - payload -
                                   static_cast<Bytes>(joiner.bytes() + RunJoiner::batch_bytes_max);
                if (room <= 0) break;
                const Bytes part = std::min(pieces[at].length() - taken, room);
                joiner.add(pieces[at].begin + taken, part);
                payload += part;
                taken += part;
                if (taken < pieces[at].length()) continue;
                taken = 0;
                ++at;
            }
            joiner.finish();
            ++all.messages;
            all.pieces += joiner.pieces();
            all.payload += payload;
            all.described += static_cast<Bytes>(sizeof(MessageHead) + joiner.bytes());
        } while (at < pieces.size());
        return all;
    }

  private:
    /// Neighbours are merged two by two, until all are in order.
    static void sort(std::vector<Extent>& pieces, std::vector<std::size_t>& ends) {
        while (ends.size() > 1) {
            std::size_t begin = 0;
            std::vector<std::size_t> fewer;
            for (std::size_t i = 0; i < ends.size(); i += 2) {
                const std::size_t end = i + 1 < ends.size() ? ends[i + 1] : ends[i];
                const auto at = [&](std::size_t n) {
                    return pieces.begin() + static_cast<std::ptrdiff_t>(n);
                };
                if (i + 1 < ends.size())
                    std::inplace_merge(
                        at(begin), at(ends[i]), at(end),
                        [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
                fewer.push_back(end);
                begin = end;
            }
            ends = std::move(fewer);
        }
    }

    std::span<std::byte> table_;
    Bytes room_;
};

/// Fills the rounds, one sender after another.
class Counter {
  public:
    Counter(const Job& job, const Plan& plan, std::vector<RoundSchedule>& rounds)
        : job_(job),
          plan_(plan),
          rounds_(rounds),
          message_(static_cast<std::size_t>(plan.message_bytes)),
          local_message_(static_cast<std::size_t>(
              std::max(plan.layers.message_bytes(), Bytes{sizeof(MessageHead)} + 64))) {}

    void count_rank(Rank rank) {
        const std::size_t i = plan_.graph.find(rank);
        Cutter cutter(job_.layout_of(rank), message_);
        each_region(i, [&](RoundSchedule& round, int to) {
            const Region& region = round.regions[static_cast<std::size_t>(to)];
            sent(round, rank, to).add(cutter.cut(region), aggregator(to) == rank);
        });
    }

    void count_group(Rank local) {
        std::vector<Rank> ranks = plan_.layers.group_of(local);
        std::erase_if(ranks, [&](Rank rank) { return plan_.ranks.hull_of(rank).empty(); });
        if (ranks.empty()) return;
        if (ranks == std::vector{local}) return count_rank(local);
        std::vector<Cutter> members;
        for (const Rank rank : ranks) members.emplace_back(job_.layout_of(rank), local_message_);
        std::vector<Extent> pieces;
        std::vector<std::size_t> ends;
        Merger merger(message_);
        each_region(plan_.graph.find(local), [&](RoundSchedule& round, int to) {
            const Region& region = round.regions[static_cast<std::size_t>(to)];
            pieces.clear();
            ends.clear();
            for (std::size_t m = 0; m < members.size(); ++m) {
                if (!plan_.takes_part(plan_.ranks, plan_.ranks.find(ranks[m]), to, round.round))
                    continue;
                const bool silent = ranks[m] == local || plan_.layers.in_windows();
                gathered(round, ranks[m]).add(members[m].cut(region), silent);
                members[m].append(region, pieces);
                ends.push_back(pieces.size());
            }
            sent(round, local, to).add(merger.cut(region, pieces, ends), aggregator(to) == local);
        });
    }

  private:
    template <class Visit>
    void each_region(std::size_t participant, Visit visit) {
        for (RoundSchedule& round : rounds_) {
            for (int to = 0; to < static_cast<int>(plan_.aggregators.size()); ++to) {
                if (plan_.takes_part(participant, to, round.round)) visit(round, to);
            }
        }
    }
    [[nodiscard]] Rank aggregator(int index) const {
        return plan_.aggregators[static_cast<std::size_t>(index)];
    }
    [[nodiscard]] std::size_t node_of(Rank rank) const {
        return static_cast<std::size_t>(job_.nodes.node(rank));
    }
    Flow& sent(RoundSchedule& round, Rank from, int to) const {
        return round.sent[node_of(from) * plan_.aggregators.size() + static_cast<std::size_t>(to)];
    }
    Flow& gathered(RoundSchedule& round, Rank from) const { return round.gathered[node_of(from)]; }

    const Job& job_;
    const Plan& plan_;
    std::vector<RoundSchedule>& rounds_;
    std::vector<std::byte> message_;
    std::vector<std::byte> local_message_;
};

}  // namespace

void Flow::add(const Cut& cut, bool is_own) {
    if (is_own) {
        own += cut.payload;
        own_pieces += cut.pieces;
        return;
    }
    ++senders;
    messages += cut.messages;
    pieces += cut.pieces;
    bytes += cut.payload;
    described += cut.described;
}

std::vector<std::int64_t> sampled_rounds(const Plan& plan, std::int64_t all_pieces, int most,
                                         std::int64_t pieces) {
    const std::int64_t of_round =
        std::max<std::int64_t>(1, all_pieces / std::max<std::int64_t>(1, plan.rounds));
    const std::int64_t count =
        std::max<std::int64_t>(1, std::min({std::int64_t{most}, plan.rounds, pieces / of_round}));
    std::vector<std::int64_t> rounds;
    for (std::int64_t i = 0; i < count; ++i)
        rounds.push_back((2 * i + 1) * plan.rounds / (2 * count));
    return rounds;
}

std::vector<RoundSchedule> schedule_of(const Job& job, const Plan& plan,
                                       const std::vector<std::int64_t>& rounds) {
    std::vector<RoundSchedule> schedule;
    const auto nodes = static_cast<std::size_t>(job.nodes.nodes());
    for (const std::int64_t round : rounds) {
        RoundSchedule one{.round = round};
        for (int i = 0; i < static_cast<int>(plan.aggregators.size()); ++i)
            one.regions.push_back(plan.region(i, round));
        one.sent.resize(nodes * plan.aggregators.size());
        if (plan.layers.two()) one.gathered.resize(nodes);
        schedule.push_back(std::move(one));
    }
    Counter counter(job, plan, schedule);
    if (plan.layers.two()) {
        for (const Rank local : plan.layers.local_aggregators()) counter.count_group(local);
    } else {
        for (Rank rank = 0; rank < job.nodes.size; ++rank) counter.count_rank(rank);
    }
    return schedule;
}

}  // namespace oratorio::count
