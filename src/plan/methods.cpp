#include "plan/methods.hpp"

#include <algorithm>
#include <array>

namespace oratorio {

namespace {

// Estimates are seconds from the first rank's start to the last one's end. Constants: costs.def.
constexpr double kNano = 1e-9;
constexpr Bytes kPage = 4096;

const Costs& costs(const Situation& s) {
    return s.options->costs;
}
bool reads(const Situation& s) {
    return s.direction == Direction::read;
}
bool is_direct(const Situation& s) {
    return reads(s) ? s.options->direct_read : s.options->direct_write;
}
/// Cores that can work for the access at once.
double workers(const Situation& s) {
    return std::max(1, std::min(s.ranks_with_data, s.cores));
}
/// Pieces of memory and file, as one walk over both meets them.
double walk_pieces(const Situation& s) {
    return static_cast<double>(std::max(s.pieces, s.memory_pieces));
}
double read_storage(const Situation& s, double bytes, double calls) {
    const Costs& c = costs(s);
    return is_direct(s) ? bytes * c.direct_read_byte + calls * c.direct_read_call
                        : bytes * c.read_byte + calls * c.read_call;
}
double write_storage(const Situation& s, double bytes, double calls) {
    const Costs& c = costs(s);
    return is_direct(s) ? bytes * c.direct_write_byte + calls * c.direct_write_call
                        : bytes * c.write_byte + calls * c.write_call;
}
/// What storage takes to move `bytes` in `calls` calls: a core's time where the page cache is
/// between, the device's where it isn't.
double storage(const Situation& s, double bytes, double calls) {
    return reads(s) ? read_storage(s, bytes, calls) : write_storage(s, bytes, calls);
}
/// The same in calls that all ranks make by themselves: writers wait for each other.
double storage_by_all(const Situation& s, double bytes, double calls) {
    const bool contended = !reads(s) && !is_direct(s) && s.ranks_with_data > 1;
    const double more = contended ? costs(s).contended_byte - costs(s).write_byte : 0;
    return storage(s, bytes, calls) + bytes * std::max(0.0, more);
}
/// The whole hull, and before it is written, its holes.
double hull_moved(const Situation& s, Bytes buffer) {
    const auto bytes = static_cast<double>(s.hull.length());
    const double calls = 1 + bytes / static_cast<double>(std::max<Bytes>(1, buffer));
    const double holes = !reads(s) && !s.covered ? read_storage(s, bytes, calls) : 0;
    return storage(s, bytes, calls) + holes;
}
/// Work of the ranks and of the storage on the same cores. Reads are done side by side; writers of
/// one file wait for each other, so that writes take at least as long as one core needs for them.
/// A device works beside the cores, for all ranks.
double together(const Situation& s, double ranks_work, double storage_work) {
    if (is_direct(s)) return std::max(ranks_work / workers(s), storage_work);
    const double shared_out = (ranks_work + storage_work) / workers(s);
    return reads(s) ? shared_out : std::max(shared_out, storage_work);
}
/// Agreeing at the begin and at the end.
double collective(const Situation& s) {
    return s.collective ? 2 * s.ranks * costs(s).collective : 0;
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
    const bool looks = s.collective && !reads(s);
    return looks ? static_cast<double>(s.pieces) * costs(s).hash_piece : 0;
}

std::string_view always(const Situation&) {
    return "";
}

std::string_view needs_monotonic(const Situation& s) {
    return s.interleaved ? "the tiles of a view interleave, so data can't be found by offset" : "";
}

std::string_view needs_collective(const Situation& s) {
    if (!s.collective) return "only collective calls have other ranks to talk to";
    if (s.options->atomic) return "atomic mode locks each rank's own range";
    if (!s.storable) return "no rank has the file open";
    return needs_monotonic(s);
}

std::string_view needs_node(const Situation& s) {
    if (!s.one_node) return "the ranks are on several nodes";
    if (!s.options->shared_memory) return "shared memory could not be had";
    return needs_collective(s);
}

std::string_view needs_cross_memory(const Situation& s) {
    if (!s.options->cross_memory) return "the kernel refuses cross-memory attach";
    if (s.large_layout) return "a datatype lists too many offsets for another rank to walk it";
    return needs_node(s);
}

std::string_view needs_mapping(const Situation& s) {
    if (!s.options->mappable) return "the file can't be mapped";
    if (is_direct(s)) return "direct I/O goes past the page cache";
    if (!s.options->coherent) return "mappings of several nodes may not see each other";
    if (!reads(s) && !s.collective && !s.options->alone)
        return "other ranks may make the file longer meanwhile, which mappings don't survive";
    return needs_monotonic(s);
}

double cost_list(const Situation& s) {
    constexpr Bytes kStagedBelow = 1024;  // run/list_work
    const auto bytes = static_cast<double>(s.bytes);
    const bool staged = s.bytes / std::max<std::int64_t>(1, s.memory_pieces) < kStagedBelow;
    // What storage calls move is in no cache, unlike a collective buffer.
    const double memory = staged ? copied(s) : bytes * costs(s).copy_byte;
    const double moved = storage_by_all(s, bytes, static_cast<double>(s.pieces));
    return kNano * (collective(s) + together(s, hashed(s) + memory, moved));
}

/// As the list, with nothing outstanding beside the one call.
double cost_naive(const Situation& s) {
    return 1.05 * cost_list(s);
}

/// Each rank moves its own hull, so that interleaved ranks together move it as often as they are;
/// and copies its data.
double cost_sieve(const Situation& s) {
    const Bytes buffer = reads(s) ? s.options->ind_rd_buffer_size : s.options->ind_wr_buffer_size;
    return kNano * (collective(s) +
                    together(s, hashed(s) + copied(s), s.ranks_with_data * hull_moved(s, buffer)));
}

double cost_two_phase(const Situation& s) {
    const double exchanged =
        static_cast<double>(s.bytes) * costs(s).message_byte +
        static_cast<double>(s.pieces + s.memory_pieces) * costs(s).message_piece;
    return kNano * (2 * collective(s) +
                    together(s, hashed(s) + exchanged, hull_moved(s, s.options->cb_buffer_size)));
}

/// All slots of the node are filled and emptied again and again; each time each rank is woken once
/// (reads), or about twice. The memory stays for the accesses that follow, of this file and of
/// others: each pays a part of making it, or a program of many short accesses would never have it.
/// And ranks wait for one another (docs/benchmarks.md, what is left to the limit), writers while
/// others store.
double cost_shared(const Situation& s) {
    constexpr double kAccesses = 16;
    const double waiting = is_direct(s) ? 1 : reads(s) ? 1.1 : 1.2;
    const int node_slots = reads(s) && !is_direct(s) ? kSharedLoadSlots : kSharedSlots;
    const auto slots = static_cast<double>(node_slots * kSharedSlotBytes);
    const double times = 1 + static_cast<double>(s.hull.length()) / slots;
    const double woken = (reads(s) ? 1 : 2) * times * s.ranks_with_data * costs(s).wake;
    const double work = copied(s) + hashed(s) + woken;
    const double moved = together(s, work, hull_moved(s, kSharedSlotBytes));
    return kNano * (collective(s) + moved * waiting +
                    (s.options->shared_ready ? 0 : costs(s).node_memory / kAccesses));
}

double cost_cross_memory(const Situation& s) {
    return cost_shared(s) + kNano * (static_cast<double>(s.bytes) * costs(s).cross_byte +
                                     walk_pieces(s) * costs(s).cross_piece);
}

/// Every page that a rank touches is mapped by that rank; to be read, with its neighbours. Bytes
/// come from the page cache's memory, and with small pieces whole lines of it.
double cost_mapped(const Situation& s) {
    constexpr double kFaultAround = 16;
    constexpr double kLine = 64;
    const auto bytes = static_cast<double>(s.bytes);
    const auto pieces = static_cast<double>(s.pieces);
    const double per_page = reads(s) ? costs(s).map_read_page : costs(s).map_write_page;
    const double hulls = static_cast<double>(s.hull.length()) / kPage * s.ranks_with_data;
    const double touched = (pieces + bytes / kPage) * (reads(s) ? kFaultAround : 1);
    const double pages = std::min(hulls, touched);
    const double fetched = (reads(s) ? bytes * costs(s).read_byte : 0) +
                           (bytes < kLine * pieces ? pieces * costs(s).piece_line : 0);
    const double windows =
        s.ranks_with_data + static_cast<double>(s.parts) * pages * kPage / kMapWindowBytes;
    const double extended = reads(s) ? 0 : collective(s);
    return kNano *
           (collective(s) + extended +
            (copied(s) + fetched + hashed(s) + pages * per_page + windows * costs(s).map_window) /
                workers(s));
}

constexpr std::array kMethods{
    Method{"list_io", "each rank's pieces, many outstanding at once", DomainKind::none,
           ExchangeKind::none, StorageCalls::list, 1, true, always, cost_list},
    Method{"mmap", "the file mapped, pieces copied with two datatype iterators", DomainKind::none,
           ExchangeKind::none, StorageCalls::mapped, 1, true, needs_mapping, cost_mapped},
    Method{"shared_buffer", "each rank copies into collective buffers that the node shares",
           DomainKind::sliced, ExchangeKind::shared, StorageCalls::buffered, 0, true, needs_node,
           cost_shared},
    Method{"two_phase", "exchange by messages, file domains even, one buffer", DomainKind::even,
           ExchangeKind::peer, StorageCalls::buffered, 1, true, needs_collective, cost_two_phase},
    Method{"sieve", "data sieving: each rank moves whole ranges and picks its pieces",
           DomainKind::none, ExchangeKind::none, StorageCalls::buffered, 1, true, needs_monotonic,
           cost_sieve},
    Method{"shared_buffer_list", "shared_buffer with flattened lists of all pieces",
           DomainKind::sliced, ExchangeKind::shared_list, StorageCalls::buffered, 0, false,
           needs_node, cost_shared},
    Method{"shared_data", "aggregators reach into the memory of the other ranks", DomainKind::even,
           ExchangeKind::direct, StorageCalls::buffered, 2, false, needs_cross_memory,
           cost_cross_memory},
    Method{"double_buffer", "two_phase with two sub-buffers, exchange and storage overlap",
           DomainKind::even, ExchangeKind::peer, StorageCalls::buffered, 2, false, needs_collective,
           cost_two_phase},
    Method{"multithreaded", "two_phase with four sub-buffers and a thread for the storage",
           DomainKind::even, ExchangeKind::peer, StorageCalls::buffered, 4, false, needs_collective,
           cost_two_phase, 0, true},
    Method{"cb_cyclic", "two_phase with CYCLIC(n) file domains", DomainKind::cyclic,
           ExchangeKind::peer, StorageCalls::buffered, 1, false, needs_collective, cost_two_phase},
    Method{"cb_file_layout", "two_phase with file domains that follow the stripes",
           DomainKind::stripes, ExchangeKind::peer, StorageCalls::buffered, 1, false,
           needs_collective, cost_two_phase},
    Method{"one_writer", "one rank does all storage calls", DomainKind::even, ExchangeKind::peer,
           StorageCalls::buffered, 1, false, needs_collective, cost_two_phase, 1},
    Method{"naive", "each rank's pieces, one call each", DomainKind::none, ExchangeKind::none,
           StorageCalls::contiguous, 1, false, always, cost_naive},
};

/// Data sieving writes give bytes back that nobody asked to be written, so `auto` never picks them
/// for writes unless told to.
bool allowed_by_hints(const Method& method, const Situation& s) {
    const bool read = s.direction == Direction::read;
    const Toggle collective = read ? s.options->cb_read : s.options->cb_write;
    const Toggle sieving = read ? s.options->ds_read : s.options->ds_write;
    // What ranks can share is neither sent between them nor fetched by each of them.
    const bool shared = collective != Toggle::disable && needs_node(s).empty();
    if (shared && method.exchange == ExchangeKind::peer) return false;
    if (shared && method.storage == StorageCalls::buffered && !method.aggregated() &&
        s.ranks_with_data > 1 && sieving != Toggle::enable)
        return false;
    if (method.aggregated()) return collective != Toggle::disable;
    if (collective == Toggle::enable && s.collective && needs_collective(s).empty()) return false;
    // Stores to a mapping may be lost where somebody makes the file longer meanwhile (decision
    // 0012).
    if (method.storage == StorageCalls::mapped && !(read && s.options->local_file_system))
        return false;
    if (method.storage != StorageCalls::buffered)
        return sieving != Toggle::enable || !needs_monotonic(s).empty() || s.collective;
    return read ? sieving != Toggle::disable : sieving == Toggle::enable;
}

}  // namespace

std::span<const Method> methods() {
    return kMethods;
}

const Method* find_method(std::string_view name) {
    for (const Method& method : kMethods) {
        if (method.name == name) return &method;
    }
    return nullptr;
}

Choice choose_method(const Situation& situation) {
    Choice choice;
    choice.candidates.reserve(kMethods.size());
    const Method* best = nullptr;
    double least = 0;
    for (const Method& method : kMethods) {
        const std::string_view refusal = method.refuses(situation);
        const double seconds = method.seconds(situation);
        choice.candidates.push_back({method.name, refusal.empty(), seconds, refusal});
        if (!refusal.empty()) continue;
        if (method.name == situation.options->method) {
            choice.method = &method;
            choice.why = "asked for by name";
        }
        if (!method.automatic || !allowed_by_hints(method, situation)) continue;
        if (best == nullptr || seconds < least) {
            best = &method;
            least = seconds;
        }
    }
    if (choice.method == nullptr) {
        choice.method = best != nullptr ? best : find_method("list_io");
        const bool asked = situation.options->method != "auto";
        choice.why =
            asked ? "cheapest, as the one asked for does not apply" : "cheapest of the candidates";
    }
    return choice;
}

}  // namespace oratorio
