// SPDX-License-Identifier: BSD-3-Clause
/* Parallel HDF5 with small pieces of all ranks in turn. usage: hdf5_program FOLDER
 *
 * It writes a contiguous dataset independently, a chunked one collectively, and one that grows;
 * then it opens the file again and every rank reads all of it. The file holds no times, so that
 * runs can be compared. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

enum { ROWS = 24, COLUMNS = 60, PART = 5, STEPS = 4 };

static int rank, ranks;

static hid_t require(hid_t code, int line) {
    if (code < 0) {
        fprintf(stderr, "rank %d, line %d: HDF5 fails\n", rank, line);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return code;
}
#define REQUIRE(call) require((hid_t)(call), __LINE__)

static int value(int row, int column) {
    return row * 1000 + column;
}

static hid_t open_file(const char* folder, int create) {
    char path[4096];
    const hid_t access = REQUIRE(H5Pcreate(H5P_FILE_ACCESS));
    snprintf(path, sizeof path, "%s/data.h5", folder);
    REQUIRE(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    const hid_t root = REQUIRE(H5Pcreate(H5P_FILE_CREATE));
    REQUIRE(H5Pset_obj_track_times(root, 0)); /* HDF5 2 also stores times of the root group */
    const hid_t file = create ? H5Fcreate(path, H5F_ACC_TRUNC, root, access)
                              : H5Fopen(path, H5F_ACC_RDONLY, access);
    REQUIRE(file);
    REQUIRE(H5Pclose(root));
    REQUIRE(H5Pclose(access));
    return file;
}

static hid_t make(hid_t file, const char* name, int chunked, hsize_t rows) {
    const hsize_t size[2] = {rows, COLUMNS}, most[2] = {H5S_UNLIMITED, COLUMNS}, chunk[2] = {7, 16};
    const hid_t space = REQUIRE(H5Screate_simple(2, size, chunked ? most : NULL));
    const hid_t how = REQUIRE(H5Pcreate(H5P_DATASET_CREATE));
    REQUIRE(H5Pset_obj_track_times(how, 0));
    if (chunked) REQUIRE(H5Pset_chunk(how, 2, chunk));
    const hid_t made =
        REQUIRE(H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, how, H5P_DEFAULT));
    REQUIRE(H5Pclose(how));
    REQUIRE(H5Sclose(space));
    return made;
}

/* Writes the columns of this rank in `count` rows: PART columns in turn with the other ranks'. */
static void write_rows(hid_t set, int first, int count, int collective) {
    int data[ROWS * COLUMNS], used = 0;
    const hid_t space = REQUIRE(H5Dget_space(set));
    const hsize_t start[2] = {(hsize_t)first, (hsize_t)(rank * PART)};
    const hsize_t stride[2] = {1, (hsize_t)(ranks * PART)};
    const hsize_t block[2] = {1, PART};
    const hsize_t blocks[2] = {(hsize_t)count, (hsize_t)(COLUMNS / (ranks * PART))};
    REQUIRE(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, blocks, block));
    for (int row = first; row < first + count; ++row)
        for (int column = 0; column < COLUMNS; ++column)
            if (column / PART % ranks == rank) data[used++] = value(row, column);
    const hsize_t elements = (hsize_t)used;
    const hid_t memory = REQUIRE(H5Screate_simple(1, &elements, NULL));
    const hid_t how = REQUIRE(H5Pcreate(H5P_DATASET_XFER));
    REQUIRE(H5Pset_dxpl_mpio(how, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT));
    REQUIRE(H5Dwrite(set, H5T_NATIVE_INT, memory, space, how, data));
    REQUIRE(H5Pclose(how));
    REQUIRE(H5Sclose(memory));
    REQUIRE(H5Sclose(space));
}

static void check(hid_t file, const char* name) {
    int data[ROWS * COLUMNS];
    const hid_t set = REQUIRE(H5Dopen2(file, name, H5P_DEFAULT));
    REQUIRE(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    for (int i = 0; i < ROWS * COLUMNS; ++i)
        if (data[i] != value(i / COLUMNS, i % COLUMNS)) {
            fprintf(stderr, "rank %d: %s has %d at %d\n", rank, name, data[i], i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    REQUIRE(H5Dclose(set));
}

int main(int count, char** words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    hid_t file = open_file(words[1], 1);
    const hid_t independent = make(file, "independent", 0, ROWS);
    const hid_t collective = make(file, "collective", 1, ROWS);
    const hid_t growing = make(file, "growing", 1, ROWS / STEPS);
    for (int row = 0; row < ROWS; ++row) write_rows(independent, row, 1, 0);
    write_rows(collective, 0, ROWS, 1);
    for (int step = 0; step < STEPS; ++step) {
        const hsize_t size[2] = {(hsize_t)(ROWS / STEPS * (step + 1)), COLUMNS};
        REQUIRE(H5Dset_extent(growing, size));
        write_rows(growing, ROWS / STEPS * step, ROWS / STEPS, 1);
    }
    REQUIRE(H5Dclose(independent));
    REQUIRE(H5Dclose(collective));
    REQUIRE(H5Dclose(growing));
    REQUIRE(H5Fclose(file));
    file = open_file(words[1], 0);
    check(file, "independent");
    check(file, "collective");
    check(file, "growing");
    REQUIRE(H5Fclose(file));
    MPI_Finalize();
    return 0;
}
