// SPDX-License-Identifier: BSD-3-Clause
/* Writes a file repeatedly, so that a test can cut a network in between.
 *
 * usage: many_writes FOLDER COUNT [alone]
 *
 * All ranks write rows of ROW bytes in turn, collectively or (alone) independently, COUNT times.
 * Before each write rank 0 stores the number of the write in FOLDER/written. A rank prints the
 * class of its first error and ends the job. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROW = 1000, ROWS = 400 };

static void require(int code, const char* what) {
    int class = MPI_SUCCESS;
    if (code == MPI_SUCCESS) return;
    MPI_Error_class(code, &class);
    fprintf(stderr, "%s: error of class %d\n", what, class);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void tell(const char* folder, int number) {
    char path[4096], ready[4096];
    snprintf(path, sizeof path, "%s/written.new", folder);
    snprintf(ready, sizeof ready, "%s/written", folder);
    FILE* file = fopen(path, "w");
    fprintf(file, "%d\n", number);
    fclose(file);
    rename(path, ready);
}

int main(int argc, char** argv) {
    int rank, ranks;
    char path[4096];
    MPI_File file;
    MPI_Datatype rows;
    static unsigned char mine[ROW * ROWS];
    if (argc < 3) return 2;
    const int alone = argc > 3 && strcmp(argv[3], "alone") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(path, sizeof path, "%s/rows.dat", argv[1]);
    require(
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
        "open");
    MPI_Type_vector(ROWS, ROW, ROW * ranks, MPI_BYTE, &rows);
    MPI_Type_commit(&rows);
    require(
        MPI_File_set_view(file, (MPI_Offset)ROW * rank, MPI_BYTE, rows, "native", MPI_INFO_NULL),
        "set view");
    for (int number = 0; number < atoi(argv[2]); ++number) {
        if (rank == 0) tell(argv[1], number);
        memset(mine, number + rank, sizeof mine);
        require((alone ? MPI_File_write_at : MPI_File_write_at_all)(file, 0, mine, sizeof mine,
                                                                    MPI_BYTE, MPI_STATUS_IGNORE),
                "write");
        usleep(1000);
    }
    require(MPI_File_close(&file), "close");
    MPI_Type_free(&rows);
    MPI_Finalize();
    return 0;
}
