// SPDX-License-Identifier: BSD-3-Clause
#include "bind/status.hpp"

namespace oratorio::bind {

void set_status(MPI_Status* status, Bytes bytes) {
    if (status == MPI_STATUS_IGNORE) return;
    const Host& mpi = host();
    mpi.Status_set_elements_x(status, MPI_BYTE, bytes);
    mpi.Status_set_cancelled(status, 0);
}

}  // namespace oratorio::bind
