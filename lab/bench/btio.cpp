// SPDX-License-Identifier: BSD-3-Clause
// BTIO (2019 paper): an array of n^3 points with `components` doubles each, cut by the diagonal
// multi-partition of the NAS benchmark BT: each of q x q ranks has q cells, one in every layer. In
// memory a cell has ghost points around it. One call writes or reads all variables.
#include <array>
#include <memory>
#include <stdexcept>

#include "makers.hpp"
#include "types.hpp"

namespace bench {

namespace {

struct Cell {
    std::array<Range, 3> part;  ///< elements of the array along z, y and x
    std::uint64_t memory;       ///< offset of the cell's first point in a variable, in bytes
};

struct Partition {
    std::uint64_t n;
    std::uint64_t ghost;
    std::uint64_t components;
    std::vector<Cell> cells;
    std::uint64_t variable_bytes = 0;  ///< size of one variable in memory

    std::uint64_t point() const { return components * sizeof(double); }
    std::uint64_t file_bytes() const { return n * n * n * point(); }
    std::uint64_t edge(const Cell& cell, std::size_t d) const {
        return cell.part[d].count + 2 * ghost;
    }
};

int square_root(int ranks) {
    int root = 1;
    while (root * root < ranks) ++root;
    if (root * root != ranks) {
        throw std::invalid_argument("btio needs a square number of ranks, not " +
                                    std::to_string(ranks));
    }
    return root;
}

Partition partition(const Params& params, Place place) {
    Partition p{params.number("n"), params.number("ghost", 0), params.number("components"), {}};
    const int q = square_root(place.ranks);
    for (int layer = 0; layer < q; ++layer) {
        const int x = (place.rank % q + layer) % q;
        const int y = (place.rank / q + q - layer) % q;
        const Cell cell{{even_range(p.n, q, layer), even_range(p.n, q, y), even_range(p.n, q, x)},
                        p.variable_bytes};
        p.variable_bytes += p.edge(cell, 0) * p.edge(cell, 1) * p.edge(cell, 2) * p.point();
        p.cells.push_back(cell);
    }
    return p;
}

/// Returns the type of `count` variables, with cells of these types at the displacements `at` in
/// each variable. Frees `types`.
MPI_Datatype joined(std::vector<MPI_Datatype> types, const std::vector<MPI_Aint>& at,
                    std::uint64_t count) {
    const std::vector<int> ones(types.size(), 1);
    MPI_Datatype variable;
    MPI_Type_create_struct(to_int(types.size()), ones.data(), at.data(), types.data(), &variable);
    const MPI_Datatype all = contiguous(count, variable);
    MPI_Type_free(&variable);
    for (MPI_Datatype& type : types) MPI_Type_free(&type);
    return all;
}

Types make_types(const Partition& p, std::uint64_t variables) {
    const std::uint64_t c = p.components;
    std::vector<MPI_Datatype> file, memory;
    std::vector<MPI_Aint> file_at, memory_at;
    for (const Cell& cell : p.cells) {
        const auto& [z, y, x] = cell.part;
        const std::vector<std::uint64_t> counts{z.count, y.count, x.count * c};
        file.push_back(block_of_array({p.n, p.n, p.n * c}, counts, {z.first, y.first, x.first * c},
                                      MPI_DOUBLE));
        memory.push_back(block_of_array({p.edge(cell, 0), p.edge(cell, 1), p.edge(cell, 2) * c},
                                        counts, {p.ghost, p.ghost, p.ghost * c}, MPI_DOUBLE));
        file_at.push_back(0);
        memory_at.push_back(static_cast<MPI_Aint>(cell.memory));
    }
    return {MPI_DOUBLE, joined(std::move(file), file_at, variables),
            joined(std::move(memory), memory_at, variables)};
}

void visit_cell(const Partition& p, const Cell& cell, std::uint64_t variable,
                const PieceVisitor& visit) {
    const auto& [z, y, x] = cell.part;
    const std::uint64_t memory = variable * p.variable_bytes + cell.memory;
    const std::uint64_t file = variable * p.file_bytes();
    for (std::uint64_t i = 0; i < z.count * y.count; ++i) {
        const std::uint64_t layer = i / y.count, row = i % y.count;
        const std::uint64_t in_memory =
            ((layer + p.ghost) * p.edge(cell, 1) + row + p.ghost) * p.edge(cell, 2) + p.ghost;
        const std::uint64_t in_file = ((z.first + layer) * p.n + y.first + row) * p.n + x.first;
        visit({memory + in_memory * p.point(), file + in_file * p.point(), x.count * p.point()});
    }
}

}  // namespace

Access make_btio(const Params& params, Place place, Direction) {
    const auto mine = std::make_shared<const Partition>(partition(params, place));
    const std::uint64_t variables = params.number("variables");

    Access access;
    access.buffer_bytes = variables * mine->variable_bytes;
    access.calls.resize(1);
    access.calls[0].make_types = [=] { return make_types(*mine, variables); };
    access.for_each_piece = [=](const PieceVisitor& visit) {
        for (std::uint64_t variable = 0; variable < variables; ++variable) {
            for (const Cell& cell : mine->cells) visit_cell(*mine, cell, variable, visit);
        }
    };
    return access;
}

}  // namespace bench
