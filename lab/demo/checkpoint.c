// SPDX-License-Identifier: BSD-3-Clause
/* A parallel HDF5 checkpoint, as simulation codes write it.
 *
 * usage: checkpoint FOLDER CELLS STEPS          (8 ranks)
 *
 * The ranks form a 2 x 2 x 2 grid. Each owns CELLS^3 cells of every field, kept in an array with
 * GHOST more cells on each side, so neither its memory nor its place in the file is contiguous.
 * Every step writes the fields to FOLDER/<layout>-<step>.h5, collectively, once as contiguous and
 * once as chunked datasets; after the last step the files are read back and every value is
 * compared.
 *
 * Rank 0 prints one line per phase: "PHASE layout step name seconds bytes". All times are the
 * slowest rank's. The files hold no times of day, so two runs write the same bytes.
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIMENSIONS = 3, RANKS_PER_EDGE = 2, GHOST = 2 };

static const char* const fields[] = {"density",    "pressure",   "temperature",
                                     "velocity_x", "velocity_y", "velocity_z"};
enum { FIELDS = sizeof fields / sizeof fields[0] };

typedef struct {
    int rank;
    hsize_t cells;             /* owned cells along an edge */
    hsize_t edge;              /* cells along an edge in memory, with ghosts */
    hsize_t start[DIMENSIONS]; /* first owned cell in the whole field */
    double* values;            /* edge^3 values, x varies fastest */
} Block;

typedef struct {
    const char* name; /* contiguous or chunked */
    int is_chunked;
} Layout;

static const Layout layouts[] = {{"contiguous", 0}, {"chunked", 1}};

static void require(int holds, const char* what) {
    if (!holds) {
        fprintf(stderr, "checkpoint: %s failed\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Returns a value that encodes field, step and place of a cell. */
static double value_of(int field, int step, hsize_t z, hsize_t y, hsize_t x) {
    return field * 1e9 + step * 1e7 + (double)((z * 1000 + y) * 1000 + x) / 16.0;
}

static double* cell(const Block* block, hsize_t z, hsize_t y, hsize_t x) {
    return &block->values[((z + GHOST) * block->edge + y + GHOST) * block->edge + x + GHOST];
}

static Block make_block(hsize_t cells) {
    Block block = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &block.rank);
    block.cells = cells;
    block.edge = cells + 2 * GHOST;
    const int place[DIMENSIONS] = {block.rank / 4, block.rank / 2 % 2, block.rank % 2};
    for (int d = 0; d < DIMENSIONS; ++d) block.start[d] = (hsize_t)place[d] * cells;
    const size_t count = (size_t)(block.edge * block.edge * block.edge);
    block.values = malloc(count * sizeof(double));
    require(block.values != NULL, "malloc");
    for (size_t i = 0; i < count; ++i)
        block.values[i] = -1.0; /* a value that no cell has: ghosts must never reach the file */
    return block;
}

static void fill(const Block* block, int field, int step) {
    for (hsize_t z = 0; z < block->cells; ++z)
        for (hsize_t y = 0; y < block->cells; ++y)
            for (hsize_t x = 0; x < block->cells; ++x)
                *cell(block, z, y, x) = value_of(field, step, block->start[0] + z,
                                                 block->start[1] + y, block->start[2] + x);
}

static long long wrong_values(const Block* block, int field, int step) {
    long long wrong = 0;
    for (hsize_t z = 0; z < block->cells; ++z)
        for (hsize_t y = 0; y < block->cells; ++y)
            for (hsize_t x = 0; x < block->cells; ++x)
                wrong +=
                    *cell(block, z, y, x) != value_of(field, step, block->start[0] + z,
                                                      block->start[1] + y, block->start[2] + x);
    return wrong;
}

static double start_phase(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

static void end_phase(const Block* block, double start, const Layout* layout, int step,
                      const char* name, hsize_t values) {
    double mine = MPI_Wtime() - start;
    double slowest = 0;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (block->rank != 0) return;
    printf("PHASE %s %d %s %.6f %llu\n", layout->name, step, name, slowest,
           (unsigned long long)(values * sizeof(double)));
    fflush(stdout);
}

static void path_of(char* path, size_t size, const char* folder, const Layout* layout, int step) {
    snprintf(path, size, "%s/%s-%d.h5", folder, layout->name, step);
}

static hid_t parallel_access(void) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    require(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0, "H5Pset_fapl_mpio");
    return access;
}

static hid_t create_file(const char* path) {
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_obj_track_times(creation, 0);
    const hid_t access = parallel_access();
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
    require(file >= 0, "H5Fcreate");
    H5Pclose(access);
    H5Pclose(creation);
    return file;
}

static void write_attribute(hid_t object, const char* name, hid_t type, const void* value) {
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    require(attribute >= 0 && H5Awrite(attribute, type, value) >= 0, "H5Awrite");
    H5Aclose(attribute);
    H5Sclose(space);
}

static hid_t create_dataset(hid_t file, const Block* block, const char* name, int is_chunked) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(creation, 0);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    if (is_chunked) {
        const hsize_t chunk[DIMENSIONS] = {block->cells / 2, block->cells, block->cells};
        H5Pset_chunk(creation, DIMENSIONS, chunk);
    }
    const hsize_t edge = block->cells * RANKS_PER_EDGE;
    const hsize_t whole[DIMENSIONS] = {edge, edge, edge};
    const hid_t space = H5Screate_simple(DIMENSIONS, whole, NULL);
    const hid_t dataset =
        H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    require(dataset >= 0, "H5Dcreate");
    H5Sclose(space);
    H5Pclose(creation);
    return dataset;
}

/* Moves the owned cells between memory and dataset, collectively. */
static void transfer(hid_t dataset, const Block* block, int is_write) {
    const hsize_t count[DIMENSIONS] = {block->cells, block->cells, block->cells};
    const hsize_t inner[DIMENSIONS] = {GHOST, GHOST, GHOST};
    const hsize_t edges[DIMENSIONS] = {block->edge, block->edge, block->edge};
    const hid_t memory = H5Screate_simple(DIMENSIONS, edges, NULL);
    H5Sselect_hyperslab(memory, H5S_SELECT_SET, inner, NULL, count, NULL);
    const hid_t place = H5Dget_space(dataset);
    H5Sselect_hyperslab(place, H5S_SELECT_SET, block->start, NULL, count, NULL);
    const hid_t collective = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE);
    const herr_t done =
        is_write ? H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, place, collective, block->values)
                 : H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, place, collective, block->values);
    require(done >= 0, is_write ? "H5Dwrite" : "H5Dread");
    H5Pclose(collective);
    H5Sclose(place);
    H5Sclose(memory);
}

