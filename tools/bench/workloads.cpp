// The synthetic workloads, and the table of all of them.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "access.hpp"

namespace bench {

const std::string& Params::text(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw std::invalid_argument("parameter missing: " + name);
    return found->second;
}

std::uint64_t Params::number(const std::string& name) const {
    const std::string& value = text(name);
    std::size_t used = 0;
    const long long number = std::stoll(value, &used);
    if (used != value.size() || number <= 0) {
        throw std::invalid_argument(name + " must be a whole number above zero, not " + value);
    }
    return static_cast<std::uint64_t>(number);
}

namespace {

int to_int(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
        throw std::invalid_argument("too large for an int count: " + std::to_string(value));
    }
    return static_cast<int>(value);
}

MPI_Datatype committed(MPI_Datatype type) {
    MPI_Type_commit(&type);
    return type;
}

MPI_Datatype contiguous(std::uint64_t count, MPI_Datatype of) {
    MPI_Datatype type;
    MPI_Type_contiguous(to_int(count), of, &type);
    return committed(type);
}

/// `count` blocks of `bytes` bytes, `stride` bytes apart.
MPI_Datatype strided_bytes(std::uint64_t count, std::uint64_t bytes, std::uint64_t stride) {
    MPI_Datatype type;
    MPI_Type_create_hvector(to_int(count), to_int(bytes), static_cast<MPI_Aint>(stride), MPI_BYTE,
                            &type);
    return committed(type);
}

/// What a rank has along one dimension that is distributed BLOCK.
struct Range {
    std::uint64_t first;
    std::uint64_t count;
};

Range block_range(std::uint64_t n, int parts, int part) {
    const auto p = static_cast<std::uint64_t>(parts);
    const std::uint64_t block = (n + p - 1) / p;
    const std::uint64_t first = std::min(n, block * static_cast<std::uint64_t>(part));
    return {first, std::min(block, n - first)};
}

/// coll_perf: an n^3 array of ints, distributed (BLOCK, BLOCK, BLOCK); memory is contiguous.
Access make_block3d(const Params& params, Place place) {
    const std::uint64_t n = params.number("n");
    std::array<int, 3> grid{};
    MPI_Dims_create(place.ranks, 3, grid.data());
    const std::array<int, 3> at{place.rank / (grid[1] * grid[2]), place.rank / grid[2] % grid[1],
                                place.rank % grid[2]};
    std::array<Range, 3> mine{};
    for (std::size_t d = 0; d < 3; ++d) mine[d] = block_range(n, grid[d], at[d]);
    const std::uint64_t count = mine[0].count * mine[1].count * mine[2].count;

    Access access;
    access.buffer_bytes = count * sizeof(int);
    access.make_types = [=] {
        const std::array<int, 3> sizes{to_int(n), to_int(n), to_int(n)};
        const std::array<int, 3> block{MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK,
                                       MPI_DISTRIBUTE_BLOCK};
        const std::array<int, 3> dargs{MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG,
                                       MPI_DISTRIBUTE_DFLT_DARG};
        MPI_Datatype file;
        MPI_Type_create_darray(place.ranks, place.rank, 3, sizes.data(), block.data(), dargs.data(),
                               grid.data(), MPI_ORDER_C, MPI_INT, &file);
        return Types{MPI_INT, committed(file), contiguous(count, MPI_INT)};
    };
    access.for_each_piece = [=](const PieceVisitor& visit) {
        const std::uint64_t row = mine[2].count * sizeof(int);
        std::uint64_t memory = 0;
        for (std::uint64_t z = mine[0].first; z < mine[0].first + mine[0].count; ++z) {
            for (std::uint64_t y = mine[1].first; y < mine[1].first + mine[1].count; ++y) {
                const std::uint64_t file = ((z * n + y) * n + mine[2].first) * sizeof(int);
                if (row > 0) visit({memory, file, row});
                memory += row;
            }
        }
    };
    return access;
}

/// A 1-D array distributed CYCLIC(block); memory is contiguous.
Access make_cyclic(const Params& params, Place place) {
    const std::uint64_t block = params.number("block");
    if (block % sizeof(int) != 0) throw std::invalid_argument("block must be a multiple of 4");
    const std::uint64_t blocks = std::max<std::uint64_t>(1, params.number("bytes") / block);
    const auto ranks = static_cast<std::uint64_t>(place.ranks);
    const auto rank = static_cast<std::uint64_t>(place.rank);

    Access access;
    access.buffer_bytes = blocks * block;
    access.make_types = [=] {
        const int size = to_int(blocks * ranks * block / sizeof(int));
        const int how = MPI_DISTRIBUTE_CYCLIC;
        const int darg = to_int(block / sizeof(int));
        MPI_Datatype file;
        MPI_Type_create_darray(place.ranks, place.rank, 1, &size, &how, &darg, &place.ranks,
                               MPI_ORDER_C, MPI_INT, &file);
        return Types{MPI_INT, committed(file), contiguous(blocks * block / sizeof(int), MPI_INT)};
    };
    access.for_each_piece = [=](const PieceVisitor& visit) {
        for (std::uint64_t i = 0; i < blocks; ++i) {
            visit({i * block, (i * ranks + rank) * block, block});
        }
    };
    return access;
}

/// Pieces of `bytes` bytes dealt to the ranks in turn, `file_step` bytes apart in the file and
/// `memory_step` bytes apart in memory.
Access make_dealt(std::uint64_t count, std::uint64_t bytes, std::uint64_t file_step,
                  std::uint64_t memory_step, Place place) {
    const std::uint64_t round = file_step * static_cast<std::uint64_t>(place.ranks);
    const std::uint64_t first = file_step * static_cast<std::uint64_t>(place.rank);

    Access access;
    access.displacement = static_cast<MPI_Offset>(first);
    access.buffer_bytes = count * memory_step;
    if (file_step > bytes) access.holes = {.period = file_step, .kept = bytes};
    access.make_types = [=] {
        return Types{MPI_BYTE, strided_bytes(count, bytes, round),
                     strided_bytes(count, bytes, memory_step)};
    };
    access.for_each_piece = [=](const PieceVisitor& visit) {
        for (std::uint64_t i = 0; i < count; ++i) {
            visit({i * memory_step, first + i * round, bytes});
        }
    };
    return access;
}

/// Rank r owns every P-th double of the file; in memory they lie 16 bytes apart.
Access make_vec8(const Params& params, Place place) {
    return make_dealt(params.number("count"), 8, 8, 16, place);
}

/// HPIO: regions with a gap after each, in memory and in the file.
Access make_hpio(const Params& params, Place place) {
    const std::uint64_t region = params.number("region");
    const std::uint64_t step = region + params.number("space");
    return make_dealt(params.number("count"), region, step, step, place);
}

/// Blocks of a file that is tiled completely, dealt to the ranks by a seeded permutation.
Access make_random(const Params& params, Place place) {
    const std::uint64_t block = params.number("block");
    const std::uint64_t count = params.number("count");
    std::vector<std::uint64_t> deck(count * static_cast<std::uint64_t>(place.ranks));
    std::iota(deck.begin(), deck.end(), std::uint64_t{0});
    std::mt19937_64 random(params.number("seed"));
    for (std::size_t i = deck.size() - 1; i > 0; --i) std::swap(deck[i], deck[random() % (i + 1)]);
    const auto begin = deck.begin() + static_cast<std::ptrdiff_t>(count) * place.rank;
    std::vector<std::uint64_t> mine(begin, begin + static_cast<std::ptrdiff_t>(count));
    std::sort(mine.begin(), mine.end());  // a view's offsets must not decrease

    Access access;
    access.buffer_bytes = count * block;
    access.make_types = [=] {
        std::vector<MPI_Aint> offsets(mine.size());
        std::transform(mine.begin(), mine.end(), offsets.begin(),
                       [=](std::uint64_t index) { return static_cast<MPI_Aint>(index * block); });
        MPI_Datatype file;
        MPI_Type_create_hindexed_block(to_int(count), to_int(block), offsets.data(), MPI_BYTE,
                                       &file);
        return Types{MPI_BYTE, committed(file), contiguous(count * block, MPI_BYTE)};
    };
    access.for_each_piece = [=](const PieceVisitor& visit) {
        for (std::uint64_t i = 0; i < count; ++i) visit({i * block, mine[i] * block, block});
    };
    return access;
}

using Maker = Access (*)(const Params&, Place);

constexpr std::array<std::pair<const char*, Maker>, 7> makers{{{"block3d", make_block3d},
                                                               {"cyclic", make_cyclic},
                                                               {"flash", make_flash},
                                                               {"vec8", make_vec8},
                                                               {"hpio", make_hpio},
                                                               {"random1k", make_random},
                                                               {"e3sm", make_e3sm}}};

}  // namespace

Access make_access(const std::string& name, const Params& params, Place place) {
    for (const auto& [known, maker] : makers) {
        if (name == known) return maker(params, place);
    }
    throw std::invalid_argument("no workload named " + name);
}

}  // namespace bench
