// SPDX-License-Identifier: BSD-3-Clause
#include "count/schedule.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "exchange/two_layer/group_data.hpp"
#include "exchange/two_layer/run_joiner.hpp"

namespace oratorio::count {

namespace {

/// Cuts the messages in which a local aggregator joins the pieces of its ranks, as
/// exchange/two_layer/group_data does.
class Merger {
  public:
    Merger(std::span<std::byte> message, Direction direction)
        : table_(message),
          room_(std::ssize(message) - Bytes{sizeof(MessageHead)}),
          shares_most_(direction == Direction::read ? GroupData::shares_max(std::ssize(message))
                                                    : SIZE_MAX),
          reading_(direction == Direction::read) {}

    /// Cuts the messages to one region. `pieces` holds the pieces of one rank after another, each
    /// rank's in the order of the file; `ends` holds the end of each rank's pieces. The call
    /// changes both.
    Cut cut(const Region& region, std::vector<OwnedPiece>& pieces, std::vector<std::size_t>& ends) {
        sort(pieces, ends);
        Cut all;
        at_ = 0;
        taken_ = 0;
        do {
            RunJoiner joiner(table_, region);
            all.payload += fill(joiner, pieces);
            joiner.finish();
            ++all.messages;
            all.pieces += joiner.pieces();
            all.described += static_cast<Bytes>(sizeof(MessageHead) + joiner.bytes());
        } while (at_ < pieces.size());
        return all;
    }

  private:
    /// Fills one message. Returns the bytes of its payload.
    Bytes fill(RunJoiner& joiner, const std::vector<OwnedPiece>& pieces) {
        Bytes payload = 0;
        std::size_t shares = 0;
        std::int64_t last_run = -1;
        while (at_ < pieces.size()) {
            const Bytes room =
                room_ - payload - static_cast<Bytes>(joiner.bytes() + RunJoiner::batch_bytes_max);
            if (room <= 0 || (payload > 0 && splits_piece(joiner, pieces, room))) break;
            const Offset begin = pieces[at_].extent.begin + taken_;
            const bool asked = reading_ && joiner.last().contains(begin);
            const bool continues = pieces[at_].run == last_run && taken_ == 0 && !asked;
            if (!continues && shares == shares_most_) break;
            shares += continues ? 0 : 1;
            const Bytes left = pieces[at_].extent.end - begin;
            const Bytes part = std::min(left, asked ? joiner.last().end - begin : room);
            if (!asked) joiner.add(begin, part);
            payload += asked ? 0 : part;
            // A part of a piece, or a piece that other ranks also request, is a share of its own,
            // so the next piece does not continue it.
            last_run = part == left && !asked ? pieces[at_].run : -1;
            taken_ = part == left ? 0 : taken_ + part;
            at_ += part == left ? 1 : 0;
        }
        return payload;
    }

    /// Returns true if the next piece doesn't fit into the rest of the message, but would take at
    /// most half of an empty one. Pieces that touch count as one.
    [[nodiscard]] bool splits_piece(const RunJoiner& joiner, const std::vector<OwnedPiece>& pieces,
                                    Bytes room) const {
        const Bytes half = (room_ - static_cast<Bytes>(RunJoiner::batch_bytes_max)) / 2;
        const Offset begin = pieces[at_].extent.begin + taken_;
        if (room >= half || begin <= joiner.last().end) return false;
        Offset end = pieces[at_].extent.end;
        for (std::size_t i = at_ + 1; i < pieces.size() && end - begin <= half; ++i) {
            if (pieces[i].extent.begin != end) break;
            end = pieces[i].extent.end;
        }
        return end - begin > room && end - begin <= half;
    }

    /// Merges the sorted pieces of pairs of neighbouring ranks, then of pairs of these lists, until
    /// all pieces are in the order of the file.
    static void sort(std::vector<OwnedPiece>& pieces, std::vector<std::size_t>& ends) {
        const auto before = [](const OwnedPiece& a, const OwnedPiece& b) {
            return a.extent.begin < b.extent.begin;
        };
        while (ends.size() > 1) {
            std::size_t begin = 0;
            std::vector<std::size_t> fewer;
            for (std::size_t i = 0; i < ends.size(); i += 2) {
                const std::size_t end = i + 1 < ends.size() ? ends[i + 1] : ends[i];
                const auto at = [&](std::size_t n) {
                    return pieces.begin() + static_cast<std::ptrdiff_t>(n);
                };
                if (i + 1 < ends.size())
                    std::inplace_merge(at(begin), at(ends[i]), at(end), before);
                fewer.push_back(end);
                begin = end;
            }
            ends = std::move(fewer);
        }
    }

