// SPDX-License-Identifier: BSD-3-Clause
// Methods: the table of methods by name (two-phase, data sieving, list I/O, data shipping and
// others). A method is a row of the table that chooses one part of each kind. A new method is a new
// row, or a new part and a row. The parts of a row decide whether it applies, and estimate its
// cost. Names and sources: docs/user/methods.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/parts.hpp"
#include "plan/plan.hpp"

namespace oratorio {

/// How many ranks aggregate and with how many buffers, in which order rounds are handled, and
/// whether ranks take turns at the storage.
struct Schedule {
    /// Value of `slots`: the aggregators divide kSharedSlots or kSharedLoadSlots between them.
    static constexpr int of_node = 0;
    int slots = 1;               ///< sub-buffers of an aggregator
    int aggregators_max = 0;     ///< limit; 0 = the number from plan/aggregators
    bool all_aggregate = false;  ///< every rank is an aggregator, unless hints say otherwise
    bool slot_is_block = false;  ///< a slot holds at most one block of the file domain
    OrderMaker order = nullptr;  ///< makes the order of rounds; null: ascending
    bool asks_places = false;    ///< the order depends on where the file lies on the device
    bool in_turns = false;       ///< ranks wait until others have finished at the storage
    Bytes buffer = 0;  ///< collective buffer unless cb_buffer_size is set; 0: the hint's default
};

struct Method {
    std::string_view name;
    std::string_view summary;
    RequestKind request = RequestKind::cursor;
    DomainsKind domains = DomainsKind::even;
    GraphKind graph = GraphKind::dense;
    ExchangeKind exchange = ExchangeKind::none;
    LayersKind layers = LayersKind::one;
    Schedule schedule = {};
    StorageKind storage = StorageKind::buffered;
    ReadAheadKind read_ahead = ReadAheadKind::none;
    /// `auto` may choose the method by its estimate for jobs of at least this many ranks; 0 =
    /// never.
    int auto_ranks = 0;
    /// The variant of the method in which agents combine the requests of all ranks. It has the same
    /// name, and replaces this row in every access to which it applies. Null: there is none.
    const Method* combined = nullptr;

