// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/random_view.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace oratorio::test {
namespace {

int pick(Random& random, int low, int high) {
    return static_cast<int>(random.between(low, high));
}

MappedType random_etype(Random& random) {
    switch (random.below(7)) {
        case 0:
            return MappedType::named(MPI_BYTE);
        case 1:
            return MappedType::named(MPI_INT);
        case 2:
            return MappedType::named(MPI_DOUBLE);
        case 3:
            return MappedType::contiguous(3, MappedType::named(MPI_SHORT));
        case 4: {
            const MappedType integer = MappedType::named(MPI_INT);
            const MappedType real = MappedType::named(MPI_DOUBLE);
            return MappedType::structure({0, 8}, {&integer, &real});
        }
        case 5:
            return MappedType::vector(2, 1, 2, MappedType::named(MPI_INT));
        default:
            return MappedType::resized(0, 7,
                                       MappedType::contiguous(5, MappedType::named(MPI_BYTE)));
    }
}

MappedType ascending(Random& random, const MappedType& unit, int room, int depth);

MappedType ascending_blocks(Random& random, const MappedType& unit, int room) {
    std::vector<int> lengths, places;
    int at = pick(random, 0, room / 3);
    while (at < room && lengths.size() < 12) {
        lengths.push_back(pick(random, 1, std::min(4, room - at)));
        places.push_back(at);
        at += lengths.back() + pick(random, 0, 3);
    }
    if (random.chance(50)) return MappedType::indexed(lengths, places, unit);
    std::vector<MPI_Aint> bytes;
    for (const int place : places) bytes.push_back(place * unit.extent());
    return MappedType::hindexed(lengths, bytes, unit);
}

/// Returns a type of at least one unit, with ascending displacements, all within `room` units from
/// 0.
MappedType ascending(Random& random, const MappedType& unit, int room, int depth) {
    if (depth == 0 || room < 4) return MappedType::contiguous(pick(random, 1, room), unit);
    switch (random.below(5)) {
        case 0: {
            const int length = pick(random, 1, room / 2);
            const int stride = length + pick(random, 0, room / 3);
            return MappedType::vector(pick(random, 1, (room - length) / stride + 1), length, stride,
                                      unit);
        }
        case 1:
            return ascending_blocks(random, unit, room);
        case 2: {
            const int half = room / 2;
            const MappedType low = ascending(random, unit, half, depth - 1);
            const MappedType high = ascending(random, unit, room - half, depth - 1);
            return MappedType::structure({0, half * unit.extent()}, {&low, &high});
        }
        case 3: {
            const int parts = pick(random, 1, 4), each = room / parts;
            return MappedType::hvector(parts, 1, each * unit.extent(),
                                       ascending(random, unit, each, depth - 1));
        }
        default: {
            const int rows = pick(random, 1, room / 2), columns = room / rows;
            const int high = pick(random, 1, rows), wide = pick(random, 1, columns);
            std::vector<int> sizes{rows, columns}, parts{high, wide},
                starts{pick(random, 0, rows - high), pick(random, 0, columns - wide)};
            return MappedType::subarray(sizes, parts, starts,
                                        random.chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, unit);
        }
    }
}

std::vector<int> grid_of(int ranks, int dimensions) {
    std::vector<int> grid(static_cast<std::size_t>(dimensions), 0);
    MPI_Dims_create(ranks, dimensions, grid.data());
    return grid;
}

struct Making {
    Random& random;
    int ranks;
    MPI_Offset base;
    RandomViews& views;

