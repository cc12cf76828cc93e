// Methods: named rows, each a choice of parts. A new idea is a new row (or a new part and a row).
// Every row answers: does it apply (else why not), and what would it cost. Names and sources:
// docs/methods.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/plan.hpp"

namespace oratorio {

/// The agreed facts a choice is made from. Equal on all ranks for a collective access.
struct Situation {
    Direction direction = Direction::read;
    bool collective = false;
    int ranks = 1;
    int ranks_with_data = 0;
    Extent hull;
    Bytes bytes = 0;
    Bytes bytes_max = 0;  ///< of one rank
    std::int64_t pieces = 0;
    std::int64_t memory_pieces = 0;
    bool covered = false;
    bool interleaved = false;  ///< some rank's file layout isn't monotonic
    bool storable = true;      ///< some rank can be an aggregator
    bool one_node = true;
    int cores = 1;              ///< of the node
    bool large_layout = false;  ///< flag_large_layout of some rank
    Bytes period = 0;           ///< as in AccessSummary, when all ranks agree; else one part
    std::int64_t parts = 1;
    const PlanOptions* options = nullptr;
};

enum class DomainKind {
    none,
    even,
    cyclic,
    stripes,
    sliced,  ///< even, and a slice of every part where the data is parts that interleave in memory
};

struct Method {
    std::string_view name;
    std::string_view summary;
    DomainKind domains = DomainKind::none;
    ExchangeKind exchange = ExchangeKind::none;
    StorageCalls storage = StorageCalls::buffered;
    int slots = 1;           ///< 0 = as many as make up kSharedSlots on the node
    bool automatic = false;  ///< a candidate of `auto`
    /// "" when it applies, else the reason why not.
    std::string_view (*refuses)(const Situation&) = nullptr;
    /// Estimated seconds, by the constants in methods.cpp.
    double (*seconds)(const Situation&) = nullptr;
    int aggregators_max = 0;  ///< 0 = as many as plan/aggregators gives
    bool io_thread = false;   ///< storage calls are made by a thread beside

    [[nodiscard]] bool aggregated() const { return exchange != ExchangeKind::none; }
    /// Aggregators and participants work in memory that a node shares.
    [[nodiscard]] bool on_node() const { return aggregated() && exchange != ExchangeKind::peer; }
};

/// A slot of a shared collective buffer, unless hints say otherwise: it stays in a core's own
/// cache.
inline constexpr Bytes kSharedSlotBytes = 512 << 10;
/// Aggregators of a node that shares buffers, unless hints say otherwise: with many, ranks seldom
/// wait for each other, and all slots together still fit the cache that the cores share.
inline constexpr int kSharedAggregators = 8;
/// Slots of all of them together; each has at least one, and with direct I/O two, so that its
/// storage is never idle.
inline constexpr int kSharedSlots = 8;
/// The same where any rank may load: the more are open, the longer a rank works before it rests.
inline constexpr int kSharedLoadSlots = 16;
/// What list access packs of fine-grained memory at a time.
inline constexpr Bytes kStagingBytes = 512 << 10;
/// What is mapped of a file at a time.
inline constexpr Bytes kMapWindowBytes = 4 << 20;
inline constexpr Bytes kMapWindowAlignment = 2 << 20;  // as large as the page cache's folios get

/// In order of preference when costs tie.
[[nodiscard]] std::span<const Method> methods();
/// nullptr when there is none of that name.
[[nodiscard]] const Method* find_method(std::string_view name);

struct Choice {
    const Method* method = nullptr;
    std::string_view why;
    std::vector<Candidate> candidates;
};

/// Pure: the method forced by name or by the cb/ds hints if it applies, else the cheapest automatic
/// one.
[[nodiscard]] Choice choose_method(const Situation& situation);

}  // namespace oratorio