    [[nodiscard]] const RequestPart& request_part() const { return part_of(request); }
    [[nodiscard]] const GraphPart& graph_part() const { return part_of(graph); }
    [[nodiscard]] const ExchangePart& exchange_part() const { return part_of(exchange); }
    [[nodiscard]] const LayersPart& layers_part() const { return part_of(layers); }
    [[nodiscard]] const StoragePart& storage_part() const { return part_of(storage); }
    [[nodiscard]] const ReadAheadPart& read_ahead_part() const { return part_of(read_ahead); }
    /// Returns the method's file domains, or those that a hint selects in their place. The hint has
    /// no effect on a method without messages or with agents.
    [[nodiscard]] const DomainsPart& domains_part(const PlanOptions& options) const;
    [[nodiscard]] bool aggregated() const { return exchange_part().aggregated; }
    [[nodiscard]] bool on_node() const { return exchange_part().on_node; }
    /// Returns "" if the method applies, else the reason why it doesn't.
    [[nodiscard]] std::string_view refuses(const PlanInputs& inputs) const;
    /// Returns the time in seconds that the cost model estimates (plan/estimate).
    [[nodiscard]] double seconds(const PlanInputs& inputs) const;
    /// Returns true if each group's data goes through windows in shared memory, because the ranks
    /// of a node can share memory and the data is dense. Written windows are searched byte by byte,
    /// so writes need denser data.
    [[nodiscard]] bool has_windows(const PlanInputs& inputs) const;
    /// Returns how much ranks wait for each other: 0 not at all, 1 within their node, 2 for
    /// messages.
    [[nodiscard]] int waiting() const;
};

/// The size of a slot of a shared collective buffer, unless hints say otherwise. It fits a core's
/// own cache.
inline constexpr Bytes kSharedSlotBytes = 512 << 10;
/// The size of such a slot where a storage call asks a server, and costs more than its bytes in a
/// small slot.
inline constexpr Bytes kServerSlotBytes = 4 << 20;
/// Returns the one of the two sizes that suits the file system.
[[nodiscard]] constexpr Bytes shared_slot_bytes(const Costs& costs) {
    constexpr double kDearCall = 64 << 10;  // a call costs as much as that many bytes
    return costs.write_call > kDearCall * costs.write_byte ? kServerSlotBytes : kSharedSlotBytes;
}
/// The number of aggregators on a node that shares buffers, unless hints say otherwise. With many,
/// ranks seldom wait for each other, and all slots together still fit the cache that the cores
/// share.
inline constexpr int kSharedAggregators = 8;
/// The number of slots of all aggregators of a node that shares buffers. Each aggregator has at
/// least one slot; with direct I/O at least two, so that its storage is never idle.
inline constexpr int kSharedSlots = 8;
/// The number of slots of all aggregators of a node where any rank may load a round. It exceeds
/// kSharedSlots, because with more open rounds a rank works longer before it waits.
inline constexpr int kSharedLoadSlots = 16;
/// The cost model may choose two layers for jobs of at least this many ranks. With fewer, an
/// aggregator gets too few messages for a second copy of the data to pay (Kang et al. 2019, figure
/// 3), unless measured times say that it does.
inline constexpr int kLayersPayFrom = 512;
/// Bytes that list I/O moves at a time through a bounce buffer, if memory pieces are small.
inline constexpr Bytes kStagingBytes = 512 << 10;
/// Bytes of a file that are mapped at a time.
inline constexpr Bytes kMapWindowBytes = 4 << 20;
inline constexpr Bytes kMapWindowAlignment = 2 << 20;  // the largest folios of the page cache

/// Returns the table, in order of preference when costs are equal.
[[nodiscard]] std::span<const Method> methods();
/// Returns the method of that name, or nullptr if there is none.
[[nodiscard]] const Method* find_method(std::string_view name);

/// Returns true if writes without aggregators may use data sieving: read a range, fill in the data,
/// and write it back.
[[nodiscard]] bool sieves_writes(const PlanOptions& options);

/// Returns true if the method requested by name needs agents (data shipping).
[[nodiscard]] bool asks_for_agents(const PlanOptions& options);

/// Returns the default size of an aggregator's collective buffer in bytes: that of the requested
/// method if it has one, else that of all methods.
[[nodiscard]] Bytes default_buffer(const PlanOptions& options);

/// Returns the maximum number of slots of a collective access with messages.
[[nodiscard]] int slots_most(const PlanOptions& options);

/// Returns true if a method name or a hint requests a sparse graph.
[[nodiscard]] bool asks_for_edges(const PlanOptions& options);

/// Returns true if a method name or a hint requests one aggregator per storage target.
[[nodiscard]] bool asks_for_targets(const PlanOptions& options);

/// Returns true if the method of a collective access may need local aggregators and their memory,
/// also to try it. If the requested method doesn't apply, the method is chosen as without a
/// request, but no other method is tried.
[[nodiscard]] bool may_have_layers(const PlanOptions& options, const Nodes& nodes);

/// Returns true if the method applies and `auto` may choose it.
[[nodiscard]] bool may_choose(const Method& method, const PlanInputs& inputs);

/// Returns true if the method applies and `auto` may try it, to choose it by measured times. Those
/// are the methods that it may choose, and with fewer than kLayersPayFrom ranks two layers through
/// windows.
[[nodiscard]] bool may_try(const Method& method, const PlanInputs& inputs);

struct Choice {
    const Method* method = nullptr;
    std::string_view why;
    std::vector<Candidate> candidates;
    CostTerms terms;  ///< terms of the chosen method, if it uses messages
};

/// Chooses the method requested by name if it applies, else the cheapest that `auto` may choose (or
/// one about as cheap in which ranks wait less). Pure.
[[nodiscard]] Choice choose_method(const PlanInputs& inputs);

}  // namespace oratorio
