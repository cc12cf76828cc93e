// SPDX-License-Identifier: BSD-3-Clause
// Fills in the MPI_Status of a data access: the bytes moved.
#pragma once

#include "base/extent.hpp"
#include "bind/mpi_types.hpp"

namespace oratorio::bind {

/// Sets the bytes moved. MPI_Get_count and MPI_Get_elements then work for any datatype; MPI_ERROR
/// stays as it was.
void set_status(MPI_Status* status, Bytes bytes);

}  // namespace oratorio::bind
