// SPDX-License-Identifier: BSD-3-Clause
#include "plan/estimate.hpp"

#include <algorithm>
#include <cmath>

#include "plan/access.hpp"
#include "plan/layers.hpp"
#include "plan/model.hpp"
#include "plan/traffic.hpp"

namespace oratorio {

namespace {

const Costs& costs(const PlanInputs& s) {
    return s.facts->costs;
}
/// Returns the number of cores that can work for the access at once. If similar accesses run at the
/// same time, each has a share of the cores.
double workers(const PlanInputs& s) {
    return std::max(1.0, std::min(s.ranks_with_data * s.alike, s.cores * s.nodes)) / s.alike;
}
/// Returns the number of machines. Each has its own page cache, and its own locks on a file.
double machines(const PlanInputs& s) {
    return static_cast<double>(s.nodes) / s.nodes_of_machine;
}
/// Returns the number of pieces in one walk over memory and file.
double walk_pieces(const PlanInputs& s) {
    return static_cast<double>(std::max(s.pieces, s.memory_pieces));
}
double read_storage(const PlanInputs& s, double bytes, double calls) {
    const Costs& c = costs(s);
    return s.is_direct() ? bytes * c.direct_read_byte + calls * c.direct_read_call
                         : bytes * c.read_byte + calls * c.read_call;
}
double write_storage(const PlanInputs& s, double bytes, double calls) {
    const Costs& c = costs(s);
    return s.is_direct() ? bytes * c.direct_write_byte + calls * c.direct_write_call
                         : bytes * c.write_byte + calls * c.write_call;
}
/// Returns the storage time for `bytes` bytes in `calls` calls: time of a core if the data goes
/// through the page cache, else time of the device.
double storage(const PlanInputs& s, double bytes, double calls) {
    return s.reads() ? read_storage(s, bytes, calls) : write_storage(s, bytes, calls);
}
/// Returns the storage time for calls that all ranks make by themselves. Ranks that write through
/// the same page cache wait for each other.
double storage_by_all(const PlanInputs& s, double bytes, double calls) {
    const Costs& c = costs(s);
    if (s.reads() || s.is_direct() || s.ranks_with_data * s.alike <= machines(s))
        return storage(s, bytes, calls);
    return bytes * std::max(c.write_byte, c.contended_byte) +
           calls * std::max(c.write_call, c.contended_call);
}
/// Returns the extra cost of reading pieces of pages that other ranks of the machine read at the
/// same time: the cores contend for the page's reference count.
double shared_reads(const PlanInputs& s) {
    if (!s.reads() || s.is_direct()) return 0;
    const auto hull = std::max(1.0, static_cast<double>(s.hull.length()));
    const auto pieces = static_cast<double>(s.pieces);
    const double others = std::clamp(s.hulls / (hull * machines(s)) - 1, 0.0, 1.0);
    const double of_page = std::clamp(pieces * kPage / hull - 1, 0.0, 1.0);
    return pieces * others * of_page * costs(s).shared_read;
}
/// The time of storage calls for the whole hull.
struct HullMoved {
    double moved = 0;
    double holes = 0;  ///< time for reading the hull before it is written, locks included
};
/// Returns the time to move the whole hull, buffer by buffer. Each buffer holds a slice of each of
/// `parts` parts, with a call per slice. Each of `movers` ranks adds one call per part, because its
/// last buffer isn't full. A write with holes reads each buffer before it writes the buffer (data
/// sieving), or makes one call per piece, whichever takes less time.
HullMoved hull_moved(const PlanInputs& s, double buffer, double movers = 1, double parts = 1) {
    const auto bytes = static_cast<double>(s.hull.length());
    const double calls = parts * (movers + bytes / std::max(1.0, buffer));
    const HullMoved whole{storage(s, bytes, calls), 0};
    if (!s.keeps_holes()) return whole;
    const HullMoved filled{whole.moved, read_storage(s, bytes, calls) + calls * costs(s).lock};
    const auto pieces = std::max(calls, static_cast<double>(s.pieces));
    const HullMoved left_out{storage(s, static_cast<double>(s.bytes), pieces), 0};
    return left_out.moved < filled.moved + filled.holes ? left_out : filled;
}
/// Returns the time for the work of the ranks and of the storage on the same cores. Reads run in
/// parallel, and the reads of holes in parallel with the writes of other ranks. Writers of one file
/// wait for each other on their machine, so writes take at least as long as one core of each
/// machine needs for them. With direct I/O, one device works in parallel with the cores, and serves
/// all ranks and all similar accesses in turn.
double together(const PlanInputs& s, double ranks_work, HullMoved storage_work) {
    const auto [moved, holes] = storage_work;
    if (s.is_direct()) return std::max(ranks_work / workers(s), s.alike * (moved + holes));
    const double shared_out = (ranks_work + moved + holes) / workers(s);
    return s.reads() ? shared_out : std::max(shared_out, s.alike * moved / machines(s));
}
/// Returns the time of the agreements of a collective access: by default one at the beginning and
/// one at the end. Returns 0 for an independent access.
double collective(const PlanInputs& s, int reductions = 2) {
    return s.collective ? agreements(costs(s), s.ranks, s.nodes, reductions) : 0;
}
/// Returns the work of copying all data once between memory and a buffer in the cache.
double copied(const PlanInputs& s) {
    const auto bytes = static_cast<double>(s.bytes);
    // A cache line costs as much for one small piece as for all pieces in it.
    const auto pieces = static_cast<double>(s.memory_pieces);
    const bool scattered = s.memory_pieces > s.ranks_with_data && bytes < kCacheLine * pieces;
    const double lines = scattered ? static_cast<double>(s.memory_lines) : 0;
    return bytes * costs(s).copy_byte + walk_pieces(s) * costs(s).copy_piece +
           lines * costs(s).piece_line;
}
/// Returns the number of pieces that one side of an exchange handles, on average: one rank packs
/// the pieces and another rank places them, on one side as pieces of memory and on the other side
/// as pieces of the file.
double ends_of_pieces(const PlanInputs& s) {
    return static_cast<double>(s.pieces + s.memory_pieces) / 2;
}
/// Returns the work of the search for holes that precedes a collective write; 0 for other accesses.
double hashed(const PlanInputs& s) {
    const bool looks = s.collective && !s.reads();
    return looks ? static_cast<double>(s.pieces) * costs(s).hash_piece : 0;
}

/// Returns the time of the storage calls of a method with aggregators, which make all calls. Each
/// aggregator adds one call, as in hull_moved(). Aggregators that write on one machine wait for
/// each other like other writers.
double stored_by_aggregators(const Traffic& t, const Method& method, const PlanInputs& s) {
    const auto block = static_cast<double>(method.domains_part(*s.options).block(s));
    const bool several = !s.reads() && !s.is_direct() && t.aggregators > machines(s);
    const double contended = costs(s).contended_byte - costs(s).write_byte;
    const double waited =
        several ? static_cast<double>(s.hull.length()) * std::max(0.0, contended) : 0;
    const auto [moved, holes] = hull_moved(s, std::min(t.slot_bytes, block), t.aggregators);
    return moved + holes + waited;
}

/// Returns the cost of passing each storage call to the I/O thread; 0 if there is no such thread.
double handed_over(const Traffic& t, const PlanInputs& s) {
    if (t.slots <= 1 || s.stores_by_itself()) return 0;
    return (t.aggregators + static_cast<double>(s.hull.length()) / t.slot_bytes) * costs(s).wake;
}

JobShape shape_of(const Traffic& t, const Method& method, const PlanInputs& s) {
    const double of_node = t.aggregators / t.storing_nodes;
    JobShape shape;
    shape.reads = s.reads();
    shape.ranks = s.ranks;
    shape.nodes = s.nodes;
    shape.cores = s.cores;
    shape.aggregators = t.aggregators;
    shape.senders = t.senders;
    shape.local_aggregators = method.layers_part().local_aggregators ? groups_of(s) : 0;
    shape.in_windows = method.has_windows(s);
    shape.in_flight = std::max(1, s.options->messages_in_flight);
    // In reads, a local aggregator holds at most kMessagesOfMember requests of each rank, and keeps
    // a request until it has answered it, so it has no more of its own in flight.
    if (s.reads() && shape.local_aggregators > 0 && !shape.in_windows)
        shape.in_flight = std::min<double>(shape.in_flight, kMessagesOfMember);
    shape.slots = t.slots;
    // Storage through a page cache is work of cores: while one aggregator of a node stores, the
    // others continue.
    shape.takes_turns = s.is_direct() ? 1 : of_node * s.nodes_of_machine;
    if (!s.is_direct())
        shape.stores_at_once = s.reads() ? std::min(of_node, s.cores) : 1.0 / s.nodes_of_machine;
    shape.stored_by_cores = !s.is_direct();
    shape.linked_by_cores = s.nodes_of_machine > 1;
    return shape;
}

/// Returns the load of `share_of_round` (0 to 1) of all messages and data between ranks and their
/// local aggregators; no load for a method without local aggregators.
Load gathered_load(const Method& method, const PlanInputs& s, double share_of_round) {
    if (!method.layers_part().local_aggregators) return {};
    const double groups = groups_of(s);
    const double share = std::max(0.0, 1 - groups / s.ranks);
    const auto bytes = static_cast<double>(s.bytes);
    const Bytes message = local_message_bytes(
        *s.options, static_cast<int>(std::ceil(static_cast<double>(s.ranks) / groups)));
    const double messages =
        std::max(share * bytes / static_cast<double>(message), share * s.ranks_with_data);
    const double sent = method.has_windows(s) ? 0 : share_of_round * share;
    const double own = share_of_round - sent;
    return {.near_messages = sent > 0 ? share_of_round * messages : 0,
            .pieces = sent * ends_of_pieces(s),
            .bytes = sent * bytes,
            .own_pieces = own * ends_of_pieces(s),
            .own_bytes = own * bytes};
}

/// Returns the load of `share` (0 to 1) of all messages and data between senders and aggregators.
Load exchanged_load(const Traffic& t, const PlanInputs& s, double share) {
    const double sent = share * (1 - t.own_share);
    const auto bytes = static_cast<double>(s.bytes);
    return {.near_messages = share * t.near_messages,
            .far_messages = share * t.far_messages,
            .pieces = sent * ends_of_pieces(s),
            .bytes = sent * bytes,
            .own_pieces = share * t.own_share * ends_of_pieces(s),
            .own_bytes = share * t.own_share * bytes};
}

/// Returns the closed form's terms (plan/model) for a method with messages. Assumes that all rounds
/// have the same load, and likewise all nodes of senders, all nodes of aggregators and all
/// aggregators.
CostTerms terms_by_messages(const Method& method, const PlanInputs& s) {
    const Traffic t = traffic_of(method, s);
    const double sending_nodes = std::min<double>(s.nodes, t.senders);
    const double of_sender = 1 / (t.rounds * sending_nodes);
    const double of_storing = 1 / (t.rounds * t.storing_nodes);
    const double of_aggregator = 1 / (t.rounds * t.aggregators);
    const double stored = stored_by_aggregators(t, method, s);
    NodeLoad node;
    node.gathered = gathered_load(method, s, 1 / (t.rounds * s.nodes));
    node.sent = exchanged_load(t, s, of_sender);
    node.received = exchanged_load(t, s, of_storing);
    node.out_bytes = t.far_bytes * of_sender;
    node.in_bytes = t.far_bytes * of_storing;
    // One device serves all nodes. Without direct I/O, each node's share is work of its own cores.
    node.store_work = stored * (s.is_direct() ? 1 / t.rounds : of_storing);
    node.other_work = hashed(s) * of_sender + handed_over(t, s) * of_storing;
    const AggregatorLoad aggregator{.received = exchanged_load(t, s, of_aggregator)};
    const RoundLoad load{.nodes = {&node, 1},
                         .aggregators = {&aggregator, 1},
                         .targets = {},
                         .messages = (t.near_messages + t.far_messages) / t.rounds,
                         .far_bytes = t.far_bytes / t.rounds};
    const JobShape shape = shape_of(t, method, s);
    const RoundTerms round = terms_of(shape, load, costs(s));
    const int reductions = reductions_by_messages(method);
    return terms_of(shape, {&round, 1}, t.rounds,
                    agreements(costs(s), s.ranks, s.nodes, reductions));
}

}  // namespace

/// Weighs the two effects of moving pieces of several parts together: a cache line that several
/// pieces share is fetched only once, but each buffer needs a call per part.
bool slices_pay(const PlanInputs& s) {
    const auto lines = static_cast<double>(s.memory_pieces - s.memory_lines);
    const auto calls = static_cast<double>((s.parts - 1) * s.hull.length()) / kSharedSlotBytes;
    return lines * costs(s).piece_line / workers(s) > storage(s, 0, calls);
}

double estimate_list(const PlanInputs& s) {
    constexpr Bytes kStagedBelow = 1024;  // the same as kPieceInPlaceMin in engine/list_io.cpp
    const auto bytes = static_cast<double>(s.bytes);
    const bool staged = s.bytes / std::max<std::int64_t>(1, s.memory_pieces) < kStagedBelow;
    // Unlike a collective buffer, the user's memory isn't in a cache, so calls take longer, and
    // writers wait longer for each other. A device needs no cache.
    const double uncached = s.reads() ? costs(s).into_memory_byte : costs(s).from_memory_byte;
    const double zero_copy = staged || s.is_direct() ? 0 : bytes * uncached;
    // A buffer holds a slice of each part.
    const double slices = staged ? bytes * static_cast<double>(s.parts) / kStagingBytes : 0;
    const double calls = std::max(static_cast<double>(s.pieces), slices);
    const double moved = storage_by_all(s, bytes, calls) + zero_copy + shared_reads(s);
    return collective(s) + together(s, hashed(s) + (staged ? copied(s) : 0), {moved});
}

/// Estimates data shipping: all data is packed into requests to agents, or comes in their replies,
/// and only the agents' threads make storage calls.
double estimate_shipped(const PlanInputs& s) {
    const AgentFacts& agents = s.facts->agents;
    const auto bytes = static_cast<double>(s.bytes);
    const double full = bytes / static_cast<double>(std::max<Bytes>(1, agents.message));
    const double each =
        std::min(static_cast<double>(agents.ranks.size()), static_cast<double>(s.pieces));
    const double messages = std::max(full, each);
    const double far = 1 - 1.0 / s.nodes;
    const double latency = far > 0 ? costs(s).far_message : costs(s).message;
    const double packed = copied(s) + bytes * costs(s).message_byte + messages * costs(s).message;
    const double moved = storage_by_all(s, bytes, static_cast<double>(s.pieces));
    return collective(s) + together(s, hashed(s) + packed, {moved}) +
           far * bytes * costs(s).far_byte / std::max(1, s.nodes) + 2 * latency +
           messages * costs(s).wake / workers(s);
}

/// Estimates storage piece by piece: like list I/O, but with only one call outstanding.
double estimate_contiguous(const PlanInputs& s) {
    return 1.05 * estimate_list(s);
}

/// Estimates read-ahead: each rank makes one call for each file block in which it has a piece.
double estimate_fetching(const PlanInputs& s) {
    const Bytes block = ahead_of(*s.options).block;
    const double hulls = static_cast<double>(s.hull.length()) / static_cast<double>(block);
    const double blocks = std::min(static_cast<double>(s.pieces), (1 + hulls) * s.ranks_with_data);
    return blocks * costs(s).read_call / workers(s);
}

/// Estimates storage in turns: at most `group` ranks (hint oratorio_group) are at the storage at
/// once, so the estimate uses at most `group` cores of a node. Each rank r wakes rank r + `group`
/// at the end of its turn, so the last rank waits for a chain of wakes.
double estimate_turns(const StoragePart& storage, const PlanInputs& s) {
    PlanInputs let_in = s;
    let_in.cores = std::min<double>(s.cores, s.options->group);
    const double row = std::max(0, (s.ranks - 1) / s.options->group);
    return storage.estimate(let_in) + row * costs(s).wake;
}

/// Estimates data sieving of interleaved ranks: each rank with data moves the hull of the whole
/// access, so several ranks move the same bytes, and copies its own data.
double estimate_sieve(const PlanInputs& s) {
    const auto buffer = static_cast<double>(s.reads() ? s.options->ind_rd_buffer_size
                                                      : s.options->ind_wr_buffer_size);
    const auto [moved, holes] = hull_moved(s, buffer);
    const double times = s.ranks_with_data;
    return collective(s) +
           together(s, hashed(s) + copied(s), {.moved = times * moved, .holes = times * holes});
}

/// Estimates mappings: each rank maps every page that it touches, and in reads a page fault also
/// maps the neighbouring pages. Bytes that are read come from the page cache's memory, and a small
/// piece costs a whole cache line. A write first extends the file, which takes more agreements.
double estimate_mapped(const PlanInputs& s) {
    constexpr double kFaultAround = 16;
    const auto bytes = static_cast<double>(s.bytes);
    const auto pieces = static_cast<double>(s.pieces);
    const double per_page = s.reads() ? costs(s).map_read_page : costs(s).map_write_page;
    const double hulls = static_cast<double>(s.hull.length()) / kPage * s.ranks_with_data;
    const double touched = (pieces + bytes / kPage) * (s.reads() ? kFaultAround : 1);
    const double pages = std::min(hulls, touched);
    const double fetched = (s.reads() ? bytes * costs(s).read_byte : 0) +
                           (bytes < kCacheLine * pieces ? pieces * costs(s).piece_line : 0);
    const double windows =
        s.ranks_with_data + static_cast<double>(s.parts) * pages * kPage / kMapWindowBytes;
    const double extended = s.reads() ? 0 : collective(s);
    return (collective(s) + extended +
            (copied(s) + fetched + hashed(s) + pages * per_page + windows * costs(s).map_window) /
                workers(s));
}

/// Counts one reduction fewer for a sparse graph, in which messages of the aggregators replace the
/// last reduction. estimate_thinning() counts these messages and the extra gather of a sparse
/// graph.
int reductions_by_messages(const Method& method) {
    return (method.schedule.asks_places ? 5 : 4) - (method.graph_part().is_thinned ? 1 : 0);
}

CostTerms estimate_terms(const Method& method, const PlanInputs& s) {
    return method.exchange_part().sends_messages ? terms_by_messages(method, s) : CostTerms{};
}

double estimate_messages(const Method& method, const PlanInputs& s) {
    return terms_by_messages(method, s).all;
}

/// Estimates collective buffers that a node shares. All slots of the node are filled and emptied
/// repeatedly, and each time each rank is woken once (reads) or about twice (writes). The shared
/// memory stays for later accesses to this file and to others. So the estimate of an access
/// contains only a part of the cost of making that memory; with the whole cost, `auto` would never
/// make it in a program of many short accesses. `waiting` is a factor for the time that ranks wait
/// for each other, and that writers wait while other ranks store (docs/research/results, "What is
/// left to the limit").
double estimate_shared(const Method& method, const PlanInputs& s) {
    constexpr double kAccesses = 16;
    const double waiting = s.is_direct() ? 1 : s.reads() ? 1.1 : 1.2;
    const int node_slots = s.reads() && !s.is_direct() ? kSharedLoadSlots : kSharedSlots;
    const Bytes slot_bytes = shared_slot_bytes(costs(s));
    const auto slots = static_cast<double>(node_slots * slot_bytes);
    const double times = 1 + static_cast<double>(s.hull.length()) / slots;
    const double woken = (s.reads() ? 1 : 2) * times * s.ranks_with_data * costs(s).wake;
    const double work = copied(s) + hashed(s) + woken;
    const double parts = method.domains_part(*s.options).sliced ? static_cast<double>(s.parts) : 1;
    const auto slot = static_cast<double>(s.keeps_holes() ? slot_bytes / 2 : slot_bytes);
    const double moved = together(s, work, hull_moved(s, slot, 1, parts));
    return (collective(s) + moved * waiting +
            (s.sharing.shared_ready ? 0 : costs(s).node_memory / kAccesses));
}

/// Counts one more gather and the latency of one message. At the end each rank gets the outcome
/// from its aggregators; these messages are in flight at the same time, so only one latency counts.
double estimate_thinning(const PlanInputs& s) {
    return collective(s) / 2 + (s.one_node() ? costs(s).message : costs(s).far_message);
}

/// Estimates the time for listing all pieces of file and memory, which all ranks do in parallel.
double estimate_listing(const PlanInputs& s) {
    constexpr double kPieceBytes = 24;
    const auto pieces = static_cast<double>(s.pieces + s.memory_pieces);
    const double listed = pieces * (costs(s).copy_piece + kPieceBytes * costs(s).copy_byte);
    return listed / workers(s);
}

double estimate_cross_memory(const Method& method, const PlanInputs& s) {
    return estimate_shared(method, s) + static_cast<double>(s.bytes) * costs(s).cross_byte +
           walk_pieces(s) * costs(s).cross_piece;
}

}  // namespace oratorio
