// SPDX-License-Identifier: BSD-3-Clause
/* Reads past the size that this client knows, after the other client has extended the file.
 *
 * usage: clients_appended FOLDER   prints a line "read at OFFSET: W wrong of 1" per offset;
 * rank 0 exits with the number of wrong reads, at most 255. The last rank, on the other client,
 * writes an int after the end of a file of 4 bytes; after sync, barrier and sync the first rank
 * reads it. */
#include <mpi.h>
#include <stdio.h>

#include "clients_common.h"

/* Reads an int on the first rank and compares it with `expected`. Returns 1 and prints the
 * difference if the read goes wrong, else 0. */
static int is_wrong(MPI_File file, MPI_Offset at, int expected) {
    char text[MPI_MAX_ERROR_STRING] = "no error";
    int found = -1, count = -1, length;
    MPI_Status status;
    const int code = MPI_File_read_at(file, at, &found, 1, MPI_INT, &status);
    if (code == MPI_SUCCESS)
        MPI_Get_count(&status, MPI_INT, &count);
    else
        MPI_Error_string(code, text, &length);
    if (code == MPI_SUCCESS && count == 1 && found == expected) return 0;
    fprintf(stderr, "read at %lld: %s, count %d, value %d\n", (long long)at, text, count, found);
    return 1;
}

static void try_at(const char* folder, MPI_Offset at) {
    char path[4096];
    int number = 1, wrong = 0;
    MPI_File file;
    snprintf(path, sizeof path, "%s/appended%lld", folder, (long long)at);
    must(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
         "open");
    if (rank == 0)
        must(MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), "write");
    sync_all(file);
    number = 42;
    if (rank == ranks - 1)
        must(MPI_File_write_at(file, at, &number, 1, MPI_INT, MPI_STATUS_IGNORE), "write");
    sync_all(file);
    if (rank == 0) wrong = is_wrong(file, at, number);
    must(MPI_File_close(&file), "close");
    if (rank == 0) printf("read at %lld: %d wrong of 1\n", (long long)at, wrong);
    fflush(stdout);
    failed += wrong;
}

int main(int count, char** words) {
    /* If a read begins past the size that Linux's CephFS client knows, the client returns the
     * distance between them as an error number. For these offsets that means a signal (EINTR, 4),
     * too many open files (EMFILE, 24), or no error at all. */
    static const MPI_Offset offsets[] = {4, 8, 28, 5000, 1000000};
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; ++i) try_at(words[1], offsets[i]);
    MPI_Finalize();
    return failed < 255 ? failed : 255;
}
