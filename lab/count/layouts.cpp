// SPDX-License-Identifier: BSD-3-Clause
#include "count/layouts.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace oratorio::count {

namespace {

/// Returns a pseudorandom number that is the same on every machine: splitmix64 of a key.
std::uint64_t mixed(std::uint64_t key) {
    std::uint64_t z = (key + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/// Returns the block `ranges` of an array with these edges and elements of `element` bytes. Adds
/// the offset of the block to `origin`.
ShapePtr block_of(const std::vector<std::int64_t>& edges, const std::vector<Range>& ranges,
                  Bytes element, Offset& origin) {
    ShapePtr shape = Shape::run(ranges.back().count * element);
    Bytes stride = element;
    origin += ranges.back().first * stride;
    for (std::size_t d = edges.size() - 1; d-- > 0;) {
        stride *= edges[d + 1];
        shape = Shape::strided(std::move(shape), ranges[d].count, stride);
        origin += ranges[d].first * stride;
    }
    return shape;
}

/// The place of a rank's cell in one layer; each of q x q ranks has one cell in each layer.
struct CellPlace {
    int x = 0;
    int y = 0;
};
CellPlace cell_of(Rank rank, int q, int layer) {
    return {(rank % q + layer) % q, (rank / q + q - layer) % q};
}

}  // namespace

Range even_range(std::int64_t n, int parts, int part) {
    const std::int64_t at = part;
    return {n / parts * at + std::min(at, n % parts), n / parts + (at < n % parts ? 1 : 0)};
}

std::vector<int> even_grid(int ranks, int dimensions) {
    std::vector<int> parts(static_cast<std::size_t>(dimensions), 1);
    std::vector<int> primes;
    for (int rest = ranks, prime = 2; rest > 1;) {
        if (rest % prime != 0) {
            ++prime;
            continue;
        }
        primes.push_back(prime);
        rest /= prime;
    }
    for (auto prime = primes.rbegin(); prime != primes.rend(); ++prime)
        *std::ranges::min_element(parts) *= *prime;
    std::ranges::sort(parts, std::greater{});
    return parts;
}

int btio_side(int ranks) {
    const int q = static_cast<int>(std::lround(std::sqrt(ranks)));
    if (q * q != ranks)
        throw std::invalid_argument("btio needs a square number of ranks, not " +
                                    std::to_string(ranks));
    return q;
}

Layout layout_of(const Btio& btio, int ranks, Rank rank) {
    const int q = btio_side(ranks);
    std::vector<ShapePtr> cells;
    std::vector<Offset> offsets;
    for (int layer = 0; layer < q; ++layer) {
        const CellPlace at = cell_of(rank, q, layer);
        const std::vector<Range> ranges{even_range(btio.n, q, layer), even_range(btio.n, q, at.y),
                                        even_range(btio.n, q, at.x)};
        // With more parts than points a cell may be empty.
        if (std::ranges::any_of(ranges, [](const Range& one) { return one.count == 0; })) continue;
        Offset origin = 0;
        cells.push_back(block_of({btio.n, btio.n, btio.n}, ranges, btio.point, origin));
        offsets.push_back(origin);
    }
    const Bytes variable = btio.n * btio.n * btio.n * btio.point;
    return {Shape::mixed(std::move(cells), std::move(offsets)), variable, 0, btio.variables};
}

BtioSummaries::BtioSummaries(const Btio& btio, int ranks) : btio_(btio) {
    const int q = btio_side(ranks);
    for (int part = 0; part < q; ++part) ranges_.push_back(even_range(btio.n, q, part));
}

AccessSummary BtioSummaries::of(Rank rank) const {
    const auto q = static_cast<int>(ranges_.size());
    const std::int64_t n = btio_.n;
    AccessSummary summary;
    std::int64_t pieces = 0;  // pieces of one variable
    for (int layer = 0; layer < q; ++layer) {
        const CellPlace at = cell_of(rank, q, layer);
        const Range& z = ranges_[static_cast<std::size_t>(layer)];
        const Range& y = ranges_[static_cast<std::size_t>(at.y)];
        const Range& x = ranges_[static_cast<std::size_t>(at.x)];
        if (z.count == 0 || y.count == 0 || x.count == 0) continue;
        const auto point_of = [&](std::int64_t k, std::int64_t j, std::int64_t i) {
            return ((z.first + k) * n + y.first + j) * n + x.first + i;
        };
        summary.hull = hull(summary.hull,
                            {point_of(0, 0, 0) * btio_.point,
                             (point_of(z.count - 1, y.count - 1, x.count - 1) + 1) * btio_.point});
        summary.bytes += z.count * y.count * x.count * btio_.point;
        pieces += z.count * y.count;
    }
    if (summary.bytes == 0) return summary;
    summary.hull.end += (btio_.variables - 1) * n * n * n * btio_.point;
    summary.bytes *= btio_.variables;
    summary.pieces = q == 1 ? 1 : static_cast<std::uint32_t>(pieces * btio_.variables);
    summary.memory_pieces = 1;
    return summary;
}

Layout layout_of(const S3d& s3d, Rank rank) {
    const auto& [x, y, z] = s3d.grid;
    Layout layout;
    layout.extent = s3d.n * s3d.n * s3d.n * 8;
    layout.count = s3d.components;
    layout.shape = block_of({s3d.n, s3d.n, s3d.n},
                            {even_range(s3d.n, z, rank / x / y), even_range(s3d.n, y, rank / x % y),
                             even_range(s3d.n, x, rank % x)},
                            8, layout.origin);
    return layout;
}

S3d checkpoint_of(int ranks) {
    // The components of the four variables, which lie one after the other.
    constexpr std::int64_t kComponents = 11 + 3 + 1 + 1;
    const std::vector<int> grid = even_grid(ranks, 3);
    return {.grid = {grid[0], grid[1], grid[2]}, .components = kComponents};
}

Layout layout_of(const Lattice& lattice, int ranks, Rank rank) {
    const std::vector<int> grid = even_grid(ranks, 4);
    std::vector<Range> ranges(4);
    int rest = rank;
    for (std::size_t d = 4; d-- > 0; rest /= grid[d])
        ranges[d] = even_range(lattice.n, grid[d], rest % grid[d]);
    Layout layout;
    layout.shape =
        block_of(std::vector<std::int64_t>(4, lattice.n), ranges, lattice.site, layout.origin);
    layout.extent = lattice.n * lattice.n * lattice.n * lattice.n * lattice.site;
    layout.count = 1;
    return layout;
}

Layout layout_of(const Transposed& transposed, int ranks, Rank rank) {
    const Bytes all = transposed.piece * ranks;
    return {Shape::strided(Shape::run(transposed.piece), transposed.pieces, all),
            all * transposed.pieces, transposed.piece * rank, 1};
}

Layout layout_of(const Sparse& sparse, int ranks, Rank rank) {
    const std::int64_t stripes = (sparse.blocks * 100 + sparse.per_cent - 1) / sparse.per_cent;
    std::vector<std::int64_t> mine(static_cast<std::size_t>(stripes));
    for (std::int64_t i = 0; i < stripes; ++i) mine[static_cast<std::size_t>(i)] = i;
    const auto key = [&](std::int64_t stripe) {
        return mixed(static_cast<std::uint64_t>(stripe * ranks + rank));
    };
    std::ranges::sort(mine, {}, key);
    mine.resize(static_cast<std::size_t>(sparse.blocks));
    std::ranges::sort(mine);
    std::vector<Offset> offsets;
    for (const std::int64_t stripe : mine) {
        // The order of the ranks' blocks differs from stripe to stripe.
        const auto turn = static_cast<std::int64_t>(mixed(~static_cast<std::uint64_t>(stripe)) %
                                                    static_cast<std::uint64_t>(ranks));
        offsets.push_back((stripe * ranks + (rank + turn) % ranks) * sparse.block);
    }
    const Bytes all = stripes * ranks * sparse.block;
    return {Shape::blocks(Shape::run(sparse.block), std::move(offsets)), all, 0, 1};
}

Access access_of(Direction direction, const Layout& layout) {
    Access access;
    access.direction = direction;
    access.file = layout;
    const Bytes bytes = layout.size();
    access.memory = {Shape::run(bytes), bytes, 0, 1};
    return access;
}

}  // namespace oratorio::count
