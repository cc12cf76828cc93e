/* SPDX-License-Identifier: BSD-3-Clause
 * Opens a file on each half of four ranks, then one on all ranks, some of which may run without
 * Oratorio. Each rank prints the results. Usage: absent_rank FOLDER [late]; late: rank 0 comes to
 * the last open two seconds after the others. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int open_on(MPI_Comm comm, const char* folder, const char* name) {
    char path[4096], text[MPI_MAX_ERROR_STRING];
    int rank, code, kind, length;
    MPI_File file;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    code = MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (code == MPI_SUCCESS) {
        printf("rank %d: %s opened\n", rank, name);
        fflush(stdout);
        MPI_File_close(&file);
        return 0;
    }
    MPI_Error_class(code, &kind);
    MPI_Error_string(code, text, &length);
    text[strcspn(text, "\n")] = 0;
    printf("rank %d: %s %s: %s\n", rank, name, kind == MPI_ERR_NOT_SAME ? "NOT_SAME" : "failed",
           text);
    fflush(stdout);
    return 1;
}

int main(int argc, char** argv) {
    int rank, failed;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
    open_on(half, argv[1], rank < 2 ? "low" : "high");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && argc > 2) sleep(2);
    failed = open_on(MPI_COMM_WORLD, argv[1], "all");
    if (failed) {
        sleep(1); /* lets the other ranks print, too */
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