    MPI_Aint unit() const { return views.etype->extent(); }
    void add(MPI_Offset displacement, MappedType filetype) {
        views.of_rank.push_back({displacement, std::move(filetype)});
    }
};

void separate_regions(Making& m) {
    for (int r = 0; r < m.ranks; ++r) {
        m.add(m.base + r * m.views.etypes * m.unit(), MappedType::contiguous(1, *m.views.etype));
    }
}

void tiles_in_turn(Making& m) {
    const int room = pick(m.random, 2, 40);
    for (int r = 0; r < m.ranks; ++r) {
        const MappedType own = ascending(m.random, *m.views.etype, room, 2);
        m.add(m.base + r * room * m.unit(), MappedType::resized(0, m.ranks * room * m.unit(), own));
    }
}

void random_partition(Making& m) {
    const int room = m.ranks * pick(m.random, 1, 12);
    std::vector<std::vector<int>> owned(static_cast<std::size_t>(m.ranks));
    for (int i = 0; i < room; ++i) {
        const int owner = i < m.ranks ? i : pick(m.random, 0, m.ranks);
        if (owner < m.ranks) owned[static_cast<std::size_t>(owner)].push_back(i);
    }
    for (const std::vector<int>& places : owned) {
        const std::vector<int> ones(places.size(), 1);
        m.add(m.base, MappedType::resized(0, room * m.unit(),
                                          MappedType::indexed(ones, places, *m.views.etype)));
    }
}

void distributed_array(Making& m) {
    const int dimensions = pick(m.random, 1, 3);
    const std::vector<int> grid = grid_of(m.ranks, dimensions);
    std::vector<int> sizes, blocks;
    for (const int processes : grid) {
        const int block = pick(m.random, 0, 2);
        blocks.push_back(block);
        sizes.push_back(block == 0 ? processes * pick(m.random, 1, 4)
                                   : processes * block + pick(m.random, 0, 5));
    }
    const int order = m.random.chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    for (int r = 0; r < m.ranks; ++r) {
        m.add(m.base, MappedType::darray(r, sizes, blocks, grid, order, *m.views.etype));
    }
}

void blocks_of_array(Making& m) {
    const std::vector<int> grid = grid_of(m.ranks, 2);
    const std::vector<int> parts{pick(m.random, 1, 6), pick(m.random, 1, 6)};
    const std::vector<int> sizes{grid[0] * parts[0] + 1, grid[1] * parts[1] + 2};
    const int order = m.random.chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    for (int r = 0; r < m.ranks; ++r) {
        const std::vector<int> starts{r / grid[1] * parts[0] + 1, r % grid[1] * parts[1] + 1};
        m.add(m.base, MappedType::subarray(sizes, parts, starts, order, *m.views.etype));
    }
}

void pieces_in_turn(Making& m) {
    const int length = pick(m.random, 1, 9), count = pick(m.random, 1, 20);
    const int stride = length * m.ranks + pick(m.random, 0, 3);
    for (int r = 0; r < m.ranks; ++r) {
        m.add(m.base + r * length * m.unit(),
              MappedType::resized(0, static_cast<MPI_Aint>(count) * stride * m.unit(),
                                  MappedType::vector(count, length, stride, *m.views.etype)));
    }
}

/// Makes tiles of two pieces, the second in the free half of a later tile.
void interleaving_tiles(Making& m) {
    const int length = pick(m.random, 1, 5), half = length * m.ranks, apart = pick(m.random, 1, 4);
    for (int r = 0; r < m.ranks; ++r) {
        m.add(m.base + r * length * m.unit(),
              MappedType::resized(0, 2 * half * m.unit(),
                                  MappedType::hvector(2, length, (2 * apart + 1) * half * m.unit(),
                                                      *m.views.etype)));
    }
    m.views.interleaving = true;
}

/// Makes views that overlap those of other ranks. No view overlaps itself, as not all hosts support
/// that.
void overlapping_views(Making& m) {
    for (int r = 0; r < m.ranks; ++r) {
        const int room = pick(m.random, 2, 60);
        const MappedType own = ascending(m.random, *m.views.etype, room, 2);
        m.add(m.base + pick(m.random, 0, 50), MappedType::resized(0, room * m.unit(), own));
    }
    m.views.overlapping = true;
}

struct Kind {
    const char* name;
    void (*make)(Making&);
};
constexpr Kind kKinds[] = {
    {"separate regions", separate_regions},     {"tiles in turn", tiles_in_turn},
    {"random partition", random_partition},     {"distributed array", distributed_array},
    {"blocks of array", blocks_of_array},       {"pieces in turn", pieces_in_turn},
    {"interleaving tiles", interleaving_tiles}, {"overlapping views", overlapping_views}};

}  // namespace

