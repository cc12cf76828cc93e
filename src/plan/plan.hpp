// SPDX-License-Identifier: BSD-3-Clause
// Plan: the immutable value that says how one access is done: which rank takes which part of the
// file, in which rounds, through which buffers. Pure functions make plans; those of collective
// accesses use agreed values only. So with aggregators all ranks have the same plan, or their
// slices of it; without aggregators each rank plans for its own data. A plan can be printed
// (explain), and can be tested for any number of imaginary ranks. Offsets are file bytes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "comm/shared_list.hpp"
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
struct Trial;

/// The (round, aggregator) pairs with regions that touch a participant's hull, in the order of
/// rounds. Within a round, ranks begin at different aggregators, so that they don't all send to the
/// same one at once. A rank's own region is the last of its round, so that no aggregator waits for
/// its own data while it holds data for others; if any rank may load rounds, its own region is the
/// first.
class RankRegions {
  public:
    /// Makes the pairs of participant `i` of `graph`, from first_aggregator(`rank`) on; no pairs if
    /// `i` is graph.size(). REQUIRES: the plan owns the graph and outlives the object.
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

/// Maximum number of rounds of one aggregator in progress at once. Shared memory of a node and
/// reports of failures have room for this many.
inline constexpr int kSlotsMost = 8;

/// Read-ahead: byte ranges, one per block of the file, that are announced to the storage before
/// they are accessed.
struct Ahead {
    int ranges = 0;   ///< ranges accessed at once; twice as many are announced; 0: none
    Bytes block = 0;  ///< bytes of a block, unless the storage has blocks of its own
};

/// One method as a candidate, for explain.
struct Candidate {
    std::string_view name;
    bool applies = false;
    double seconds = 0;       ///< estimated; meaningless if the method doesn't apply
    std::string_view reason;  ///< why it doesn't apply, or why `auto` leaves it out; else ""
};

/// The data of all ranks that take part in an access, for explain.
struct AccessTotals {
    Bytes bytes = 0;
    Bytes span = 0;  ///< bytes from the first byte in the file to the last
    std::int64_t pieces = 0;
    std::int64_t memory_pieces = 0;
    int ranks = 0;  ///< ranks with data
};

/// Which rank loads a round of a read, and which bytes of it.
enum class Loads {
    by_aggregator,  ///< the round's aggregator, the whole region
    after_asking,   ///< the aggregator, only what the ranks want: it first asks them
    by_any_rank,    ///< any free rank, the whole region
};

/// Which ranks exchange data with an aggregator in a round.
enum class Partners {
    by_hull,    ///< those whose hulls touch the region
    by_data,    ///< those with data there: the ranks report their edges before the first round
    requested,  ///< like by_data, but requested by a hint or the method; data goes in messages
};

/// How a rank learns that an access has ended (engine/completion).
enum class Ending {
    agreed,    ///< all ranks agree on the outcome
    reported,  ///< each rank gets the outcome from the aggregators that it has data with
    late,      ///< each rank returns when its data has arrived; all agree before their next access
};

/// What an aggregator with several buffers overlaps its storage calls with, and by what means.
enum class Overlap {
    none,         ///< nothing: there is one buffer, or the ranks load the buffers themselves
    other_ranks,  ///< other ranks of the node move data to or from its other buffers
    io_thread,    ///< the next exchange: its I/O thread makes the storage calls
    store,        ///< the next exchange: the store's requests progress by themselves
};

/// Each rank makes the storage calls for its own data. The plan has one participant (none without
/// data), which is its own aggregator.
struct OwnCalls {
    Ahead ahead;
    int ranks_at_once = 0;   ///< ranks at the storage at once; 0: all
    int pieces_at_once = 0;  ///< pieces outstanding at once; 0: ranges are moved, not pieces
    Ending ending = Ending::agreed;
};

/// Two-phase I/O: the ranks exchange data with aggregators, which make the storage calls.
struct TwoPhase {
    Layers layers;
    Partners partners = Partners::by_hull;
    Ending ending = Ending::agreed;
    int switches = 1;  ///< number of network switches that the ranks' nodes are on
    /// Agents that combine reads announce the next blocks to the storage.
    Ahead ahead;
    /// False if the plan can't be used again at another offset: an aggregator or local aggregator
    /// has no data, so it can't know how far the others have advanced.
    bool shiftable = true;
};

/// Data shipping in which the agents make the storage calls of each request by itself. The plan has
/// one participant, as with OwnCalls.
struct Shipped {
    AgentFacts agents;
    /// Why the agents don't combine the requests of all ranks; "" if the method never does.
    std::string_view uncombined;
};

/// The plan of one access. Its invariants, which tests/support/check_plan.hpp checks:
/// - `route` fits the method: TwoPhase if it is aggregated, Shipped if agents store, else OwnCalls.
/// - Without data there are no aggregators and no rounds. With data there is at least one of each,
///   and there are no more slots than rounds.
/// - Only reads through buffers have `loads` other than by_aggregator. Any rank may load only where
///   the exchange allows it.
/// - Storage calls overlap something if and only if aggregators have several buffers and make
///   all storage calls for them.
/// - Two-phase I/O is collective and never atomic.
/// - Ranks with local aggregators don't report edges: with two layers, Partners is by_hull.
/// - Only collective reads in which all ranks make their own calls at once have Ending::late.
/// - Partners::requested needs an exchange by messages, and Ending::reported needs
///   Partners::requested.
/// - Read-ahead is for methods that have it and for reads that agents combine. With sliced domains
///   there is none.
/// - Only methods that move single pieces limit the number of outstanding pieces.
struct Plan {
    // What is accessed, and how the method was chosen.
    const Method* method = nullptr;
    const Method* asked = nullptr;  ///< the method that a hint names, which may not apply
    std::string_view why;           ///< how the method was chosen
    SharedList<Candidate> candidates;
    CostTerms terms;  ///< estimates for a method with messages; else empty
    /// The trial that picked the arm (plan/learning); null if the access isn't measured.
    std::shared_ptr<const Trial> trial;
    Direction direction = Direction::read;
    bool collective = false;
    bool atomic = false;      ///< each rank locks its hull around its access
    Extent hull;              ///< hull of the data of all participants
    Bytes bytes = 0;          ///< data bytes of all participants
    AccessTotals all;         ///< totals of all ranks, even if each rank plans for its own data
    bool covered = false;     ///< the pieces are known to tile the hull exactly once: no holes, no
                              ///< overlaps; always false for reads through aggregators
    int ranks_with_data = 0;  ///< number of ranks that take part with data