static void write_checkpoint(const char* folder, const Block* block, const Layout* layout,
                             int step) {
    char path[4096];
    path_of(path, sizeof path, folder, layout, step);
    const hsize_t edge = block->cells * RANKS_PER_EDGE;
    double start = start_phase();
    const hid_t file = create_file(path);
    const double time = 0.125 * step;
    write_attribute(file, "step", H5T_NATIVE_INT, &step);
    write_attribute(file, "time", H5T_NATIVE_DOUBLE, &time);
    end_phase(block, start, layout, step, "open", 0);
    for (int f = 0; f < FIELDS; ++f) {
        fill(block, f, step);
        start = start_phase();
        const hid_t dataset = create_dataset(file, block, fields[f], layout->is_chunked);
        write_attribute(dataset, "index", H5T_NATIVE_INT, &f);
        transfer(dataset, block, 1);
        H5Dclose(dataset);
        end_phase(block, start, layout, step, fields[f], edge * edge * edge);
    }
    start = start_phase();
    require(H5Fclose(file) >= 0, "H5Fclose");
    end_phase(block, start, layout, step, "close", 0);
}

static void read_checkpoint(const char* folder, const Block* block, const Layout* layout,
                            int step) {
    char path[4096];
    path_of(path, sizeof path, folder, layout, step);
    const hsize_t edge = block->cells * RANKS_PER_EDGE;
    const hid_t access = parallel_access();
    const double start = start_phase();
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
    require(file >= 0, "H5Fopen");
    long long wrong = 0;
    for (int f = 0; f < FIELDS; ++f) {
        const hid_t dataset = H5Dopen2(file, fields[f], H5P_DEFAULT);
        require(dataset >= 0, "H5Dopen");
        transfer(dataset, block, 0);
        H5Dclose(dataset);
        wrong += wrong_values(block, f, step);
    }
    require(H5Fclose(file) >= 0, "H5Fclose");
    end_phase(block, start, layout, step, "restart", edge * edge * edge * FIELDS);
    H5Pclose(access);
    require(wrong == 0, "the check of the values read");
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    require(argc == 4, "reading the arguments FOLDER CELLS STEPS");
    require(ranks == RANKS_PER_EDGE * RANKS_PER_EDGE * RANKS_PER_EDGE,
            "the check that there are 8 ranks");
    const Block block = make_block((hsize_t)atoi(argv[2]));
    const int steps = atoi(argv[3]);
    for (int step = 0; step < steps; ++step)
        for (size_t l = 0; l < sizeof layouts / sizeof layouts[0]; ++l)
            write_checkpoint(argv[1], &block, &layouts[l], step);
    for (size_t l = 0; l < sizeof layouts / sizeof layouts[0]; ++l)
        read_checkpoint(argv[1], &block, &layouts[l], steps - 1);
    free(block.values);
    MPI_Finalize();
    return 0;
}
