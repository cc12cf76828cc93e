/* SPDX-License-Identifier: BSD-3-Clause
 * Opens and closes a file twice, then opens another that it never closes; makes one access each
 * time.
 * Usage: never_closed FOLDER read|write */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
    char path[4096], data[100] = {0};
    MPI_File file;
    const int reads = strcmp(argv[2], "read") == 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 3; ++i) {
        snprintf(path, sizeof path, "%s/%s", argv[1], i < 2 ? "first" : "last");
        if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file))
            return 1;
        if (reads)
            MPI_File_read_at_all(file, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
        else
            MPI_File_write_at_all(file, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
        if (i < 2) MPI_File_close(&file);
    }
    MPI_Finalize();
    return 0;
}