    // Which rank handles which part of the file in which round, and in which buffer.
    Graph ranks;  ///< the ranks with data; only this rank if there is no exchange
    Graph graph;  ///< the ranks that exchange with aggregators: those with data, or local
                  ///< aggregators with the hulls of their groups
    FileDomains domains;
    AggregatorList aggregators;  ///< owner of file domain i
    Bytes slot_bytes = 0;        ///< collective buffer bytes per slot
    int slots = 1;
    std::int64_t rounds = 0;
    RoundOrder order;  ///< which part of a domain each round handles
    Loads loads = Loads::by_aggregator;
    Overlap overlap = Overlap::none;

    // How data moves between the ranks and the storage, and the limits of messages.
    std::variant<OwnCalls, TwoPhase, Shipped> route;
    Bytes message_bytes = 0;
    int messages_in_flight = 1;

    [[nodiscard]] bool asks_contents() const { return loads == Loads::after_asking; }
    [[nodiscard]] bool any_rank_loads() const { return loads == Loads::by_any_rank; }
    /// REQUIRES: the route is OwnCalls.
    [[nodiscard]] const OwnCalls& own_calls() const { return std::get<OwnCalls>(route); }
    /// The next five functions return a member of `route`. For a route without that member, they
    /// return one layer, by_hull, agreed, true, and 0 (no limit).
    [[nodiscard]] const Layers& layers() const;
    [[nodiscard]] Partners partners() const;
    [[nodiscard]] Ending ending() const;
    [[nodiscard]] bool shiftable() const;
    [[nodiscard]] int ranks_at_once() const;

