// SPDX-License-Identifier: BSD-3-Clause
// MPI_Info to hints and back.
#pragma once

#include "bind/mpi_types.hpp"
#include "file/hints.hpp"

namespace oratorio::bind {

/// Empty for MPI_INFO_NULL.
[[nodiscard]] Result<HintMap> hints_of(MPI_Info info);
/// A new info, the program's to free. Keys and values too long for the host are left out.
int make_info(const HintMap& hints, MPI_Info* info);

}  // namespace oratorio::bind
