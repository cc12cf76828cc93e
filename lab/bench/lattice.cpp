// SPDX-License-Identifier: BSD-3-Clause
// Workloads of users who wrote their own two-phase I/O: lattice (pmodels/mpich issue 7935) and
// transposed (issue 7645).
#include <memory>

#include "grid.hpp"
#include "makers.hpp"
#include "types.hpp"

namespace bench {

namespace {

/// A rank's block of a 4-D array of sites in lexicographic order.
struct Block {
    std::uint64_t edge;
    std::uint64_t site;  ///< size of a site in bytes
    std::array<Range, 4> part{};

    Block(std::uint64_t n, std::uint64_t bytes, Place place) : edge(n), site(bytes) {
        const Grid<4> grid(place);
        for (std::size_t d = 0; d < 4; ++d) part[d] = even_range(n, grid.parts[d], grid.at[d]);
    }
    std::uint64_t bytes() const {
        return part[0].count * part[1].count * part[2].count * part[3].count * site;
    }
    void visit(const PieceVisitor& visit) const {
        const std::uint64_t row = part[3].count * site;
        std::uint64_t memory = 0;
        for (std::uint64_t i = 0; i < part[0].count * part[1].count * part[2].count; ++i) {
            const std::uint64_t z = part[2].first + i % part[2].count;
            const std::uint64_t y = part[1].first + i / part[2].count % part[1].count;
            const std::uint64_t t = part[0].first + i / part[2].count / part[1].count;
            visit({memory, (((t * edge + y) * edge + z) * edge + part[3].first) * site, row});
            memory += row;
        }
    }
};

/// Returns the row of this rank: the ranks with the same first coordinate. Their blocks
/// together fill a slab.
Row row_of(std::uint64_t n, std::uint64_t site, Place place) {
    const Grid<4> grid(place);
    const int length = place.ranks / grid.parts[0];
    const int first = place.rank / length * length;
    const Range slab = even_range(n, grid.parts[0], grid.at[0]);
    Row row;
    for (int i = 0; i < length; ++i) row.ranks.push_back(first + i);
    row.begin = slab.first * n * n * n * site;
    row.end = (slab.first + slab.count) * n * n * n * site;
    row.for_each_piece = [=](std::size_t i, const PieceVisitor& visit) {
        Block(n, site, {first + static_cast<int>(i), place.ranks}).visit(visit);
    };
    return row;
}

void visit_transposed(std::uint64_t block, std::uint64_t count, Place place,
                      const PieceVisitor& visit) {
    const auto ranks = static_cast<std::uint64_t>(place.ranks);
    for (std::uint64_t i = 0; i < count; ++i)
        visit({i * block, (i * ranks + static_cast<std::uint64_t>(place.rank)) * block, block});
}

}  // namespace

Access make_lattice(const Params& params, Place place, Direction) {
    const std::uint64_t n = params.number("n");
    const std::uint64_t site = params.number("site");
    const auto mine = std::make_shared<const Block>(n, site, place);

    Access access;
    access.buffer_bytes = mine->bytes();
    access.calls.resize(1);
    access.calls[0].make_types = [=] {
        std::vector<std::uint64_t> counts, firsts;
        for (const Range& range : mine->part) {
            counts.push_back(range.count);
            firsts.push_back(range.first);
        }
        MPI_Datatype one = contiguous(site, MPI_BYTE);
        const MPI_Datatype file = committed(block_of_array({n, n, n, n}, counts, firsts, one));
        MPI_Type_free(&one);
        return Types{MPI_BYTE, file, contiguous(mine->bytes(), MPI_BYTE)};
    };
    access.for_each_piece = [=](const PieceVisitor& visit) { mine->visit(visit); };
    access.row = row_of(n, site, place);
    return access;
}

Access make_transposed(const Params& params, Place place, Direction) {
    const std::uint64_t block = params.number("block");
    const std::uint64_t count = params.number("count");
    const auto ranks = static_cast<std::uint64_t>(place.ranks);

    Access access;
    access.buffer_bytes = block * count;
    access.calls.resize(1);
    access.calls[0].displacement = static_cast<MPI_Offset>(block) * place.rank;
    access.calls[0].make_types = [=] {
        return Types{MPI_BYTE, strided_bytes(count, block, block * ranks),
                     contiguous(block * count, MPI_BYTE)};
    };
    access.for_each_piece = [=](const PieceVisitor& visit) {
        visit_transposed(block, count, place, visit);
    };
    for (int i = 0; i < place.ranks; ++i) access.row.ranks.push_back(i);
    access.row.end = block * count * ranks;
    access.row.for_each_piece = [=](std::size_t i, const PieceVisitor& visit) {
        visit_transposed(block, count, {static_cast<int>(i), place.ranks}, visit);
    };
    return access;
}

}  // namespace bench
