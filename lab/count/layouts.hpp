// SPDX-License-Identifier: BSD-3-Clause
// Layouts of the papers' workloads: the part of the file that one rank accesses. They are computed
// without data and without MPI.
#pragma once

#include <array>
#include <vector>

#include "base/extent.hpp"
#include "plan/access.hpp"
#include "type/shape.hpp"

namespace oratorio::count {

/// The elements of a rank along one dimension.
struct Range {
    std::int64_t first = 0;
    std::int64_t count = 0;
};
/// Returns part `part` of `n` elements. The sizes of the parts differ by at most one.
[[nodiscard]] Range even_range(std::int64_t n, int parts, int part);

/// Divides ranks among dimensions, the largest part first: each prime factor, in descending order,
/// multiplies the smallest part. For powers of two the parts are those of MPI_Dims_create. For
/// other numbers they may be less even: 72 ranks in two dimensions are 12 x 6, not 9 x 8.
[[nodiscard]] std::vector<int> even_grid(int ranks, int dimensions);

/// `variables` arrays of n^3 points, cut as in the benchmark BT: each of q x q ranks has a cell in
/// each of q layers. Tile v of the layout is variable v.
struct Btio {
    std::int64_t n = 512;
    Bytes point = 5 * 8;
    std::int64_t variables = 40;
};
/// Returns q, the square root of the number of ranks. Throws std::invalid_argument if there is
/// none.
[[nodiscard]] int btio_side(int ranks);
[[nodiscard]] Layout layout_of(const Btio& btio, int ranks, Rank rank);

/// Computes the summaries of accesses to a Btio workload by rule, without creating the many cells.
/// They equal those that plan/access computes from the layout without the coverage.
class BtioSummaries {
  public:
    BtioSummaries(const Btio& btio, int ranks);
    [[nodiscard]] AccessSummary of(Rank rank) const;

  private:
    Btio btio_;
    std::vector<Range> ranges_;  ///< range of each part of an edge
};

/// A mesh of n^3 doubles in blocks. `grid` holds the numbers of parts along x, y and z; x varies
/// fastest in the file and among the ranks. Tile c of the layout is component c.
struct S3d {
    std::int64_t n = 800;
    std::array<int, 3> grid{32, 32, 16};
    std::int64_t components = 1;
};
[[nodiscard]] Layout layout_of(const S3d& s3d, Rank rank);
/// Returns the checkpoint of the paper's runs: 16 components of 800^3 doubles, in the grid that
/// even_grid() returns.
[[nodiscard]] S3d checkpoint_of(int ranks);

/// An array of n^4 sites in 4-D blocks; the last dimension varies fastest in the file and among the
/// ranks.
struct Lattice {
    std::int64_t n = 64;
    Bytes site = 576;
};
[[nodiscard]] Layout layout_of(const Lattice& lattice, int ranks, Rank rank);

/// Pieces that belong to all ranks in turn.
struct Transposed {
    Bytes piece = 4096;
    std::int64_t pieces = 16384;
};
[[nodiscard]] Layout layout_of(const Transposed& transposed, int ranks, Rank rank);

/// Stripes with space for a block of each rank, in an order that differs from stripe to stripe. A
/// rank has `blocks` blocks, at most one per stripe, in `per_cent` percent of the stripes.
struct Sparse {
    Bytes block = 16 << 10;
    std::int64_t blocks = 128;
    std::int64_t per_cent = 25;
};
[[nodiscard]] Layout layout_of(const Sparse& sparse, int ranks, Rank rank);

/// Returns a write or read of all of a layout, with contiguous memory.
[[nodiscard]] Access access_of(Direction direction, const Layout& layout);

}  // namespace oratorio::count
