// SPDX-License-Identifier: BSD-3-Clause
// Grid: the place of a rank in a grid of ranks.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>

#include "access.hpp"

namespace bench {

/// A rank's place in a grid of `D` dimensions, the last of which varies fastest.
template <std::size_t D>
struct Grid {
    std::array<int, D> parts{};
    std::array<int, D> at{};

    explicit Grid(Place place) {
        MPI_Dims_create(place.ranks, static_cast<int>(D), parts.data());
        int rest = place.rank;
        for (std::size_t d = D; d-- > 0; rest /= parts[d]) at[d] = rest % parts[d];
    }
};

}  // namespace bench