    /// Returns the estimated time of the access with this method, until the last rank is done. If
    /// `collective` is false, it is the time for this rank while the other ranks of its machine do
    /// the same.
    [[nodiscard]] double seconds() const;
    /// Returns true for a write through buffers whose data isn't known to cover the hull exactly
    /// once. The bytes that ranks write are then marked in a write mask.
    [[nodiscard]] bool keeps_holes() const;
    /// Returns the bytes of one aggregator's buffers: all slots and their masks.
    [[nodiscard]] Bytes buffer_bytes() const {
        return slot_bytes * slots * (keeps_holes() ? 2 : 1);
    }
    /// Returns true if the rounds should be ordered by the place on the device, which a rank finds
    /// by asking the system: if the method wants that order and kOrderedRoundsMost permits it.
    [[nodiscard]] bool asks_places() const;
    /// Returns true if ranks send messages through the host MPI to move data or to pass turns.
    [[nodiscard]] bool sends_messages() const;
    /// Returns the bytes of shared memory that each node needs for the plan.
    [[nodiscard]] Bytes node_bytes() const;
    /// Returns the slice of the plan that `rank` needs. It gives the rank the same regions and the
    /// same explain() as the whole plan. It has the rank's own regions, the participants of regions
    /// that the rank aggregates, and its local aggregator or its group. If ranks share collective
    /// buffers it is the whole plan: they are on one node. The size of the slice doesn't grow with
    /// ranks that `rank` doesn't deal with.
    [[nodiscard]] Plan for_rank(Rank rank, const Nodes& nodes) const;
    /// Returns true if the plan is also right for the same data `by` bytes later in the file.
    [[nodiscard]] bool can_move(Offset by) const;
    /// Returns the same plan, shifted by `by` bytes in the file.
    [[nodiscard]] Plan moved(Offset by) const;
    /// Returns the index of `rank` among the aggregators, -1 if it isn't one.
    [[nodiscard]] int aggregator_index(Rank rank) const { return aggregators.index_of(rank); }
    /// Returns the index of the aggregator with which `rank` begins each round; the others follow
    /// in their order. A rank that is an aggregator begins with the aggregator after itself, so
    /// that its own index comes last. If any rank may load, it begins with its own index, so that
    /// ranks with separate data need not touch each other's. Returns 0 if there are no aggregators.
    [[nodiscard]] int first_aggregator(Rank rank) const;
    /// Returns the region that aggregator `index` handles in `round`; may be empty.
    [[nodiscard]] Region region(int index, std::int64_t round) const {
        return domains.region(index, order.part(index, round), slot_bytes);
    }
    /// Calls visit(i) for each participant i of the graph that takes part in that round of that
    /// aggregator, because it may have data in the region. Stops when a call returns false; returns
    /// true if none did.
    template <class Visit>
    bool each_participant(int index, std::int64_t round, Visit visit) const {
        return graph.each_touching(region(index, round), [&](std::size_t i) {
            return !graph.has_edge(i, index, round) || visit(i);
        });
    }
    [[nodiscard]] std::int64_t count_participants(int index, std::int64_t round) const;
    [[nodiscard]] bool has_participants(int index, std::int64_t round) const;
    /// Returns true if participant i of the graph (its size() for none) takes part in that round.
    [[nodiscard]] bool takes_part(std::size_t i, int index, std::int64_t round) const {
        return takes_part(graph, i, index, round);
    }
    [[nodiscard]] bool takes_part(const Graph& of, std::size_t i, int index,
                                  std::int64_t round) const;
    /// Returns the first of the rounds `round`, `round` + `step`, ... of that aggregator in which
    /// participant i takes part; `rounds` or more if there is none.
    [[nodiscard]] std::int64_t next_round(std::size_t i, int index, std::int64_t round,
                                          int step = 1) const;
    /// Returns the regions of `rank` as a participant of the graph; none if it isn't one.
    [[nodiscard]] RankRegions regions_of(Rank rank) const {
        return {*this, rank, graph, graph.find(rank)};
    }
    [[nodiscard]] RankRegions no_regions() const { return {*this, 0, graph, graph.size()}; }
};

/// Returns the read-ahead that the hints request.
[[nodiscard]] Ahead ahead_of(const PlanOptions& options);

/// The smallest value that message_bytes_of() returns.
inline constexpr Bytes kMessageMin = 4096;
/// Returns the maximum size of a message in a plan with these options: that of the hint, but at
/// most an eighth of cb_buffer_size and at least kMessageMin.
[[nodiscard]] Bytes message_bytes_of(const PlanOptions& options);

/// Returns the maximum number of pieces in a message that isn't packed. The description of a piece,
/// and the memory that the host MPI keeps for it during the transfer, take less than 64 bytes, so
/// all pieces together take no more memory than a packed message of `message_bytes`.
[[nodiscard]] constexpr std::int64_t message_pieces_of(Bytes message_bytes) {
    return message_bytes / 64;
}

/// Makes the plan of a collective access. With aggregators, the plans of all ranks are equal;
/// without aggregators, it is the plan of `rank` for its own data. Pure.
[[nodiscard]] Plan make_plan(Direction direction, const Agreed<AllSummaries>& summaries,
                             const Agreed<const Nodes&>& nodes, const Agreed<PlanConfig>& terms,
                             const Agreed<NodeSharing>& sharing, Rank rank);
/// Makes the part of the plan of make_plan() that `rank` needs (Plan::for_rank), without ever
/// making the whole plan. It takes memory for the part that is kept, for the list of all
/// aggregators, and for some groups at a time. Pure.
[[nodiscard]] Plan make_plan_for(Rank rank, Direction direction,
                                 const Agreed<AllSummaries>& summaries,
                                 const Agreed<const Nodes&>& nodes, const Agreed<PlanConfig>& terms,
                                 const Agreed<NodeSharing>& sharing);
/// Makes the plan of an independent access, with one participant. Pure.
[[nodiscard]] Plan make_own_plan(Direction direction, Rank rank, const AccessSummary& mine,
                                 const PlanConfig& terms);

/// A line of explain between its first line and its candidates.
struct PlanFact {
    std::string_view key;
    std::string text;
};
/// Returns the lines of explain between its first line and its candidates.
[[nodiscard]] std::vector<PlanFact> facts_of(const Plan& plan);
/// Returns the lines as text, with the keys in a column of their own.
[[nodiscard]] std::string text_of(std::span<const PlanFact> facts);
/// Describes the plan as text: method and reason, domains, aggregators, rounds, buffers, candidates
/// with costs, and cheaper ones that are left out. Deterministic.
[[nodiscard]] std::string explain(const Plan& plan);
/// Returns the text of explain() without the file range, estimates, learned times and candidates.
/// Plans that differ only in their place in the file have equal fingerprints.
[[nodiscard]] std::string fingerprint(const Plan& plan);

}  // namespace oratorio
