// SPDX-License-Identifier: BSD-3-Clause
#include "plan/methods.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "plan/estimate.hpp"
#include "plan/traffic.hpp"

namespace oratorio {

namespace {

constexpr Method kCombinedShipping{
    .name = "data_shipping",
    .summary = "agents combine the requests of all ranks for the file blocks bound to them",
    .domains = DomainsKind::bound,
    .exchange = ExchangeKind::peer,
    .schedule = {.slots = 2}};

constexpr std::array kMethods{
    Method{.name = "list_io",
           .summary = "each rank's pieces, many outstanding at once",
           .storage = StorageKind::list,
           .auto_ranks = 1},
    Method{.name = "mmap",
           .summary = "each rank maps the file and copies its pieces with two datatype iterators",
           .storage = StorageKind::mapped,
           .auto_ranks = 1},
    Method{.name = "shared_buffer",
           .summary = "each rank copies into collective buffers that the node shares",
           .domains = DomainsKind::sliced,
           .exchange = ExchangeKind::shared,
           .schedule = {.slots = Schedule::of_node},
           .auto_ranks = 1},
    Method{.name = "two_phase",
           .summary = "exchange by messages, file domains even, one buffer",
           .exchange = ExchangeKind::peer,
           .auto_ranks = 1},
    Method{.name = "sieve",
           .summary = "data sieving: each rank moves whole ranges and picks its pieces",
           .auto_ranks = 1},
    Method{.name = "shared_buffer_list",
           .summary = "shared_buffer with flattened lists of all pieces",
           .request = RequestKind::list,
           .domains = DomainsKind::sliced,
           .exchange = ExchangeKind::shared,
           .schedule = {.slots = Schedule::of_node}},
    Method{.name = "shared_data",
           .summary = "aggregators reach into the memory of the other ranks",
           .request = RequestKind::layout,
           .exchange = ExchangeKind::cross_memory,
           .schedule = {.slots = 2}},
    Method{.name = "double_buffer",
           .summary = "two_phase with two sub-buffers, so that exchange and storage overlap",
           .exchange = ExchangeKind::peer,
           .schedule = {.slots = 2},
           .auto_ranks = 1},
    Method{.name = "multithreaded",
           .summary = "chunks of the file in turn, through four sub-buffers of each aggregator",
           .domains = DomainsKind::chunks,
           .exchange = ExchangeKind::peer,
           .schedule = {.slots = 4}},
    Method{.name = "cb_block",
           .summary = "each rank buffers one part of the file and moves it in one call",
           .exchange = ExchangeKind::peer,
           .schedule = {.all_aggregate = true, .slot_is_block = true}},
    Method{.name = "cb_cyclic",
           .summary = "two_phase with CYCLIC(n) file domains",
           .domains = DomainsKind::cyclic,
           .exchange = ExchangeKind::peer},
    Method{.name = "cb_gather",
           .summary = "cb_cyclic with one zero-copy message for each pair and round",
           .domains = DomainsKind::cyclic,
           .exchange = ExchangeKind::gathered},
    Method{.name = "cb_file_layout",
           .summary = "two_phase with file domains that follow the stripes",
           .domains = DomainsKind::stripes,
           .exchange = ExchangeKind::peer,
           .schedule = {.buffer = 1 << 20}},
    Method{.name = "sparse",
           .summary = "two_phase in which only ranks with data in a round communicate",
           .graph = GraphKind::sparse,
           .exchange = ExchangeKind::peer},
    Method{.name = "disk_directed",
           .summary = "aggregators move block by block in the order of the disk, two buffers each",
           .domains = DomainsKind::stripes,
           .exchange = ExchangeKind::peer,
           .schedule = {.slots = 2, .slot_is_block = true, .order = by_place, .asks_places = true}},
    Method{.name = "one_writer",
           .summary = "one rank makes all storage calls",
           .exchange = ExchangeKind::peer,
           .schedule = {.aggregators_max = 1}},
    Method{.name = "grouping",
           .summary = "each rank's pieces, with a few ranks at a time",
           .schedule = {.in_turns = true},
           .storage = StorageKind::list},
    Method{.name = "two_layer",
           .summary = "two_phase through local aggregators, which merge what their ranks send",
           .exchange = ExchangeKind::peer,
           .layers = LayersKind::two_messages,
           .auto_ranks = kLayersPayFrom},
    Method{.name = "two_layer_overlapped",
           .summary = "two_layer with two sub-buffers, so that gathering and storage overlap",
           .exchange = ExchangeKind::peer,
           .layers = LayersKind::two_messages,
           .schedule = {.slots = 2}},
    Method{.name = "two_layer_shared",
           .summary = "two_layer in which ranks put dense data into shared memory of their node",
           .exchange = ExchangeKind::peer,
           .layers = LayersKind::two_shared,
           .auto_ranks = kLayersPayFrom},
    Method{.name = "two_layer_shared_overlapped",
           .summary = "two_layer_shared with two sub-buffers",
           .exchange = ExchangeKind::peer,
           .layers = LayersKind::two_shared,
           .schedule = {.slots = 2},
           .auto_ranks = kLayersPayFrom},
    Method{.name = "data_shipping",
           .summary = "each file block is bound to an agent, which makes its storage calls",
           .storage = StorageKind::shipped,
           .combined = &kCombinedShipping},
    Method{.name = "datatype_io",
           .summary = "data_shipping with datatypes in place of lists of pieces",
           .request = RequestKind::layout,
           .storage = StorageKind::shipped},
    Method{.name = "prefetch",
           .summary = "each rank's pieces, their file blocks fetched ahead",
           .storage = StorageKind::list,
           .read_ahead = ReadAheadKind::ranges},
    Method{.name = "naive",
           .summary = "each rank's pieces, one call each",
           .storage = StorageKind::contiguous},
};

/// What `auto` wants of a method: to choose it by its estimate, or to try it and measure its time.
enum class Purpose : std::uint8_t { choose, measure };

/// Returns the reason why `auto` leaves out a method that applies, or "" if it may use the method
/// for that purpose. Data sieving writes also move bytes that no rank asked for, so only hints
/// enable them.
std::string_view left_out(const Method& method, const PlanInputs& s, Purpose purpose) {
    if (method.auto_ranks == 0) return "by name only";
    const ExchangePart& exchange = method.exchange_part();
    const StoragePart& storage = method.storage_part();
    const Toggle collective = s.reads() ? s.options->cb_read : s.options->cb_write;
    const Toggle sieving = s.reads() ? s.options->ds_read : s.options->ds_write;
    // If ranks can share memory, data needn't be sent between them, or fetched by each of them.
    const bool shared = collective != Toggle::disable && node_is_shared(s);
    if (shared && exchange.sends_messages) return "left out: the ranks share memory";
    if (shared && storage.buffered && !exchange.aggregated && s.ranks_with_data > 1 &&
        sieving != Toggle::enable)
        return "left out: ranks would move the same bytes several times";
    if (exchange.aggregated) {
        if (collective == Toggle::disable) return "left out by hint romio_cb_*=disable";
        if (s.ranks >= method.auto_ranks) return "";
        if (s.ranks == s.nodes || !method.has_windows(s)) return "left out: fewer than 512 ranks";
        return purpose == Purpose::measure ? "" : "left out until tried: fewer than 512 ranks";
    }
    if (collective == Toggle::enable && s.collective && can_exchange(s))
        return "left out by hint romio_cb_*=enable";
    // docs/internals/decisions/stores.md explains the rules for mappings.
    if (storage.mapped && !(s.reads() && s.facts->local_file_system))
        return s.reads() ? "left out: the file system is not local"
                         : "left out: stores to a mapping may be lost where a file grows";
    if (!storage.buffered) {
        const bool sieves = sieving == Toggle::enable && is_monotonic(s) && !s.collective;
        return sieves ? "left out by hint romio_ds_*=enable" : "";
    }
    const bool may_sieve = s.reads() ? sieving != Toggle::disable : sieving == Toggle::enable;
    if (may_sieve) return "";
    return s.reads() ? "left out by hint romio_ds_read=disable"
                     : "left out: it writes bytes outside the access (hint romio_ds_write)";
}

/// Returns the file bytes of one round, for a method that goes through the whole hull.
double round_bytes(const Method& method, const PlanInputs& s) {
    const StoragePart& storage = method.storage_part();
    if (!method.aggregated()) return static_cast<double>(storage.window(s.direction, *s.options));
    const double buffer = traffic_of(method, s).slot_bytes;
    const auto most = static_cast<double>(shared_slot_bytes(s.facts->costs));
    return method.on_node() ? std::min(buffer, most) : buffer;
}

/// Refuses a method that goes through the whole hull if the data is too sparse, so that the time of
/// an access stays in proportion to its data. A hull of terabytes with a few bytes of data would
/// take millions of empty rounds.
std::string_view refuses_thin(const Method& method, const PlanInputs& s) {
    constexpr double kRoundsOfAny = 256;
    constexpr double kRoundsOfPiece = 16;
    const StoragePart& storage = method.storage_part();
    const bool dense = s.hull.length() / static_cast<Bytes>(kRoundsOfPiece) <= s.bytes;
    if (dense || !(method.aggregated() || storage.buffered || storage.mapped)) return "";
    const double each = round_bytes(method, s);
    const double full = static_cast<double>(s.bytes) / each;
    const double most = kRoundsOfAny + kRoundsOfPiece * (static_cast<double>(s.pieces) + full);
    return static_cast<double>(s.hull.length()) / each > most
               ? "nearly all rounds would be empty: the data lies too far apart in the file"
               : "";
}

/// Returns the method's combined form if that applies to the access, else the method itself.
const Method& form_of(const Method& method, const PlanInputs& s) {
    const Method* const combined = method.combined;
    return combined != nullptr && combined->refuses(s).empty() ? *combined : method;
}

/// Returns true if `auto` may choose the candidate.
bool is_open(const Candidate& one) {
    return one.applies && one.reason.empty();
}

/// Returns the least estimate, in seconds, of the candidates that `auto` may choose.
double least_of(std::span<const Candidate> candidates) {
    double least = INFINITY;
    for (const Candidate& one : candidates)
        if (is_open(one)) least = std::min(least, one.seconds);
    return least;
}

/// Compares the methods whose estimates the model can't tell from the least, and returns the
/// cheapest of those in which ranks wait least for each other; null if `auto` may choose none.
/// REQUIRES: the candidates are in the order of kMethods.
const Candidate* best_of(std::span<const Candidate> candidates, double least) {
    constexpr double kUncertainty = 1.1;
    const auto waiting = [&](const Candidate& one) {
        return kMethods[static_cast<std::size_t>(&one - candidates.data())].waiting();
    };
    const Candidate* best = nullptr;
    for (const Candidate& one : candidates) {
        if (!is_open(one) || one.seconds > kUncertainty * least) continue;
        if (best == nullptr || waiting(one) < waiting(*best) ||
            (waiting(one) == waiting(*best) && one.seconds < best->seconds))
            best = &one;
    }
    return best;
}

}  // namespace

const DomainsPart& Method::domains_part(const PlanOptions& options) const {
    const DomainsChoice chosen = options.domains;
    if (!exchange_part().sends_messages || part_of(domains).by_agent) return part_of(domains);
    if (chosen == DomainsChoice::even) return part_of(DomainsKind::even);
    if (chosen == DomainsChoice::block) return part_of(DomainsKind::block);
    if (chosen == DomainsChoice::cyclic) return part_of(DomainsKind::cyclic);
    if (chosen == DomainsChoice::stripes) return part_of(DomainsKind::stripes);
    return part_of(domains);
}

std::string_view Method::refuses(const PlanInputs& s) const {
    if (schedule.in_turns && !s.collective)
        return "only collective calls have other ranks to wait for";
    for (const std::string_view refusal :
         {aggregated() ? exchange_part().refuses(s) : storage_part().refuses(s),
          domains_part(*s.options).refuses(s), request_part().refuses(s),
          read_ahead_part().refuses(s)}) {
        if (!refusal.empty()) return refusal;
    }
    return refuses_thin(*this, s);
}

bool Method::has_windows(const PlanInputs& s) const {
    const double share = s.reads() ? 0.5 : 0.75;
    return layers_part().windows && s.sharing.shared_memory &&
           static_cast<double>(s.bytes) >= share * s.group_hulls;
}

int Method::waiting() const {
    if (!aggregated()) return 0;
    return on_node() ? 1 : 2;
}

double Plan::seconds() const {
    const Candidate* const own = std::ranges::find(candidates, method->name, &Candidate::name);
    return own != candidates.end() ? own->seconds : 0;
}

double Method::seconds(const PlanInputs& s) const {
    constexpr double kNano = 1e-9;
    const double moved = aggregated()        ? exchange_part().estimate(*this, s)
                         : schedule.in_turns ? estimate_turns(storage_part(), s)
                                             : storage_part().estimate(s);
    return kNano * (moved + request_part().estimate(s) + graph_part().estimate(s) +
                    read_ahead_part().estimate(s));
}

std::span<const Method> methods() {
    return kMethods;
}

const Method* find_method(std::string_view name) {
    for (const Method& method : kMethods) {
        if (method.name == name) return &method;
    }
    return nullptr;
}

bool sieves_writes(const PlanOptions& options) {
    const Method* const asked = options.method;
    const bool by_name = asked != nullptr && !asked->aggregated() && asked->storage_part().buffered;
    return by_name || options.ds_write == Toggle::enable;
}

bool asks_for_agents(const PlanOptions& options) {
    const Method* const asked = options.method;
    return asked != nullptr && !asked->aggregated() && asked->storage_part().shipped;
}

Bytes default_buffer(const PlanOptions& options) {
    const Bytes own = options.method != nullptr ? options.method->schedule.buffer : 0;
    return own > 0 ? own : PlanOptions{}.cb_buffer_size;
}

int slots_most(const PlanOptions& options) {
    if (options.slots > 0) return options.slots;
    return std::ranges::max(methods(), {}, [](const Method& one) { return one.schedule.slots; })
        .schedule.slots;
}

bool asks_for_edges(const PlanOptions& options) {
    const Method* const asked = options.method;
    return options.sparse || (asked != nullptr && asked->graph_part().is_thinned);
}

bool asks_for_targets(const PlanOptions& options) {
    if (options.method == nullptr) return options.domains == DomainsChoice::stripes;
    return options.method->domains_part(options).by_target;
}

bool may_have_layers(const PlanOptions& options, const Nodes& nodes) {
    const Method* const asked = options.method;
    return nodes.size >= kLayersPayFrom ||
           (asked != nullptr && asked->layers_part().local_aggregators) ||
           (asked == nullptr && nodes.nodes() > 1 && nodes.size > nodes.nodes());
}

bool may_choose(const Method& method, const PlanInputs& inputs) {
    return method.refuses(inputs).empty() && left_out(method, inputs, Purpose::choose).empty();
}

bool may_try(const Method& method, const PlanInputs& inputs) {
    return method.refuses(inputs).empty() && left_out(method, inputs, Purpose::measure).empty();
}

Choice choose_method(const PlanInputs& inputs) {
    Choice choice;
    choice.candidates.reserve(kMethods.size());
    for (const Method& row : kMethods) {
        const Method& method = form_of(row, inputs);
        const std::string_view refusal = method.refuses(inputs);
        // Methods that don't apply are not estimated, to save time: independent accesses are
        // planned one by one.
        const double seconds = refusal.empty() ? method.seconds(inputs) : 0;
        const std::string_view reason =
            refusal.empty() ? left_out(method, inputs, Purpose::choose) : refusal;
        choice.candidates.push_back({method.name, refusal.empty(), seconds, reason});
        if (!refusal.empty()) continue;
        if (&row == inputs.options->method) {
            choice.method = &method;
            choice.why = "requested by name";
        }
    }
    if (choice.method == nullptr) {
        const double least = least_of(choice.candidates);
        const Candidate* const best = best_of(choice.candidates, least);
        choice.method = find_method(best != nullptr ? best->name : "list_io");
        const bool tied = best != nullptr && best->seconds > least;
        choice.why = inputs.options->method != nullptr
                         ? "chosen by auto, because the requested method does not apply"
                     : best == nullptr ? "no method that the hints allow applies"
                     : tied            ? "about as cheap as the cheapest, and ranks wait less"
                                       : "cheapest of those that auto considers";
    }
    choice.terms = estimate_terms(*choice.method, inputs);
    return choice;
}

}  // namespace oratorio
