// SPDX-License-Identifier: BSD-3-Clause
// Plan: the immutable value that says how one access is done: who takes which part of the file, in
// which rounds, through which buffers. Made by a pure function of agreed values, so it is equal on
// all ranks, can be printed (explain) and tested for any number of pretended ranks. Offsets are
// file bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/shared_list.hpp"
#include "plan/access.hpp"
#include "plan/aggregator_list.hpp"
#include "plan/domains.hpp"
#include "plan/graph.hpp"
#include "plan/layers.hpp"
#include "plan/model.hpp"
#include "plan/options.hpp"
#include "plan/order.hpp"

namespace oratorio {

struct Method;
struct Plan;

/// The (round, aggregator) pairs whose regions touch a rank's hull, in the order of rounds; a
/// rank's own region is the last of its round, so that ranks don't all talk to the same aggregator
/// at once and nobody waits for itself with data for others in hand.
class RankRegions {
  public:
    /// Those that participant `i` of `graph` (its size() for nobody) takes part in, in the order
    /// of `rank`. The plan owns the graph and outlives this.
    RankRegions(const Plan& plan, Rank rank, const Graph& graph, std::size_t i);
    [[nodiscard]] bool at_end() const;
    [[nodiscard]] std::int64_t round() const { return round_; }
    [[nodiscard]] int aggregator() const;
    [[nodiscard]] Region region() const;
    void advance();

  private:
    void next();
    void skip_untouched();
    const Plan* plan_;
    const Graph* graph_;
    std::size_t participant_;
    int first_ = 0;
    std::int64_t round_ = 0;
    int turn_ = 0;
};

/// Rounds of one aggregator that can be under way at once. Memory that a node shares and reports of
/// failures have so many places.
inline constexpr int kSlotsMost = 8;

/// Byte ranges, one per block of the file, that the storage is told of before they are accessed.
struct Ahead {
    int ranges = 0;   ///< accessed at once, and twice as many told of; 0: none
    Bytes block = 0;  ///< unless the storage has blocks of its own
};

/// One method's candidacy, for explain.
struct Candidate {
    std::string_view name;
    bool applies = false;
    double seconds = 0;       ///< estimated; meaningless when it doesn't apply
    std::string_view reason;  ///< why it doesn't apply, or why `auto` leaves it out; else ""
};

struct Plan {
    const Method* method = nullptr;
    std::string_view why;  ///< how the method was chosen
    Direction direction = Direction::read;
    bool collective = false;
    Extent hull;                ///< of all participants
    Bytes bytes = 0;            ///< of all participants
    bool covered = false;       ///< the pieces tile the hull exactly once: no holes, no overlaps
    bool ask_contents = false;  ///< reads: aggregators ask what a round will hold before they load
    bool shared_loads = false;  ///< whichever rank is free loads a round, not its aggregator
    bool atomic = false;        ///< each rank locks its hull around its access
    bool thin = false;          ///< ranks tell each other their edges before the first round
    bool sparse = false;        ///< because they were asked to, and they talk by messages
    bool told = false;          ///< nor do they all agree at the end: each is told by its
                                ///< aggregators (run/ending.hpp)
    bool fixed = false;         ///< an aggregator or a local aggregator has no data: it wouldn't
                                ///< know how far the others went further on
    int ranks_with_data = 0;    ///< who takes part
    Graph ranks;                ///< those with data; of an access without exchange only the rank
    Graph graph;                ///< who talks to aggregators: those ranks, or local aggregators
                                ///< with the hulls of their groups
    Layers layers;
    FileDomains domains;
    AggregatorList aggregators;  ///< owner of file domain i
    Bytes slot_bytes = 0;        ///< collective buffer bytes per slot
    int slots = 1;
    std::int64_t rounds = 0;
    RoundOrder order;  ///< which part of a domain comes in which round
    Ahead ahead;
    int ranks_at_once = 0;   ///< at the storage; 0: all
    AgentFacts agents;       ///< of an access that is shipped to agents; else none
    int pieces_at_once = 0;  ///< of a rank, where it moves them by themselves
    Bytes message_bytes = 0;
    int messages_in_flight = 1;
    SharedList<Candidate> candidates;
    CostTerms terms;  ///< estimated, where ranks send messages; else nothing

