/* SPDX-License-Identifier: BSD-3-Clause
 * A parent and the child that it spawns write and read a file together. Each prints its result.
 * Usage: spawned FOLDER, as one rank. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
    MPI_Comm parent, between, all;
    MPI_File file;
    char path[4096], mine[100], found[100], text[MPI_MAX_ERROR_STRING];
    int rank, code, length;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    between = parent;
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between,
                       MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &all);
    MPI_Comm_rank(all, &rank);
    snprintf(path, sizeof path, "%s/together", argv[1]);
    memset(mine, 'a' + rank, sizeof mine);
    code = MPI_File_open(all, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (code != MPI_SUCCESS) {
        MPI_Error_string(code, text, &length);
        text[strcspn(text, "\n")] = 0;
        printf("rank %d: %s\n", rank, text);
        fflush(stdout);
        sleep(1); /* lets the other process print, too */
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_File_write_at_all(file, 100 * rank, mine, sizeof mine, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, 100 * rank, found, sizeof found, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    printf("rank %d: %s\n", rank, memcmp(mine, found, sizeof mine) ? "wrong" : "right");
    fflush(stdout);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
    MPI_Finalize();
    return 0;
}
