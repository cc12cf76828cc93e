// SPDX-License-Identifier: BSD-3-Clause
// Stands in for Oratorio in the tests of the benchmark: the host's MPI-IO, except that one byte of
// the buffer, number WRONG_BYTE, is wrong in every MPI_File_write_at_all and MPI_File_read_at_all.
#include <mpi.h>
#include <stdlib.h>

static void change(void* buffer) {
    ((char*)buffer)[atol(getenv("WRONG_BYTE"))] ^= 1;
}

int MPI_File_open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file) {
    return PMPI_File_open(comm, name, mode, info, file);
}

int MPI_File_write_at_all(MPI_File file, MPI_Offset offset, const void* buffer, int count,
                          MPI_Datatype type, MPI_Status* status) {
    change((void*)buffer);
    const int code = PMPI_File_write_at_all(file, offset, buffer, count, type, status);
    change((void*)buffer);
    return code;
}

int MPI_File_read_at_all(MPI_File file, MPI_Offset offset, void* buffer, int count,
                         MPI_Datatype type, MPI_Status* status) {
    const int code = PMPI_File_read_at_all(file, offset, buffer, count, type, status);
    change(buffer);
    return code;
}
