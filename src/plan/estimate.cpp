// SPDX-License-Identifier: BSD-3-Clause
#include "plan/estimate.hpp"

#include <algorithm>
#include <cmath>

#include "plan/access.hpp"
#include "plan/layers.hpp"
#include "plan/traffic.hpp"

namespace oratorio {

namespace {

constexpr Bytes kPage = 4096;

const Costs& costs(const Situation& s) {
    return s.facts->costs;
}
/// Cores that can work for the access at once.
double workers(const Situation& s) {
    return std::max(1.0, std::min<double>(s.ranks_with_data, double(s.cores) * s.nodes));
}
/// Pieces of memory and file, as one walk over both meets them.
double walk_pieces(const Situation& s) {
    return static_cast<double>(std::max(s.pieces, s.memory_pieces));
}
double read_storage(const Situation& s, double bytes, double calls) {
    const Costs& c = costs(s);
    return s.is_direct() ? bytes * c.direct_read_byte + calls * c.direct_read_call
                         : bytes * c.read_byte + calls * c.read_call;
}
double write_storage(const Situation& s, double bytes, double calls) {
    const Costs& c = costs(s);
    return s.is_direct() ? bytes * c.direct_write_byte + calls * c.direct_write_call
                         : bytes * c.write_byte + calls * c.write_call;
}
/// What storage takes to move `bytes` in `calls` calls: a core's time where the page cache is
/// between, the device's where it isn't.
double storage(const Situation& s, double bytes, double calls) {
    return s.reads() ? read_storage(s, bytes, calls) : write_storage(s, bytes, calls);
}
/// The same in calls that all ranks make by themselves: writers wait for each other.
double storage_by_all(const Situation& s, double bytes, double calls) {
    const bool contended = !s.reads() && !s.is_direct() && s.ranks_with_data > 1;
    const double more = contended ? costs(s).contended_byte - costs(s).write_byte : 0;
    return storage(s, bytes, calls) + bytes * std::max(0.0, more);
}
/// The whole hull, and before it is written, its holes; buffer by buffer, and a call more for each
/// who moves it and ends in the middle of one.
double hull_moved(const Situation& s, double buffer, double movers = 1) {
    const auto bytes = static_cast<double>(s.hull.length());
    const double calls = movers + bytes / std::max(1.0, buffer);
    const double holes = !s.reads() && !s.covered ? read_storage(s, bytes, calls) : 0;
    return storage(s, bytes, calls) + holes;
}
/// Work of the ranks and of the storage on the same cores. Reads are done side by side; writers of
/// one file wait for each other on their node, so that writes take at least as long as one core of
/// each node needs for them. A device works beside the cores, for all ranks.
double together(const Situation& s, double ranks_work, double storage_work) {
    if (s.is_direct()) return std::max(ranks_work / workers(s), storage_work);
    const double shared_out = (ranks_work + storage_work) / workers(s);
    return s.reads() ? shared_out : std::max(shared_out, storage_work / s.nodes);
}
double ranks_of_node(const Situation& s) {
    return static_cast<double>(s.ranks) / s.nodes;
}
/// One reduction: the ranks of a node share its cores, nodes meet two by two, then four by four.
double agreement(const Situation& s) {
    return ranks_of_node(s) * costs(s).collective + std::log2(s.nodes) * costs(s).far_message;
}
/// Agreeing at the begin and at the end, and more often. The first time each node gets the
/// summaries of the others.
double collective(const Situation& s, int agreements = 2) {
    if (!s.collective) return 0;
    const double summaries = (s.ranks - ranks_of_node(s)) * sizeof(AccessSummary);
    return agreements * agreement(s) + summaries * costs(s).far_byte;
}
/// Copying all data once between memory and something in the cache.
double copied(const Situation& s) {
    const auto bytes = static_cast<double>(s.bytes);
    // A small piece that is alone in its cache line costs the line, unless the line is met for all
    // its pieces at once.
    constexpr double kLine = 64;
    const auto pieces = static_cast<double>(s.memory_pieces);
    const bool scattered = s.memory_pieces > s.ranks_with_data && bytes < kLine * pieces;
    const double lines = scattered && s.parts < 2 ? pieces * costs(s).piece_line : 0;
    return bytes * costs(s).copy_byte + walk_pieces(s) * costs(s).copy_piece + lines;
}
/// Looking for holes before the first byte is written.
double hashed(const Situation& s) {
    const bool looks = s.collective && !s.reads();
    return looks ? static_cast<double>(s.pieces) * costs(s).hash_piece : 0;
}

/// Two that take turns, as far as there aren't several sub-buffers for them to work on at once.
double in_turns(double one, double other, double slots) {
    return std::max(one, other) + std::min(one, other) / slots;
}
/// As `together`, with storage calls by aggregators alone. A device is waited for, but where
/// somebody else makes the call.
double together_with(const Traffic& t, const Method& method, const Situation& s, double ranks_work,
                     double storage_work) {
    if (s.is_direct()) {
        const bool beside = method.schedule.io_thread || s.facts->asynchronous;
        return in_turns(ranks_work / workers(s), storage_work, beside ? t.slots : 1);
    }
    const double shared_out = (ranks_work + storage_work) / workers(s);
    const double at_once = s.reads() ? std::min(t.aggregators, workers(s)) : t.storing_nodes;
    return std::max(shared_out, storage_work / at_once);
}
/// In each round messages and their answers are on their way.
double latencies(const Traffic& t, const Situation& s) {
    constexpr int kTrips = 2;
    const double one = s.nodes > 1 ? costs(s).far_message : costs(s).message;
    return t.rounds * kTrips * one / t.slots;
}
/// Nodes take in what comes from others, beside what their cores do: their bytes, and each
/// aggregator its messages.
double taken_in(const Traffic& t, const Situation& s) {
    return std::max(t.far_bytes * costs(s).far_byte / t.storing_nodes,
                    t.far_messages * costs(s).endpoint_message / t.aggregators);
}

/// What members of groups give to their local aggregators, or get of them.
struct Gathered {
    double share = 0;  ///< of all data
    double messages = 0;
};
Gathered gathered(const Situation& s) {
    const double groups = groups_of(s);
    const double share = std::max(0.0, 1 - groups / s.ranks);
    const Bytes message = local_message_bytes(
        *s.options, static_cast<int>(std::ceil(static_cast<double>(s.ranks) / groups)));
    const double full = share * static_cast<double>(s.bytes) / static_cast<double>(message);
    return {share, std::max(full, share * s.ranks_with_data)};
}

}  // namespace

double estimate_list(const Situation& s) {
    constexpr Bytes kStagedBelow = 1024;  // run/list_work
    const auto bytes = static_cast<double>(s.bytes);
    const bool staged = s.bytes / std::max<std::int64_t>(1, s.memory_pieces) < kStagedBelow;
    // What storage calls move is in no cache, unlike a collective buffer.
    const double memory = staged ? copied(s) : bytes * costs(s).copy_byte;
    const double moved = storage_by_all(s, bytes, static_cast<double>(s.pieces));
    return (collective(s) + together(s, hashed(s) + memory, moved));
}

/// All data goes through messages, to the nodes of the agents and their threads, which alone make
/// storage calls.
double estimate_shipped(const Situation& s) {
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
    return collective(s) + together(s, hashed(s) + packed, moved) +
           far * bytes * costs(s).far_byte / std::max(1, s.nodes) + 2 * latency +
           messages * costs(s).wake / workers(s);
}

/// As the list, with nothing outstanding beside the one call.
double estimate_contiguous(const Situation& s) {
    return 1.05 * estimate_list(s);
}

/// A call for each block that has a piece.
double estimate_fetching(const Situation& s) {
    const Bytes block = ahead_of(*s.options).block;
    const double hulls = static_cast<double>(s.hull.length()) / static_cast<double>(block);
    const double blocks = std::min(static_cast<double>(s.pieces), (1 + hulls) * s.ranks_with_data);
    return blocks * costs(s).read_call / workers(s);
}

/// As many work as are let in, and each one but the first of its row is woken.
double estimate_turns(const StoragePart& storage, const Situation& s) {
    Situation let_in = s;
    let_in.cores = std::min(s.cores, s.options->group);
    const double row = std::max(0, (s.ranks - 1) / s.options->group);
    return storage.estimate(let_in) + row * costs(s).wake;
}

/// Each rank moves its own hull, so that interleaved ranks together move it as often as they are;
/// and copies its data.
double estimate_sieve(const Situation& s) {
    const auto buffer = static_cast<double>(s.reads() ? s.options->ind_rd_buffer_size
                                                      : s.options->ind_wr_buffer_size);
    return (collective(s) +
            together(s, hashed(s) + copied(s), s.ranks_with_data * hull_moved(s, buffer)));
}

/// Every page that a rank touches is mapped by that rank; to be read, with its neighbours. Bytes
/// come from the page cache's memory, and with small pieces whole lines of it.
double estimate_mapped(const Situation& s) {
    constexpr double kFaultAround = 16;
    constexpr double kLine = 64;
    const auto bytes = static_cast<double>(s.bytes);
    const auto pieces = static_cast<double>(s.pieces);
    const double per_page = s.reads() ? costs(s).map_read_page : costs(s).map_write_page;
    const double hulls = static_cast<double>(s.hull.length()) / kPage * s.ranks_with_data;
    const double touched = (pieces + bytes / kPage) * (s.reads() ? kFaultAround : 1);
    const double pages = std::min(hulls, touched);
    const double fetched = (s.reads() ? bytes * costs(s).read_byte : 0) +
                           (bytes < kLine * pieces ? pieces * costs(s).piece_line : 0);
    const double windows =
        s.ranks_with_data + static_cast<double>(s.parts) * pages * kPage / kMapWindowBytes;
    const double extended = s.reads() ? 0 : collective(s);
    return (collective(s) + extended +
            (copied(s) + fetched + hashed(s) + pages * per_page + windows * costs(s).map_window) /
                workers(s));
}

/// Few that serve all others place their data while these wait, and with a thread beside each
/// storage call is handed over.
double estimate_peer(const Method& method, const Situation& s) {
    const Traffic t = traffic_of(method, s);
    const double exchanged =
        static_cast<double>(s.bytes) * costs(s).message_byte +
        static_cast<double>(s.pieces + s.memory_pieces) * costs(s).message_piece +
        t.near_messages * costs(s).message;
    const Schedule& schedule = method.schedule;
    const double servers = std::min(t.aggregators, workers(s));
    const double waited = exchanged / 2 * (1 / servers - 1 / workers(s));
    const double regions = t.aggregators + static_cast<double>(s.hull.length()) / t.slot_bytes;
    const double handed_over = schedule.io_thread ? regions * costs(s).wake : 0;
    const auto block = static_cast<double>(method.domains_part().block(*s.options));
    const double stored = hull_moved(s, std::min(t.slot_bytes, block), t.aggregators);
    const double worked = together_with(t, method, s, hashed(s) + exchanged + handed_over, stored);
    const int agreements = schedule.asks_places ? 5 : 4;
    return collective(s, agreements) + waited + latencies(t, s) +
           in_turns(worked, taken_in(t, s), t.slots);
}

/// Before each message goes one that tells of its pieces. For what hosts take to gather and scatter
/// them there is no constant: it is taken to be what packing and placing take.
double estimate_gathered(const Method& method, const Situation& s) {
    const Traffic t = traffic_of(method, s);
    return estimate_peer(method, s) + latencies(t, s) +
           t.near_messages * costs(s).message / std::min(t.aggregators, workers(s));
}

/// All slots of the node are filled and emptied again and again; each time each rank is woken once
/// (reads), or about twice. The memory stays for the accesses that follow, of this file and of
/// others: each pays a part of making it, or a program of many short accesses would never have it.
/// And ranks wait for one another (docs/results, what is left to the limit), writers while
/// others store.
double estimate_shared(const Method&, const Situation& s) {
    constexpr double kAccesses = 16;
    const double waiting = s.is_direct() ? 1 : s.reads() ? 1.1 : 1.2;
    const int node_slots = s.reads() && !s.is_direct() ? kSharedLoadSlots : kSharedSlots;
    const auto slots = static_cast<double>(node_slots * kSharedSlotBytes);
    const double times = 1 + static_cast<double>(s.hull.length()) / slots;
    const double woken = (s.reads() ? 1 : 2) * times * s.ranks_with_data * costs(s).wake;
    const double work = copied(s) + hashed(s) + woken;
    const double moved = together(s, work, hull_moved(s, kSharedSlotBytes));
    return (collective(s) + moved * waiting +
            (s.sharing.shared_ready ? 0 : costs(s).node_memory / kAccesses));
}

/// One more gather; each rank looks for its data in every region once.
double estimate_thinning(const Situation& s) {
    return collective(s) / 2;
}

/// All but what local aggregators have themselves goes one way more, on the node: in messages, each
/// with its table of runs.
double estimate_gathering(const Situation& s) {
    const Gathered g = gathered(s);
    const double work = g.share * (static_cast<double>(s.bytes) * costs(s).message_byte +
                                   static_cast<double>(s.pieces) * costs(s).message_piece);
    return (work + g.messages * costs(s).message) / workers(s);
}

/// Or in memory that they share, where only the windows are told.
double estimate_gathering_shared(const Situation& s) {
    const Gathered g = gathered(s);
    return (g.share * copied(s) + g.messages * costs(s).wake) / workers(s);
}

/// All pieces of file and memory are written down.
double estimate_listing(const Situation& s) {
    constexpr double kPieceBytes = 24;
    const auto pieces = static_cast<double>(s.pieces + s.memory_pieces);
    const double listed = pieces * (costs(s).copy_piece + kPieceBytes * costs(s).copy_byte);
    return listed / workers(s);
}

double estimate_cross_memory(const Method& method, const Situation& s) {
    return estimate_shared(method, s) + static_cast<double>(s.bytes) * costs(s).cross_byte +
           walk_pieces(s) * costs(s).cross_piece;
}

}  // namespace oratorio
