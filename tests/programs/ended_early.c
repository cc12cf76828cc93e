/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: ended_early none|killed|aborts FILE
 *
 * none: makes no MPI-IO call. Otherwise all ranks write to FILE, and do not close it but are killed
 * or call MPI_Abort. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
    MPI_File file;
    char block[1000] = {0};
    int rank;
    if (argc != 3) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(argv[1], "none") != 0) {
        MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &file);
        MPI_File_write_at_all(file, 1000 * rank, block, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (strcmp(argv[1], "killed") == 0) raise(SIGKILL);
        MPI_Abort(MPI_COMM_WORLD, 7);
    }
    MPI_Finalize();
    return 0;
}
