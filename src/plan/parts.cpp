// SPDX-License-Identifier: BSD-3-Clause
#include "plan/parts.hpp"

#include <algorithm>
#include <array>

#include "base/complete_table.hpp"
#include "plan/estimate.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

constexpr Bytes kCyclicBlockDefault = 1 << 20;

// Reasons why a part does not apply.

std::string_view always(const PlanInputs&) {
    return "";
}

std::string_view needs_monotonic(const PlanInputs& s) {
    return s.interleaved ? "the tiles of a view interleave, so data can't be found by offset" : "";
}

std::string_view needs_collective(const PlanInputs& s) {
    if (!s.collective) return "only collective calls have other ranks to exchange data with";
    if (s.options->atomic) return "atomic mode locks each rank's own range";
    if (!s.storable) return "no rank has memory for an aggregator";
    return needs_monotonic(s);
}

std::string_view needs_node(const PlanInputs& s) {
    if (!s.one_node()) return "the ranks are on several nodes";
    if (!s.sharing.shared_memory) return "shared memory is not available";
    return needs_collective(s);
}

std::string_view needs_cross_memory(const PlanInputs& s) {
    if (const std::string_view reason = needs_node(s); !reason.empty()) return reason;
    return s.sharing.cross_memory ? "" : "the kernel refuses cross-memory attach";
}

std::string_view needs_short_layouts(const PlanInputs& s) {
    return s.large_layout
               ? "a datatype lists too many offsets, is nested too deeply or reaches too far for "
                 "another rank to walk it"
               : "";
}

std::string_view needs_mapping(const PlanInputs& s) {
    if (!s.facts->mappable) return "the file can't be mapped";
    if (s.is_direct()) return "direct I/O bypasses the page cache";
    if (!s.facts->coherent) return "mappings of several nodes may not see each other";
    if (!s.reads() && !s.collective && !s.facts->alone)
        return "other ranks may extend the file during the access, which breaks mappings";
    return needs_monotonic(s);
}

std::string_view needs_agents(const PlanInputs& s) {
    if (!s.facts->agents.ranks.empty()) return "";
    return s.facts->agents.refused
               ? "there are no agents: they could not be started"
               : "there are no agents: no hint requested them when the file was opened";
}

/// Refuses to combine requests at the agents if there are no agents, if a hint disables collective
/// buffering, or if an agent's rank has no memory.
std::string_view needs_combining_agents(const PlanInputs& s) {
    if (const std::string_view reason = needs_agents(s); !reason.empty()) return reason;
    if ((s.reads() ? s.options->cb_read : s.options->cb_write) == Toggle::disable)
        return "hint romio_cb_*=disable";
    return s.agents_storable ? "" : "an agent's rank has no memory for the access";
}

// File domains.

Bytes cyclic_block(const PlanInputs& s) {
    return s.options->cyclic_block > 0 ? s.options->cyclic_block : kCyclicBlockDefault;
}

Bytes stripe(const PlanInputs& s) {
    return s.options->striping_unit > 0 ? s.options->striping_unit : kCyclicBlockDefault;
}

/// Returns the data that a buffer of cb_buffer_size holds, in whole stripes or pages. A write mask
/// takes half of the buffer.
Bytes chunk(const PlanInputs& s) {
    const Bytes data = s.options->cb_buffer_size / (s.keeps_holes() ? 2 : 1);
    const Bytes cut = s.options->striping_unit;
    const Bytes unit = cut > 0 && cut <= data ? cut : kPage;
    return std::max(unit, data / unit * unit);
}

Bytes agent_block(const PlanInputs& s) {
    return s.facts->agents.block;
}

Bytes uncut(const PlanInputs&) {
    return INT64_MAX;
}

/// Returns the alignment of file domains: a stripe if each aggregator can get at least one, else a
/// page.
Bytes unit_of(const PlanInputs& s, int aggregators) {
    const Bytes unit = s.options->striping_unit;
    return unit > 0 && unit <= s.hull.length() / aggregators ? unit : kPage;
}

