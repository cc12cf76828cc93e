// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/predefined_layouts.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <mutex>

namespace oratorio {
namespace {

/// One datatype and its layout. Never changed and never destroyed, because other threads may be
/// reading it.
struct Known {
    MPI_Datatype type;
    ShapePtr shape;      ///< keeps the shape
    DecodedType layout;  ///< its pointer to the shape counts no references, so copies cost less
};

/// A hash table with open addressing. An entry is set once; the release store publishes it to the
/// acquire loads. At least half of the table stays empty, so that every search ends.
constexpr std::size_t kPlaces = 512;
std::array<std::atomic<const Known*>, kPlaces> table{};
std::mutex adding;  // guards `count`, and changes of `table`
std::size_t count = 0;

/// Returns the place of the datatype's entry, or the empty place where its entry belongs.
std::atomic<const Known*>& place_of(MPI_Datatype type) {
    const std::size_t hash = std::hash<MPI_Datatype>()(type);
    for (std::size_t at = hash + hash / kPlaces;; ++at) {
        std::atomic<const Known*>& place = table[at % kPlaces];
        const Known* const known = place.load(std::memory_order_acquire);
        if (known == nullptr || known->type == type) return place;
    }
}

}  // namespace

const DecodedType* find_predefined(MPI_Datatype type) {
    const Known* const known = place_of(type).load(std::memory_order_acquire);
    return known != nullptr ? &known->layout : nullptr;
}

void keep_predefined(MPI_Datatype type, const DecodedType& layout) {
    const std::lock_guard lock(adding);
    std::atomic<const Known*>& place = place_of(type);
    if (place.load(std::memory_order_relaxed) != nullptr || count == kPlaces / 2) return;
    auto* const known = new Known{type, layout.shape, layout};
    known->layout.shape = ShapePtr(ShapePtr(), known->shape.get());
    place.store(known, std::memory_order_release);
    ++count;
}

}  // namespace oratorio
