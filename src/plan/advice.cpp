// SPDX-License-Identifier: BSD-3-Clause
// Advice to the user, from what a plan says about an access. docs/user/symptoms.md says the same in
// prose, and cli/oratorio/report/advice.py has rules for whole runs.
#include <algorithm>
#include <array>

#include "base/amounts.hpp"
#include "plan/brief.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

constexpr double kSmallPiece = 4 << 10;
constexpr double kSmallData = 64 << 10;
constexpr std::int64_t kManyPieces = 32;
/// Another method is suggested only if its estimate is below this share of the plan's.
constexpr double kShare = 0.8;

std::string call_of(const Plan& plan) {
    return std::string("MPI_File_") + name_of(plan.direction) + "_all";
}

double mean_piece(const Plan& plan) {
    return static_cast<double>(plan.all.bytes) /
           static_cast<double>(std::max<std::int64_t>(1, plan.all.pieces));
}

/// Returns the cheapest candidate that is clearly cheaper than the plan's method, or null if there
/// is none. Considers candidates that `auto` may choose if `free` is true, otherwise those with a
/// reason that begins with `reason`.
const Candidate* cheaper(const Plan& plan, bool free, std::string_view reason) {
    const Candidate* least = nullptr;
    for (const Candidate& one : plan.candidates) {
        const bool wanted = free ? one.reason.empty() : one.reason.starts_with(reason);
        if (one.applies && wanted && one.seconds < kShare * plan.seconds() &&
            (least == nullptr || one.seconds < least->seconds))
            least = &one;
    }
    return least;
}

std::string instead_of(const Plan& plan, const Candidate& other) {
    return std::string(other.name) + " is estimated to take " + seconds_text(other.seconds) +
           " in place of " + seconds_text(plan.seconds());
}

/// Advises against a method requested by name if `auto` would choose a cheaper one.
std::string without_name(const Plan& plan) {
    if (plan.asked == nullptr) return "";
    const Candidate* const other = cheaper(plan, true, "");
    if (other == nullptr) return "";
    return "without the hint oratorio_method: " + instead_of(plan, *other);
}

std::string without_hint(const Plan& plan) {
    constexpr std::string_view kByHint = "left out by hint ";
    const Candidate* const other = cheaper(plan, false, kByHint);
    if (other == nullptr) return "";
    return "without the hint " + std::string(other->reason.substr(kByHint.size())) + ": " +
           instead_of(plan, *other);
}

std::string independent_pieces(const Plan& plan) {
    if (plan.collective || plan.all.pieces < 2 || mean_piece(plan) >= kSmallData) return "";
    return "one collective call of all ranks (" + call_of(plan) +
           ", with a file view); in HDF5 and netCDF, collective access";
}

std::string shared_memory(const Plan& plan) {
    const auto refused = [](const Candidate& one) {
        return !one.applies && one.reason == "shared memory is not available";
    };
    if (!std::ranges::any_of(plan.candidates, refused)) return "";
    return "shared memory: one /dev/shm for all ranks of the node, large enough for their buffers; "
           "methods that share buffers need it";
}

std::string write_without_holes(const Plan& plan) {
    if (!plan.keeps_holes()) return "";
    return "ranges of the file that the ranks write without holes or overlaps: now a buffer with "
           "holes is read first, or written piece by piece";
}

std::string denser_read(const Plan& plan) {
    constexpr Bytes kWaste = 2;
    const bool loads_holes = plan.direction == Direction::read && !plan.asks_contents() &&
                             plan.method->storage_part().buffered;
    if (!loads_holes || plan.all.span < kWaste * plan.all.bytes) return "";
    return "data that lies closer together: " + bytes_text(static_cast<double>(plan.all.span)) +
           " of the file are read for " + bytes_text(static_cast<double>(plan.all.bytes)) +
           " of data";
}

std::string larger_pieces(const Plan& plan) {
    if (plan.method->aggregated() || plan.method->storage_part().buffered ||
        plan.method->storage_part().mapped || plan.all.pieces < kManyPieces ||
        mean_piece(plan) >= kSmallPiece)
        return "";
    return "larger pieces: the storage moves each of " + std::to_string(plan.all.pieces) +
           " pieces by itself";
}

std::string more_data(const Plan& plan) {
    const double each = static_cast<double>(plan.all.bytes) / std::max(1, plan.all.ranks);
    if (each >= kSmallData) return "";
    return "more data in each call: " + bytes_text(each) +
           (plan.collective ? " per rank is little for a collective call"
                            : " is little for a call");
}

std::string contiguous_memory(const Plan& plan) {
    constexpr double kShort = 256;
    const double mean = static_cast<double>(plan.all.bytes) /
                        static_cast<double>(std::max<std::int64_t>(1, plan.all.memory_pieces));
    if (plan.all.memory_pieces < kManyPieces || mean >= kShort) return "";
    return "contiguous memory: now it has pieces of " + bytes_text(mean) + " on average";
}

}  // namespace

std::string advice_on(const Plan& plan) {
    if (plan.all.bytes > 0) {
        for (const auto rule :
             {without_name, without_hint, independent_pieces, shared_memory, write_without_holes,
              denser_read, larger_pieces, more_data, contiguous_memory}) {
            if (std::string found = rule(plan); !found.empty()) return found;
        }
    }
    return "nothing that the access itself shows; `oratorio compare` measures other methods";
}

}  // namespace oratorio
