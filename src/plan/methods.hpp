// SPDX-License-Identifier: BSD-3-Clause
// Methods: named rows, each a choice of parts. A new idea is a new row (or a new part and a row).
// Whether a row applies, and what it would cost, its parts say. Names and sources: docs/methods.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/parts.hpp"
#include "plan/plan.hpp"

namespace oratorio {

/// In which order and beside what the parts work.
struct Schedule {
    static constexpr int of_node = 0;  ///< as many slots as make up kSharedSlots on the node
    int slots = 1;                     ///< sub-buffers of an aggregator
    bool io_thread = false;            ///< storage calls are made by a thread beside
    int aggregators_max = 0;           ///< 0 = as many as plan/aggregators gives
    bool all_aggregate = false;        ///< every rank is an aggregator, unless hints say otherwise
    bool slot_is_block = false;        ///< a slot holds one block of the file domain, no more
    OrderMaker order = nullptr;        ///< of rounds; null: ascending
    bool asks_places = false;          ///< that is by where the file lies on the device
    bool in_turns = false;             ///< ranks wait until others have been at the storage
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
    bool automatic = false;  ///< a candidate of `auto`

    [[nodiscard]] const RequestPart& request_part() const { return part_of(request); }
    [[nodiscard]] const DomainsPart& domains_part() const { return part_of(domains); }
    [[nodiscard]] const GraphPart& graph_part() const { return part_of(graph); }
    [[nodiscard]] const ExchangePart& exchange_part() const { return part_of(exchange); }
    [[nodiscard]] const LayersPart& layers_part() const { return part_of(layers); }
    [[nodiscard]] const StoragePart& storage_part() const { return part_of(storage); }
    [[nodiscard]] const ReadAheadPart& read_ahead_part() const { return part_of(read_ahead); }
    [[nodiscard]] bool aggregated() const { return exchange_part().aggregated; }
    [[nodiscard]] bool on_node() const { return exchange_part().on_node; }
    /// "" when it applies, else the reason why not.
    [[nodiscard]] std::string_view refuses(const Situation& situation) const;
    /// Estimated, by the constants in costs.def.
    [[nodiscard]] double seconds(const Situation& situation) const;
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

/// Independent writes may fill holes: read a range, and write it back.
[[nodiscard]] bool sieves_writes(const PlanOptions& options);

/// By name: agents are wanted.
[[nodiscard]] bool asks_for_agents(const PlanOptions& options);

/// By name or hint: a sparse graph is wanted.
[[nodiscard]] bool asks_for_edges(const PlanOptions& options);

/// By name: local aggregators may be wanted, and their memory.
[[nodiscard]] bool asks_for_layers(const PlanOptions& options);

struct Choice {
    const Method* method = nullptr;
    std::string_view why;
    std::vector<Candidate> candidates;
    CostTerms terms;  ///< of the method, where its ranks send messages
};

/// Pure: the method forced by name or by the cb/ds hints if it applies, else the cheapest automatic
/// one.
[[nodiscard]] Choice choose_method(const Situation& situation);

}  // namespace oratorio
