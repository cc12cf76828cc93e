// SPDX-License-Identifier: BSD-3-Clause
// Converts an MPI_Info to hints and back.
#pragma once

#include "bind/mpi_types.hpp"
#include "hints/hints.hpp"

namespace oratorio::bind {

/// Returns the hints of an info; an empty map for MPI_INFO_NULL.
[[nodiscard]] Result<HintMap> hints_of(MPI_Info info);
/// Makes a new info, which the program frees. Leaves out empty values, and keys and values too long
/// for the host. Returns the host's code.
int make_info(const HintMap& hints, MPI_Info* info);

}  // namespace oratorio::bind
