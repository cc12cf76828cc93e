// SPDX-License-Identifier: BSD-3-Clause
// With MPI_ERRORS_ARE_FATAL a failed call prints a message and ends the job. CTest judges the test
// by its output.
#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_File file;
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File_open(MPI_COMM_WORLD, "/no/such/folder/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    std::printf("still running\n");
    MPI_Finalize();
    return 0;
}
