// SPDX-License-Identifier: BSD-3-Clause
// The checkpoint of the FLASH I/O benchmark (2006 paper, section 3.3): every rank has blocks of
// nxb^3 cells inside `guard` ghost cells; a cell holds `nvar` doubles side by side. The file is
// variable-major, and within a variable a rank's blocks follow one another, so that each 8-byte
// value is alone in memory.
#include "makers.hpp"

namespace bench {

namespace {

struct Flash {
    std::uint64_t blocks;  ///< number of blocks of a rank
    std::uint64_t inner;   ///< cells along an edge, without ghost cells
    std::uint64_t guard;
    std::uint64_t variables;

    std::uint64_t edge() const { return inner + 2 * guard; }
    std::uint64_t chunk_values() const { return blocks * inner * inner * inner; }
};

/// Returns the type of all of variable 0 in block order, then all of variable 1, and so on.
MPI_Datatype memory_type(const Flash& flash) {
    const auto cell_bytes = static_cast<MPI_Aint>(flash.variables * sizeof(double));
    const int edge = static_cast<int>(flash.edge());
    const int inner = static_cast<int>(flash.inner);
    const int guard = static_cast<int>(flash.guard);
    const int sizes[3] = {edge, edge, edge};
    const int subsizes[3] = {inner, inner, inner};
    const int starts[3] = {guard, guard, guard};
    MPI_Datatype cell, block, blocks, variable, all;
    MPI_Type_create_resized(MPI_DOUBLE, 0, cell_bytes, &cell);
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, cell, &block);
    MPI_Type_contiguous(static_cast<int>(flash.blocks), block, &blocks);
    MPI_Type_create_resized(blocks, 0, sizeof(double), &variable);
    MPI_Type_contiguous(static_cast<int>(flash.variables), variable, &all);
    MPI_Type_commit(&all);
    for (MPI_Datatype* part : {&cell, &block, &blocks, &variable}) MPI_Type_free(part);
    return all;
}

}  // namespace

Access make_flash(const Params& params, Place place, Direction) {
    const Flash flash{params.number("blocks"), params.number("nxb"), params.number("guard", 0),
                      params.number("nvar")};
    const std::uint64_t chunk = flash.chunk_values();
    const auto ranks = static_cast<std::uint64_t>(place.ranks);
    const auto rank = static_cast<std::uint64_t>(place.rank);
    const std::uint64_t edge = flash.edge();

    Access access;
    access.buffer_bytes = flash.blocks * edge * edge * edge * flash.variables * sizeof(double);
    access.calls.resize(1);
    access.calls[0].displacement = static_cast<MPI_Offset>(rank * chunk * sizeof(double));
    access.calls[0].make_types = [=] {
        MPI_Datatype file;
        MPI_Type_vector(static_cast<int>(flash.variables), static_cast<int>(chunk),
                        static_cast<int>(chunk * ranks), MPI_DOUBLE, &file);
        MPI_Type_commit(&file);
        return Types{MPI_DOUBLE, file, memory_type(flash)};
    };
    access.for_each_piece = [=](const PieceVisitor& visit) {
        for (std::uint64_t var = 0; var < flash.variables; ++var) {
            std::uint64_t value = (var * ranks + rank) * chunk;
            for (std::uint64_t row = 0; row < flash.blocks * flash.inner * flash.inner; ++row) {
                const std::uint64_t y = row % flash.inner + flash.guard;
                const std::uint64_t z = row / flash.inner % flash.inner + flash.guard;
                const std::uint64_t block = row / (flash.inner * flash.inner);
                const std::uint64_t cell = ((block * edge + z) * edge + y) * edge + flash.guard;
                for (std::uint64_t x = 0; x < flash.inner; ++x, ++value) {
                    visit({((cell + x) * flash.variables + var) * sizeof(double),
                           value * sizeof(double), sizeof(double)});
                }
            }
        }
    };
    return access;
}

}  // namespace bench