    /// What the cost model takes the access for with this method: until the last rank is done, or
    /// where `collective` is false for this rank, while the others of its machine do as much.
    [[nodiscard]] double seconds() const;
    /// A write through buffers some of whose bytes nobody gives: what was given is marked.
    [[nodiscard]] bool keeps_holes() const;
    /// Buffers of one aggregator, all slots and their masks.
    [[nodiscard]] Bytes buffer_bytes() const {
        return slot_bytes * slots * (keeps_holes() ? 2 : 1);
    }
    /// Its rounds shall come in the order that a rank finds by asking the system.
    [[nodiscard]] bool asks_places() const;
    /// Between rounds ranks talk through the host MPI.
    [[nodiscard]] bool sends_messages() const;
    /// Memory that each node shares for it.
    [[nodiscard]] Bytes node_bytes() const;
    /// What `rank` needs of a plan that all ranks made: it goes through it as through the whole,
    /// and explain tells the same of it. Its own regions, who is in those it aggregates, its local
    /// aggregator or its group. Where ranks share collective buffers that is the whole: they are on
    /// one node. O(ranks) time; what it keeps doesn't grow with the ranks that it doesn't deal
    /// with.
    [[nodiscard]] Plan only(Rank rank, const Nodes& nodes) const;
    /// The same plan, `by` bytes further on in the file.
    [[nodiscard]] Plan moved(Offset by) const;
    /// Index of `rank` among the aggregators, -1 when it isn't one.
    [[nodiscard]] int aggregator_index(Rank rank) const { return aggregators.index_of(rank); }
    /// Index of the aggregator that `rank` begins each round with; they follow in their order. One
    /// behind its own, which is the last, or where any rank may load its own: where ranks' data
    /// lies apart nobody need touch another's then. 0 when there is none.
    [[nodiscard]] int first_aggregator(Rank rank) const;
    /// Region that aggregator `index` handles in `round`; may be empty.
    [[nodiscard]] Region region(int index, std::int64_t round) const {
        return domains.region(index, order.part(index, round), slot_bytes);
    }
    /// visit(i) for each participant of that round of that aggregator, until one says false.
    /// Whether none did. A participant is a rank that may have data in the round's region.
    template <class Visit>
    bool each_participant(int index, std::int64_t round, Visit visit) const {
        return graph.each_touching(region(index, round), [&](std::size_t i) {
            return !graph.has_edge(i, index, round) || visit(i);
        });
    }
    [[nodiscard]] std::int64_t count_participants(int index, std::int64_t round) const;
    [[nodiscard]] bool has_participants(int index, std::int64_t round) const;
    /// Whether participant i of the graph (its size() for none) is one of that round.
    [[nodiscard]] bool takes_part(std::size_t i, int index, std::int64_t round) const {
        return takes_part(graph, i, index, round);
    }
    [[nodiscard]] bool takes_part(const Graph& of, std::size_t i, int index,
                                  std::int64_t round) const;
    /// The first of the rounds `round`, `round` + `step`, ... of that aggregator that participant i
    /// takes part in; at or behind all rounds when there is none.
    [[nodiscard]] std::int64_t next_round(std::size_t i, int index, std::int64_t round,
                                          int step = 1) const;
    /// All regions that a rank may have data in.
    [[nodiscard]] RankRegions regions_of(Rank rank) const {
        return {*this, rank, graph, graph.find(rank)};
    }
    [[nodiscard]] RankRegions no_regions() const { return {*this, 0, graph, graph.size()}; }
};

/// As the hints say.
[[nodiscard]] Ahead ahead_of(const PlanOptions& options);

/// No message is made smaller.
inline constexpr Bytes kMessageMin = 4096;
/// Largest message that a plan with these options may use: never so large that messages outgrow the
/// collective buffer they feed.
[[nodiscard]] Bytes message_bytes_of(const PlanOptions& options);

/// Pieces of a message that isn't packed, where others have at most so many bytes. What is written
/// down of a piece, and what hosts keep of it meanwhile, is less than 64 bytes, so that all of it
/// takes no more than such a message.
[[nodiscard]] constexpr std::int64_t message_pieces_of(Bytes message_bytes) {
    return message_bytes / 64;
}

/// Pure. For a collective access: plans of all ranks are equal, but that without aggregators each
/// is `rank`'s own.
[[nodiscard]] Plan make_plan(Direction direction, const Agreed<AllSummaries>& summaries,
                             const Agreed<const Nodes&>& nodes, const Agreed<Terms>& terms,
                             const Agreed<NodeSharing>& sharing, Rank rank);
/// Pure. The same, and of that what `rank` needs (Plan::only). The whole is never there: memory for
/// what is kept, for the aggregators' numbers and for some groups at a time.
[[nodiscard]] Plan make_plan_for(Rank rank, Direction direction,
                                 const Agreed<AllSummaries>& summaries,
                                 const Agreed<const Nodes&>& nodes, const Agreed<Terms>& terms,
                                 const Agreed<NodeSharing>& sharing);
/// Pure. For an independent access: a plan with one participant.
[[nodiscard]] Plan make_own_plan(Direction direction, Rank rank, const AccessSummary& mine,
                                 const Terms& terms);

/// The plan as text: method and why, domains, aggregators, rounds, buffers, candidates with costs,
/// and which of them would be cheaper but are left out. Deterministic.
[[nodiscard]] std::string explain(const Plan& plan);
/// Equal for plans that differ only in where in the file they lie, and in what depends on that.
[[nodiscard]] std::string likeness(const Plan& plan);

}  // namespace oratorio
