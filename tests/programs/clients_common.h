// SPDX-License-Identifier: BSD-3-Clause
/* Helpers of the programs that ./oratorio clients runs. */
#include <mpi.h>
#include <stdio.h>

static int rank, ranks;
static int failed; /* not 0 if anything is wrong, on rank 0 at least */

/* Ends the job if a call failed. */
static void must(int code, const char* what) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS) return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Collective. Syncs the file, so that every rank then sees what all ranks wrote before. */
static void sync_all(MPI_File file) {
    must(MPI_File_sync(file), "sync");
    MPI_Barrier(MPI_COMM_WORLD);
    must(MPI_File_sync(file), "sync");
}