FileDomains even(const PlanInputs& s, int aggregators) {
    return FileDomains::even(s.hull, aggregators, unit_of(s, aggregators));
}

FileDomains block(const PlanInputs& s, int aggregators) {
    return FileDomains::even(s.hull, aggregators, 1);
}

FileDomains sliced(const PlanInputs& s, int aggregators) {
    if (s.parts < 2) return even(s, aggregators);
    return FileDomains::sliced(s.hull, aggregators, unit_of(s, aggregators), s.period, s.parts);
}

FileDomains cyclic(const PlanInputs& s, int aggregators) {
    return FileDomains::cyclic(s.hull, aggregators, cyclic_block(s));
}

FileDomains stripes(const PlanInputs& s, int aggregators) {
    return FileDomains::stripes(s.hull, aggregators, stripe(s));
}

FileDomains chunks(const PlanInputs& s, int aggregators) {
    const Bytes share = (s.hull.length() + aggregators - 1) / aggregators;
    if (share <= chunk(s)) return even(s, aggregators);
    return FileDomains::cyclic(s.hull, aggregators, chunk(s));
}

FileDomains bound(const PlanInputs& s, int aggregators) {
    return FileDomains::stripes(s.hull, aggregators, agent_block(s));
}

double nothing(const PlanInputs&) {
    return 0;
}

constexpr std::array kRequests{
    RequestPart{.kind = RequestKind::cursor,
                .what = "pieces from datatype iterators, as rounds need them",
                .refuses = always,
                .estimate = nothing},
    RequestPart{.kind = RequestKind::list,
                .what = "lists of all pieces, built before the first round",
                .flattens = true,
                .refuses = always,
                .estimate = estimate_listing},
    RequestPart{.kind = RequestKind::layout,
                .what = "the datatypes themselves, walked by the rank that moves the data",
                .is_layout = true,
                .refuses = needs_short_layouts,
                .estimate = nothing},
};
static_assert(is_complete(kRequests));

constexpr std::array kDomains{
    DomainsPart{.kind = DomainsKind::even, .make = even, .block = uncut, .refuses = always},
    DomainsPart{.kind = DomainsKind::block, .make = block, .block = uncut, .refuses = always},
    DomainsPart{.kind = DomainsKind::sliced,
                .make = sliced,
                .sliced = true,
                .block = uncut,
                .refuses = always},
    DomainsPart{
        .kind = DomainsKind::cyclic, .make = cyclic, .block = cyclic_block, .refuses = always},
    DomainsPart{.kind = DomainsKind::chunks, .make = chunks, .block = chunk, .refuses = always},
    DomainsPart{.kind = DomainsKind::stripes,
                .make = stripes,
                .by_target = true,
                .block = stripe,
                .refuses = always},
    DomainsPart{.kind = DomainsKind::bound,
                .make = bound,
                .by_agent = true,
                .block = agent_block,
                .refuses = needs_combining_agents},
};
static_assert(is_complete(kDomains));

constexpr std::array kGraphs{
    GraphPart{.kind = GraphKind::dense, .estimate = nothing},
    GraphPart{.kind = GraphKind::sparse, .is_thinned = true, .estimate = estimate_thinning},
};
static_assert(is_complete(kGraphs));

constexpr std::array kExchanges{
    ExchangePart{.kind = ExchangeKind::none, .aggregated = false},
    ExchangePart{.kind = ExchangeKind::peer,
                 .sends_messages = true,
                 .refuses = needs_collective,
                 .estimate = estimate_messages},
    ExchangePart{
        .kind = ExchangeKind::gathered,
        .what = "zero-copy messages between the ranks' memory and the buffers, with host datatypes",
        .sends_messages = true,
        .in_pieces = true,
        .refuses = needs_collective,
        .estimate = estimate_messages},
    ExchangePart{.kind = ExchangeKind::shared,
                 .what = "ranks copy into the node's shared buffers",
                 .on_node = true,
                 .anyone_loads = true,
                 .refuses = needs_node,
                 .estimate = estimate_shared},
    ExchangePart{.kind = ExchangeKind::cross_memory,
                 .what = "aggregators reach into the ranks' memory",
                 .on_node = true,
                 .reaches = true,
                 .refuses = needs_cross_memory,
                 .estimate = estimate_cross_memory},
};
static_assert(is_complete(kExchanges));

