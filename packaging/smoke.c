// SPDX-License-Identifier: BSD-3-Clause
/* A program that tests an installation. usage: smoke FILE
 *
 * Each of n ranks writes every n-th int of FILE and reads all ints back. */
#include <mpi.h>
#include <stdio.h>

enum { COUNT = 1000 };

static int differs(MPI_File file, int size) {
    int found[COUNT];
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    for (int block = 0; block < size; ++block) {
        if (MPI_File_read_at(file, (MPI_Offset)block * COUNT, found, COUNT, MPI_INT,
                             MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return 1;
        for (int i = 0; i < COUNT; ++i)
            if (found[i] != block * COUNT + i) return 1;
    }
    return 0;
}

int main(int argc, char** argv) {
    int rank, size, failed, values[COUNT];
    MPI_File file;
    MPI_Datatype every;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < COUNT; ++i) values[i] = i * size + rank;
    MPI_Type_vector(COUNT, 1, size, MPI_INT, &every);
    MPI_Type_commit(&every);
    failed = argc < 2 || MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
                                       MPI_INFO_NULL, &file) != MPI_SUCCESS;
    if (failed) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_File_set_view(file, (MPI_Offset)rank * (MPI_Offset)sizeof(int), MPI_INT, every, "native",
                      MPI_INFO_NULL);
    failed = MPI_File_write_all(file, values, COUNT, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    failed = failed || differs(file, size);
    MPI_File_close(&file);
    MPI_Type_free(&every);
    MPI_Finalize();
    printf("smoke: rank %d %s\n", rank, failed ? "failed" : "ok");
    return failed;
}
