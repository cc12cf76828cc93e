// SPDX-License-Identifier: BSD-3-Clause
// Functions that make the access of a workload. workloads.cpp lists them;
// docs/research/workloads.md describes the shapes. Each function throws std::invalid_argument on a
// wrong parameter.
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

/// Returns an access to blocks of a file that has `count` blocks per rank, which are dealt to the
/// ranks by a permutation seeded with `seed`. Memory is contiguous. Each region of `region` blocks
/// is written or read in a call of its own.
Access blocks_at_random(std::uint64_t block, std::uint64_t count, std::uint64_t region,
                        std::uint64_t seed, Place place);

}  // namespace bench
