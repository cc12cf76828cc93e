// SPDX-License-Identifier: BSD-3-Clause
/* The smallest MPI-IO program. usage: written_block FOLDER [WORD...]
 *
 * Each rank writes and reads back a block. Rank 0 prints the words, one per line, and the value
 * of LD_PRELOAD's last part; the exit code is 3 if the last word is "fail". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000 };

static void require(int holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "failed: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void print_words(int argc, char** argv) {
    for (int i = 2; i < argc; ++i) printf("<%s>\n", argv[i]);
    const char* preload = getenv("LD_PRELOAD");
    const char* last = preload ? strrchr(preload, '/') : NULL;
    printf("preload %s\n", last ? last + 1 : "none");
}

int main(int argc, char** argv) {
    int rank, values[COUNT], found[COUNT];
    char path[4096];
    MPI_File file;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < COUNT; ++i) values[i] = rank * COUNT + i;
    snprintf(path, sizeof path, "%s/blocks.dat", argv[1]);
    require(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file) == MPI_SUCCESS,
            "open");
    const MPI_Offset place = (MPI_Offset)rank * (MPI_Offset)sizeof values;
    require(MPI_File_write_at_all(file, place, values, COUNT, MPI_INT, &status) == MPI_SUCCESS,
            "write");
    require(MPI_File_read_at(file, place, found, COUNT, MPI_INT, &status) == MPI_SUCCESS, "read");
    require(memcmp(values, found, sizeof values) == 0, "comparing");
    require(MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL, "close");
    if (rank == 0) print_words(argc, argv);
    MPI_Finalize();
    return strcmp(argv[argc - 1], "fail") == 0 ? 3 : 0;
}
