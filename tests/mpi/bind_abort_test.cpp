// SPDX-License-Identifier: BSD-3-Clause
// With MPI_ERRORS_ABORT a call that fails on one rank ends the processes of the file
// (MPI-4.1, 9.3). CTest judges the test by its output, in which MPI_Abort names its communicator.
#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "abort.dat",
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_set_errhandler(file, MPI_ERRORS_ABORT);
    if (rank == 1) MPI_File_seek(file, -1, MPI_SEEK_SET);
    MPI_File_close(&file);
    std::printf("still running\n");
    MPI_Finalize();
    return 0;
}