std::vector<MPI_Offset> FileView::places(MPI_Offset first, MPI_Offset bytes) const {
    std::vector<MPI_Offset> places;
    MPI_Offset tile = first / filetype.size(), skip = first % filetype.size();
    for (; static_cast<MPI_Offset>(places.size()) < bytes; ++tile) {
        for (const MappedType::Block& block : filetype.map()) {
            for (MPI_Aint i = 0; i < block.length; ++i) {
                if (skip > 0) {
                    --skip;
                } else if (static_cast<MPI_Offset>(places.size()) < bytes) {
                    places.push_back(displacement + tile * filetype.extent() + block.at + i);
                }
            }
        }
    }
    return places;
}

MPI_Offset FileView::data_before(MPI_Offset offset) const {
    if (offset <= displacement) return 0;
    const MPI_Offset tile = (offset - displacement) / filetype.extent();
    const MPI_Offset rest = (offset - displacement) % filetype.extent();
    MPI_Offset before = tile * filetype.size();
    for (const MappedType::Block& block : filetype.map()) {
        before += std::clamp<MPI_Offset>(rest - block.at, 0, block.length);
    }
    return before;
}

RandomViews random_views(Random& random, int ranks, MPI_Offset base, bool for_reading) {
    RandomViews views;
    views.etype = std::make_unique<MappedType>(random_etype(random));
    views.etypes = pick(random, 40, 400);
    Making making{random, ranks, base, views};
    const Kind& kind = for_reading && random.chance(50)
                           ? kKinds[std::size(kKinds) - 1]
                           : kKinds[random.below(std::size(kKinds) - 1)];
    kind.make(making);
    views.kind = kind.name;
    return views;
}

MappedType random_memory(Random& random, int units, const MappedType& unit) {
    const MPI_Aint step = unit.extent() + pick(random, 0, 9);
    const auto made = [&]() -> MappedType {
        switch (random.below(4)) {
            case 0:
                return MappedType::contiguous(units, unit);
            case 1:
                return MappedType::hvector(units, 1, random.chance(50) ? step : -step, unit);
            case 2: {
                std::vector<MPI_Aint> places(static_cast<std::size_t>(2 * units));
                for (std::size_t i = 0; i < places.size(); ++i)
                    places[i] = (static_cast<MPI_Aint>(i) - units) * step;
                for (std::size_t i = places.size(); i-- > 1;)
                    std::swap(places[i], places[random.below(i + 1)]);
                places.resize(static_cast<std::size_t>(units));
                return MappedType::hindexed(std::vector<int>(places.size(), 1), places, unit);
            }
            default: {
                const int first = (units + 1) / 2;
                const MappedType low = MappedType::contiguous(first, unit);
                const MappedType high =
                    MappedType::hvector(std::max(units - first, 1), 1, step, unit);
                if (units == first) return MappedType::structure({step}, {&low});
                return MappedType::structure({0, -(units - first) * step - 5}, {&low, &high});
            }
        }
    }();
    MPI_Aint low = made.map().front().at, high = low;
    for (const MappedType::Block& block : made.map()) {
        low = std::min(low, block.at);
        high = std::max(high, block.at + block.length);
    }
    if (random.chance(30) && low >= 0)
        return MappedType::resized(0, high + pick(random, 0, 20), made);
    return MappedType::resized(low - pick(random, 0, 20), high - low + pick(random, 0, 20), made);
}

}  // namespace oratorio::test
