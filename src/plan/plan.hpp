// Plan: the immutable value that says how one access is done: who takes which part of the file, in
// which rounds, through which buffers. Made by a pure function of agreed values, so it is equal on
// all ranks, can be printed (explain) and tested for any number of pretended ranks. Offsets are
// file bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/access.hpp"
#include "plan/domains.hpp"
#include "plan/options.hpp"

namespace oratorio {

struct Method;

/// Rounds of one aggregator that can be under way at once. Memory that a node shares and reports of
/// failures have so many places.
inline constexpr int kSlotsMost = 8;

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
    /// Ranks with data or an aggregator's role in the exchange, and each one's hull (parallel
    /// vectors). Without exchange (independent access) only the rank itself.
    std::vector<Rank> participants;
    std::vector<Extent> hulls;
    FileDomains domains;
    std::vector<Rank> aggregators;  ///< owner of file domain i
    Bytes slot_bytes = 0;           ///< collective buffer bytes per slot
    int slots = 1;
    std::int64_t rounds = 0;
    Bytes message_bytes = 0;
    int messages_in_flight = 1;
    std::vector<Candidate> candidates;

    /// A write through buffers some of whose bytes nobody gives: what was given is marked.
    [[nodiscard]] bool keeps_holes() const;
    /// Buffers of one aggregator, all slots and their masks.
    [[nodiscard]] Bytes buffer_bytes() const {
        return slot_bytes * slots * (keeps_holes() ? 2 : 1);
    }
    /// The same plan, `by` bytes further on in the file.
    [[nodiscard]] Plan moved(Offset by) const;
    /// Index of `rank` among the aggregators, -1 when it isn't one.
    [[nodiscard]] int aggregator_index(Rank rank) const;
    /// Hull of a participant; empty for a rank without data.
    [[nodiscard]] Extent hull_of(Rank rank) const;
    /// Region that aggregator `index` handles in `round`; may be empty.
    [[nodiscard]] Region region(int index, std::int64_t round) const {
        return domains.region(index, round, slot_bytes);
    }
};

/// Largest message that a plan with these options may use: never so large that messages outgrow the
/// collective buffer they feed.
[[nodiscard]] Bytes message_bytes_of(const PlanOptions& options);

/// Pure: equal arguments give equal plans. For a collective access.
[[nodiscard]] Plan make_plan(Direction direction, const Agreed<Summaries>& summaries,
                             const Topology& topology, const Terms& terms,
                             const NodeSharing& sharing);
/// Pure. For an independent access: a plan with one participant.
[[nodiscard]] Plan make_own_plan(Direction direction, Rank rank, const AccessSummary& mine,
                                 const Terms& terms);

/// The plan as text: method and why, domains, aggregators, rounds, buffers, candidates with costs.
/// Deterministic.
[[nodiscard]] std::string explain(const Plan& plan);

}  // namespace oratorio
