// SPDX-License-Identifier: BSD-3-Clause
// Layouts of the papers' workloads: what one rank touches of the file. Pure; no data, no MPI.
#pragma once

#include <array>
#include <vector>

#include "base/extent.hpp"
#include "plan/access.hpp"
#include "type/shape.hpp"

namespace oratorio::count {

/// What a rank has along one dimension.
struct Range {
    std::int64_t first = 0;
    std::int64_t count = 0;
};
/// Part `part` of `n` elements; parts differ by one at most.
[[nodiscard]] Range even_range(std::int64_t n, int parts, int part);

/// As MPI_Dims_create: parts as near to each other as can be, the largest first.
[[nodiscard]] std::vector<int> even_grid(int ranks, int dimensions);

/// `variables` arrays of n^3 points, cut as the benchmark BT does it: of q x q ranks each has a
/// cell in each of q layers. Tile v of the layout is variable v.
struct Btio {
    std::int64_t n = 512;
    Bytes point = 5 * 8;
    std::int64_t variables = 40;
};
[[nodiscard]] Layout layout_of(const Btio& btio, int ranks, Rank rank);

/// What ranks tell of an access to that without making its many cells: as plan/access sums up the
/// layout.
class BtioSummaries {
  public:
    BtioSummaries(const Btio& btio, int ranks);
    [[nodiscard]] AccessSummary of(Rank rank) const;

  private:
    Btio btio_;
    std::vector<Range> ranges_;  ///< of each part of an edge
};

/// A mesh of n^3 doubles in blocks; `grid` are the parts along x, y and z, x varies fastest in the
/// file and among the ranks. Tile c of the layout is component c of the variable.
struct S3d {
    std::int64_t n = 800;
    std::array<int, 3> grid{32, 32, 16};
    std::int64_t components = 1;
};
[[nodiscard]] Layout layout_of(const S3d& s3d, Rank rank);
/// The checkpoint of the paper's runs: 16 components, and as many parts along x as its largest run
/// has, or as near to that as `ranks` let it.
[[nodiscard]] S3d checkpoint_of(int ranks);

/// An array of n^4 sites in 4-D blocks; the last dimension varies fastest in the file and among the
/// ranks.
struct Lattice {
    std::int64_t n = 64;
    Bytes site = 576;
};
[[nodiscard]] Layout layout_of(const Lattice& lattice, int ranks, Rank rank);

/// Pieces of all ranks in turn.
struct Transposed {
    Bytes piece = 4096;
    std::int64_t pieces = 16384;
};
[[nodiscard]] Layout layout_of(const Transposed& transposed, int ranks, Rank rank);

/// Stripes with room for a block of each rank, which lie there in another order each time; a rank
/// has `blocks` of them, in `per_cent` of the stripes.
struct Sparse {
    Bytes block = 16 << 10;
    std::int64_t blocks = 128;
    std::int64_t per_cent = 25;
};
[[nodiscard]] Layout layout_of(const Sparse& sparse, int ranks, Rank rank);

/// A write or read of all of a layout, from contiguous memory.
[[nodiscard]] Access access_of(Direction direction, const Layout& layout);

}  // namespace oratorio::count
