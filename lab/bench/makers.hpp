// SPDX-License-Identifier: BSD-3-Clause
// One function per workload; docs/research/workloads.md describes their shapes. Each throws
// std::invalid_argument on a wrong parameter.
#pragma once

#include "access.hpp"

namespace bench {

Access make_coll_perf(const Params& params, Place place, Direction direction);
Access make_tile(const Params& params, Place place, Direction direction);
Access make_flash(const Params& params, Place place, Direction direction);
Access make_hpio(const Params& params, Place place, Direction direction);
Access make_vec8(const Params& params, Place place, Direction direction);
Access make_discontig(const Params& params, Place place, Direction direction);
Access make_sparse(const Params& params, Place place, Direction direction);
Access make_mar(const Params& params, Place place, Direction direction);
Access make_ship(const Params& params, Place place, Direction direction);
Access make_array(const Params& params, Place place, Direction direction);
Access make_btio(const Params& params, Place place, Direction direction);
Access make_s3d(const Params& params, Place place, Direction direction);
Access make_lattice(const Params& params, Place place, Direction direction);
Access make_transposed(const Params& params, Place place, Direction direction);
Access make_e3sm(const Params& params, Place place, Direction direction);
Access make_recorded(const Params& params, Place place, Direction direction);

/// Returns blocks of a file with `count` blocks per rank, dealt by a permutation seeded with
/// `seed`. Memory is contiguous; each region of `region` blocks is written in a call of its own.
Access blocks_at_random(std::uint64_t block, std::uint64_t count, std::uint64_t region,
                        std::uint64_t seed, Place place);

}  // namespace bench