    std::span<std::byte> table_;
    Bytes room_;
    /// Maximum number of shares in a message; a share is a part of the reply that goes to one rank,
    /// as in group_data.
    std::size_t shares_most_;
    bool reading_;
    std::size_t at_ = 0;  ///< index of the next piece to take
    Bytes taken_ = 0;     ///< bytes of that piece that were taken
};

/// Adds the messages of one sender after another to the rounds.
class Counter {
  public:
    Counter(const Job& job, const Plan& plan, std::vector<RoundSchedule>& rounds)
        : job_(job),
          plan_(plan),
          rounds_(rounds),
          message_(static_cast<std::size_t>(plan.message_bytes)),
          local_message_(static_cast<std::size_t>(
              std::max(plan.layers().message_bytes(), Bytes{sizeof(MessageHead)} + 64))) {}

    void count_rank(Rank rank) {
        const std::size_t i = plan_.graph.find(rank);
        Cutter cutter(job_.layout_of(rank), message_, plan_.layers().two());
        each_region(i, [&](RoundSchedule& round, int to) {
            const Region& region = round.regions[static_cast<std::size_t>(to)];
            sent(round, rank, to).add(cutter.cut(region), aggregator(to) == rank);
        });
    }

    /// Counts the messages from `ranks` to their local aggregator `local`, and from `local` to the
    /// aggregators.
    void count_group(Rank local, std::vector<Rank> ranks) {
        std::erase_if(ranks, [&](Rank rank) { return plan_.ranks.hull_of(rank).empty(); });
        if (ranks.empty()) return;
        if (ranks == std::vector{local}) return count_rank(local);
        std::vector<Cutter> members;
        for (const Rank rank : ranks)
            members.emplace_back(job_.layout_of(rank), local_message_, true);
        std::vector<OwnedPiece> pieces;
        std::vector<std::size_t> ends;
        Merger merger(message_, plan_.direction);
        each_region(plan_.graph.find(local), [&](RoundSchedule& round, int to) {
            const Region& region = round.regions[static_cast<std::size_t>(to)];
            pieces.clear();
            ends.clear();
            for (std::size_t m = 0; m < members.size(); ++m) {
                if (!plan_.takes_part(plan_.ranks, plan_.ranks.find(ranks[m]), to, round.round))
                    continue;
                const bool silent = ranks[m] == local || plan_.layers().in_windows();
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

std::vector<int> sampled_nodes(const Nodes& nodes, const Plan& plan, std::int64_t most) {
    const auto all = static_cast<std::size_t>(nodes.nodes());
    if (nodes.size <= most) return std::vector<int>(all, 1);
    std::vector<int> stands_for(all);
    auto walked = std::max<std::int64_t>(1, most * nodes.nodes() / nodes.size);
    for (const Rank rank : plan.aggregators)
        stands_for[static_cast<std::size_t>(nodes.node(rank))] = 1;
    const std::int64_t aggregating = std::ranges::count(stands_for, 1);
    if (aggregating > walked / 2) {
        std::ranges::fill(stands_for, 0);
    } else {
        walked -= aggregating;
    }
    std::vector<std::size_t> others;
    for (std::size_t node = 0; node < all; ++node)
        if (stands_for[node] == 0) others.push_back(node);
    const std::int64_t count = std::ssize(others);
    walked = std::min(walked, count);
    for (std::int64_t i = 0; i < walked; ++i) {
        const std::int64_t first = i * count / walked;
        const std::int64_t last = (i + 1) * count / walked;
        stands_for[others[static_cast<std::size_t>(first + (last - first) / 2)]] =
            static_cast<int>(last - first);
    }
    return stands_for;
}

int in_flight_of(const Plan& plan) {
    const bool keeps = plan.direction == Direction::read && plan.layers().two() &&
                       !plan.layers().in_windows() && plan.layers().group_ranks() > 1;
    return keeps ? std::min(plan.messages_in_flight, kMessagesOfMember) : plan.messages_in_flight;
}

std::vector<RoundSchedule> schedule_of(const Job& job, const Plan& plan, const Sample& sample) {
    std::vector<RoundSchedule> schedule;
    const auto nodes = static_cast<std::size_t>(job.nodes.nodes());
    for (const std::int64_t round : sample.rounds) {
        RoundSchedule one{.round = round};
        for (int i = 0; i < static_cast<int>(plan.aggregators.size()); ++i)
            one.regions.push_back(plan.region(i, round));
        one.sent.resize(nodes * plan.aggregators.size());
        if (plan.layers().two()) one.gathered.resize(nodes);
        schedule.push_back(std::move(one));
    }
    Counter counter(job, plan, schedule);
    std::map<Rank, std::vector<Rank>> groups;
    job.nodes.each([&](Rank rank, NodeSlot slot) {
        if (sample.nodes[static_cast<std::size_t>(slot.node)] == 0) return;
        if (!plan.layers().two()) return counter.count_rank(rank);
        groups[plan.layers().local_aggregator_of(rank)].push_back(rank);
    });
    for (auto& [local, ranks] : groups) counter.count_group(local, std::move(ranks));
    return schedule;
}

}  // namespace oratorio::count
