// SPDX-License-Identifier: BSD-3-Clause
/* A profiler as the MPI standard describes it: it defines a function with the MPI_ name, which
 * calls the function with the PMPI_ name. */
#include <mpi.h>
#include <stdio.h>

int MPI_File_open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file) {
    fputs("profiler: open\n", stderr);
    return PMPI_File_open(comm, name, mode, info, file);
}
