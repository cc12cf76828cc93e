// SPDX-License-Identifier: BSD-3-Clause
/* A profiler as the MPI standard describes it: it defines the MPI_ name and calls the PMPI_ one. */
#include <mpi.h>
#include <stdio.h>

int MPI_File_open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file) {
    fputs("profiler: open\n", stderr);
    return PMPI_File_open(comm, name, mode, info, file);
}