constexpr std::array kLayers{
    LayersPart{.kind = LayersKind::one},
    LayersPart{.kind = LayersKind::two_messages,
               .what = "their ranks send requests and data by messages, to be merged",
               .local_aggregators = true},
    LayersPart{.kind = LayersKind::two_shared,
               .what = "their ranks send requests and data by messages, to be merged",
               .local_aggregators = true,
               .windows = true},
};
static_assert(is_complete(kLayers));

Bytes staging_window(Direction, const PlanOptions&) {
    return kStagingBytes;
}

Bytes sieving_window(Direction direction, const PlanOptions& options) {
    return direction == Direction::read ? options.ind_rd_buffer_size : options.ind_wr_buffer_size;
}

Bytes map_window(Direction, const PlanOptions&) {
    return kMapWindowBytes;
}

constexpr std::array kStorages{
    StoragePart{.kind = StorageKind::contiguous,
                .name = "contiguous",
                .outstanding_max = 1,
                .unit = kPage,
                .window = staging_window,
                .refuses = always,
                .estimate = estimate_contiguous},
    StoragePart{.kind = StorageKind::list,
                .name = "list",
                .outstanding_max = 1024,
                .unit = kPage,
                .window = staging_window,
                .refuses = always,
                .estimate = estimate_list},
    StoragePart{.kind = StorageKind::buffered,
                .name = "buffered",
                .buffered = true,
                .unit = kPage,
                .window = sieving_window,
                .refuses = needs_monotonic,
                .estimate = estimate_sieve},
    StoragePart{.kind = StorageKind::mapped,
                .name = "mapped",
                .mapped = true,
                .extends_first = true,
                .unit = kMapWindowAlignment,
                .window = map_window,
                .refuses = needs_mapping,
                .estimate = estimate_mapped},
    StoragePart{.kind = StorageKind::shipped,
                .name = "by agents",
                .shipped = true,
                .unit = kPage,
                .window = staging_window,
                .refuses = needs_agents,
                .estimate = estimate_shipped},
};
static_assert(is_complete(kStorages));

constexpr std::array kReadAheads{
    ReadAheadPart{.kind = ReadAheadKind::none, .refuses = always, .estimate = nothing},
    ReadAheadPart{.kind = ReadAheadKind::ranges,
                  .fetches = true,
                  .refuses = needs_monotonic,
                  .estimate = estimate_fetching},
};
static_assert(is_complete(kReadAheads));

}  // namespace

bool is_monotonic(const PlanInputs& s) {
    return needs_monotonic(s).empty();
}
bool can_exchange(const PlanInputs& s) {
    return needs_collective(s).empty();
}
bool node_is_shared(const PlanInputs& s) {
    return needs_node(s).empty();
}

const RequestPart& part_of(RequestKind kind) {
    return row_of(kRequests, kind);
}
const DomainsPart& part_of(DomainsKind kind) {
    return row_of(kDomains, kind);
}
const GraphPart& part_of(GraphKind kind) {
    return row_of(kGraphs, kind);
}
const ExchangePart& part_of(ExchangeKind kind) {
    return row_of(kExchanges, kind);
}
const LayersPart& part_of(LayersKind kind) {
    return row_of(kLayers, kind);
}
const StoragePart& part_of(StorageKind kind) {
    return row_of(kStorages, kind);
}
const ReadAheadPart& part_of(ReadAheadKind kind) {
    return row_of(kReadAheads, kind);
}

}  // namespace oratorio
