// SPDX-License-Identifier: BSD-3-Clause
// Workloads that are arrays distributed over the ranks: coll_perf and tile (2006 paper), array
// (1995 paper), s3d (2019 paper). docs/user/methods.md names the papers.
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "grid.hpp"
#include "makers.hpp"
#include "types.hpp"

namespace bench {

namespace {

constexpr int kBlock = MPI_DISTRIBUTE_BLOCK;
constexpr int kNoArgument = MPI_DISTRIBUTE_DFLT_DARG;

std::uint64_t floor_root(std::uint64_t value) {
    auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(value)));
    while (root * root > value) --root;
    return root;
}

/// Returns an access to an array of ints, distributed (BLOCK, BLOCK, BLOCK); memory is contiguous.
Access blocks_of_ints(const std::array<std::uint64_t, 3>& sizes, Place place) {
    const Grid<3> grid(place);
    std::array<Range, 3> mine{};
    for (std::size_t d = 0; d < 3; ++d) mine[d] = block_range(sizes[d], grid.parts[d], grid.at[d]);
    const std::uint64_t count = mine[0].count * mine[1].count * mine[2].count;

    Access access;
    access.buffer_bytes = count * sizeof(int);
    access.calls.resize(1);
    access.calls[0].make_types = [=] {
        const std::array<int, 3> whole{to_int(sizes[0]), to_int(sizes[1]), to_int(sizes[2])};
        const std::array<int, 3> how{kBlock, kBlock, kBlock};
        const std::array<int, 3> arguments{kNoArgument, kNoArgument, kNoArgument};
        MPI_Datatype file;
        MPI_Type_create_darray(place.ranks, place.rank, 3, whole.data(), how.data(),
                               arguments.data(), grid.parts.data(), MPI_ORDER_C, MPI_INT, &file);
        return Types{MPI_INT, committed(file), contiguous(count, MPI_INT)};
    };
    access.for_each_piece = [=](const PieceVisitor& visit) {
        const std::uint64_t row = mine[2].count * sizeof(int);
        std::uint64_t memory = 0;
        for (std::uint64_t z = mine[0].first; z < mine[0].first + mine[0].count; ++z) {
            for (std::uint64_t y = mine[1].first; y < mine[1].first + mine[1].count; ++y) {
                const std::uint64_t at = (z * sizes[1] + y) * sizes[2] + mine[2].first;
                if (row > 0) visit({memory, at * sizeof(int), row});
                memory += row;
            }
        }
    };
    return access;
}

/// Returns an access to a 1-D array of ints, distributed CYCLIC(block) or BLOCK. Memory is
/// contiguous.
Access line_of_ints(std::uint64_t block, std::uint64_t blocks, bool cyclic, Place place) {
    const auto ranks = static_cast<std::uint64_t>(place.ranks);
    const auto rank = static_cast<std::uint64_t>(place.rank);

    Access access;
    access.buffer_bytes = blocks * block;
    access.calls.resize(1);
    access.calls[0].make_types = [=] {
        const int size = to_int(blocks * ranks * block / sizeof(int));
        const int how = cyclic ? MPI_DISTRIBUTE_CYCLIC : kBlock;
        const int argument = cyclic ? to_int(block / sizeof(int)) : kNoArgument;
        MPI_Datatype file;
        MPI_Type_create_darray(place.ranks, place.rank, 1, &size, &how, &argument, &place.ranks,
                               MPI_ORDER_C, MPI_INT, &file);
        return Types{MPI_INT, committed(file), contiguous(blocks * block / sizeof(int), MPI_INT)};
    };
    access.for_each_piece = [=](const PieceVisitor& visit) {
        if (!cyclic) return visit({0, rank * blocks * block, blocks * block});
        for (std::uint64_t i = 0; i < blocks; ++i) {
            visit({i * block, (i * ranks + rank) * block, block});
        }
    };
    return access;
}

}  // namespace

Access make_coll_perf(const Params& params, Place place, Direction) {
    const std::uint64_t n = params.number("n");
    return blocks_of_ints({n, n, n}, place);
}

/// Makes the workload array: each rank has about `bytes` bytes in pieces of `block` bytes, whatever
/// the distribution. With BLOCK the pieces join to one.
Access make_array(const Params& params, Place place, Direction) {
    const std::string& distribution = params.text("dist");
    const std::uint64_t block = params.number("block");
    if (block % sizeof(int) != 0) throw std::invalid_argument("block must be a multiple of 4");
    const std::uint64_t blocks = std::max<std::uint64_t>(1, params.number("bytes") / block);
    if (distribution == "block") return line_of_ints(block, blocks, false, place);
    if (distribution == "cyclic") return line_of_ints(block, blocks, true, place);
    if (distribution == "random") {
        const std::uint64_t all = blocks * static_cast<std::uint64_t>(place.ranks);
        return blocks_at_random(block, blocks, all, params.number("seed"), place);
    }
    if (distribution != "block3d") {
        throw std::invalid_argument("dist must be block, cyclic, block3d or random, not " +
                                    distribution);
    }
    const std::uint64_t depth = floor_root(blocks);
    const std::array<std::uint64_t, 3> local{depth, blocks / depth, block / sizeof(int)};
    const Grid<3> grid(place);
    std::array<std::uint64_t, 3> sizes{};
    for (std::size_t d = 0; d < 3; ++d) {
        sizes[d] = local[d] * static_cast<std::uint64_t>(grid.parts[d]);
    }
    return blocks_of_ints(sizes, place);
}

