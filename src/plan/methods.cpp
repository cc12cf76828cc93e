#include "plan/methods.hpp"

#include <array>

namespace oratorio {

namespace {

// Seconds, measured on one node with 2 cores and tmpfs (docs/decisions/0003-cost-constants.md).
// Only ratios matter.
struct StorageCost {
    double call;  // one small call; writes of several ranks wait for each other at the file
    double byte;  // between memory and page cache
};
constexpr StorageCost kRead{1.1e-6, 0.37e-9};
constexpr StorageCost kWrite{4.5e-6, 1.15e-9};
constexpr double kByteSent = 2.0e-9;    // packing, sending and placing one byte
constexpr double kByteCopied = 0.3e-9;  // between memory and a buffer of one's own
constexpr double kPiece = 12e-9;        // describing and placing one piece of a message
constexpr double kPieceLocal = 4e-9;  // copying one piece between memory and a buffer of one's own
constexpr double kRoundOfRank =
    60e-6;  // a collective's fixed cost: summary, agreement, first messages

const StorageCost& cost_of(const Situation& s) {
    return s.direction == Direction::read ? kRead : kWrite;
}
double calls(const Situation& s) {
    return static_cast<double>(s.pieces) * cost_of(s).call;
}
double stored(const Situation& s) {
    return static_cast<double>(s.bytes) * cost_of(s).byte;
}
/// The whole hull, and before it is written, its holes.
double hull_stored(const Situation& s) {
    const auto bytes = static_cast<double>(s.hull.length());
    const double holes = s.direction == Direction::write && !s.covered ? bytes * kRead.byte : 0;
    return bytes * cost_of(s).byte + holes;
}
double per_piece(const Situation& s, double seconds) {
    return static_cast<double>(s.pieces + s.memory_pieces) * seconds;
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

double cost_list(const Situation& s) {
    return calls(s) + stored(s) + per_piece(s, kPieceLocal);
}

/// As the list, with nothing outstanding beside the one call.
double cost_naive(const Situation& s) {
    return cost_list(s) + 0.05 * calls(s);
}

/// Each rank moves its own hull, so that interleaved ranks together move it as often as they are;
/// and copies its data.
double cost_sieve(const Situation& s) {
    const Bytes buffer = s.direction == Direction::read ? s.options->ind_rd_buffer_size
                                                        : s.options->ind_wr_buffer_size;
    const double calls_each =
        1 + static_cast<double>(s.hull.length()) / static_cast<double>(buffer);
    const double of_one = hull_stored(s) + calls_each * cost_of(s).call;
    return of_one * s.ranks_with_data + static_cast<double>(s.bytes) * kByteCopied +
           per_piece(s, kPieceLocal);
}

double cost_two_phase(const Situation& s) {
    return kRoundOfRank * s.ranks + hull_stored(s) + static_cast<double>(s.bytes) * kByteSent +
           per_piece(s, kPiece);
}

constexpr std::array kMethods{
    Method{"list_io", "each rank's pieces, many outstanding at once", DomainKind::none,
           StorageCalls::list, 1, 0, true, always, cost_list},
    Method{"two_phase", "exchange by messages, file domains even, one buffer", DomainKind::even,
           StorageCalls::buffered, 1, 0, true, needs_collective, cost_two_phase},
    Method{"sieve", "data sieving: each rank moves whole ranges and picks its pieces",
           DomainKind::none, StorageCalls::buffered, 1, 0, true, needs_monotonic, cost_sieve},
    Method{"double_buffer", "two_phase with two sub-buffers, exchange and storage overlap",
           DomainKind::even, StorageCalls::buffered, 2, 0, false, needs_collective, cost_two_phase},
    Method{"cb_cyclic", "two_phase with CYCLIC(n) file domains", DomainKind::cyclic,
           StorageCalls::buffered, 1, 0, false, needs_collective, cost_two_phase},
    Method{"cb_file_layout", "two_phase with file domains that follow the stripes",
           DomainKind::stripes, StorageCalls::buffered, 1, 0, false, needs_collective,
           cost_two_phase},
    Method{"one_writer", "one rank does all storage calls", DomainKind::even,
           StorageCalls::buffered, 1, 1, false, needs_collective, cost_two_phase},
    Method{"naive", "each rank's pieces, one call each", DomainKind::none, StorageCalls::contiguous,
           1, 0, false, always, cost_naive},
};

/// Data sieving writes give bytes back that nobody asked to be written, so `auto` never picks them
/// for writes unless told to.
bool allowed_by_hints(const Method& method, const Situation& s) {
    const bool read = s.direction == Direction::read;
    const Toggle collective = read ? s.options->cb_read : s.options->cb_write;
    const Toggle sieving = read ? s.options->ds_read : s.options->ds_write;
    if (method.aggregated()) return collective != Toggle::disable;
    if (collective == Toggle::enable && s.collective && needs_collective(s).empty()) return false;
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