/// Makes the workload tile: tiles of an image, which overlap. Reads cover whole tiles. A rank
/// writes the part of its tile that does not belong to its right or lower neighbour, so that no
/// byte is written twice. There is one call per frame.
Access make_tile(const Params& params, Place place, Direction direction) {
    constexpr std::uint64_t pixel = 3;
    const Grid<2> grid(place);
    const std::array<std::uint64_t, 2> tile{params.number("height"), params.number("width")};
    const std::array<std::uint64_t, 2> overlap{params.number("overlap_y", 0),
                                               params.number("overlap_x", 0)};
    const std::uint64_t frames = params.number("frames");
    std::vector<std::uint64_t> image(2), first(2), mine(2);
    for (std::size_t d = 0; d < 2; ++d) {
        if (overlap[d] >= tile[d]) throw std::invalid_argument("a tile must exceed its overlap");
        const std::uint64_t step = tile[d] - overlap[d];
        const bool last = grid.at[d] == grid.parts[d] - 1;
        image[d] = step * static_cast<std::uint64_t>(grid.parts[d]) + overlap[d];
        first[d] = step * static_cast<std::uint64_t>(grid.at[d]);
        mine[d] = direction == Direction::read || last ? tile[d] : step;
    }
    for (auto* columns : {&image, &first, &mine}) columns->back() *= pixel;
    const std::uint64_t bytes = mine[0] * mine[1];

    Access access;
    access.buffer_bytes = bytes * frames;
    access.calls.resize(1);
    access.calls[0].times = frames;
    access.calls[0].memory_step = bytes;
    access.calls[0].make_types = [=] {
        return Types{MPI_BYTE, committed(block_of_array(image, mine, first, MPI_BYTE)),
                     contiguous(bytes, MPI_BYTE)};
    };
    access.for_each_piece = [=](const PieceVisitor& visit) {
        for (std::uint64_t i = 0; i < frames * mine[0]; ++i) {
            const std::uint64_t row = i / mine[0] * image[0] + first[0] + i % mine[0];
            visit({i * mine[1], row * image[1] + first[1], mine[1]});
        }
    };
    return access;
}

/// Makes the workload s3d: four variables on an n^3 mesh that is distributed block-block-block. The
/// variable mass has 11 components and velocity 3. Memory is contiguous, and there is one call per
/// variable.
Access make_s3d(const Params& params, Place place, Direction) {
    const std::uint64_t n = params.number("n");
    const Grid<3> grid(place);
    std::array<Range, 3> mine{};
    for (std::size_t d = 0; d < 3; ++d) mine[d] = even_range(n, grid.parts[d], grid.at[d]);
    const std::uint64_t cells = mine[0].count * mine[1].count * mine[2].count;

    Access access;
    for (const std::uint64_t components : {11, 3, 1, 1}) {
        const std::uint64_t done = access.buffer_bytes / (cells * sizeof(double));
        Call call;
        call.displacement = static_cast<MPI_Offset>(done * n * n * n * sizeof(double));
        call.memory = access.buffer_bytes;
        call.make_types = [=] {
            const MPI_Datatype file = block_of_array(
                {components, n, n, n}, {components, mine[0].count, mine[1].count, mine[2].count},
                {0, mine[0].first, mine[1].first, mine[2].first}, MPI_DOUBLE);
            return Types{MPI_DOUBLE, committed(file), contiguous(components * cells, MPI_DOUBLE)};
        };
        access.calls.push_back(call);
        access.buffer_bytes += components * cells * sizeof(double);
    }
    const std::uint64_t planes = access.buffer_bytes / (cells * sizeof(double)) * mine[0].count;
    access.for_each_piece = [=](const PieceVisitor& visit) {
        const std::uint64_t row = mine[2].count * sizeof(double);
        for (std::uint64_t i = 0; i < planes * mine[1].count; ++i) {
            const std::uint64_t plane = i / mine[1].count;
            const std::uint64_t z =
                plane / mine[0].count * n + mine[0].first + plane % mine[0].count;
            const std::uint64_t y = mine[1].first + i % mine[1].count;
            visit({i * row, ((z * n + y) * n + mine[2].first) * sizeof(double), row});
        }
    };
    return access;
}

}  // namespace bench
