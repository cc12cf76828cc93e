// SPDX-License-Identifier: BSD-3-Clause
/* A parallel netCDF-4 program. usage: netcdf_program FOLDER
 *
 * Each rank writes some columns of a field collectively, and rows of a chunked one
 * independently. Then the file is opened again, and each rank reads what another wrote. */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 60, COLUMNS = 30 };

static void require(int code, const char* what) {
    if (code == NC_NOERR) return;
    fprintf(stderr, "%s: %s\n", what, nc_strerror(code));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static double value(int writer, int at) {
    return writer * 10000.0 + at;
}

static void write_file(const char* path, int rank, int ranks) {
    int file, dims[2], turned[2], fields[2];
    const size_t chunk[2] = {7, 11};
    static double mine[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; ++i) mine[i] = value(rank, i);
    require(nc_create_par(path, NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "create");
    require(nc_def_dim(file, "y", ROWS, &dims[0]), "y");
    require(nc_def_dim(file, "x", (size_t)COLUMNS * (size_t)ranks, &dims[1]), "x");
    turned[0] = dims[1], turned[1] = dims[0];
    require(nc_def_var(file, "columns", NC_DOUBLE, 2, dims, &fields[0]), "columns");
    require(nc_def_var(file, "rows", NC_DOUBLE, 2, turned, &fields[1]), "rows");
    require(nc_def_var_chunking(file, fields[1], NC_CHUNKED, chunk), "chunks");
    require(nc_enddef(file), "end of definitions");
    require(nc_var_par_access(file, fields[0], NC_COLLECTIVE), "collective");
    const size_t first = (size_t)COLUMNS * (size_t)rank;
    const size_t start[2] = {0, first}, count[2] = {ROWS, COLUMNS};
    const size_t turned_start[2] = {first, 0}, turned_count[2] = {COLUMNS, ROWS};
    require(nc_put_vara_double(file, fields[0], start, count, mine), "writing columns");
    require(nc_put_vara_double(file, fields[1], turned_start, turned_count, mine), "writing rows");
    require(nc_close(file), "close");
}

static void read_file(const char* path, int rank, int ranks) {
    int file, field;
    static double found[ROWS * COLUMNS];
    const int other = (rank + 1) % ranks;
    const size_t start[2] = {0, (size_t)COLUMNS * (size_t)other}, count[2] = {ROWS, COLUMNS};
    require(nc_open_par(path, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "open");
    require(nc_inq_varid(file, "columns", &field), "columns");
    require(nc_var_par_access(file, field, NC_COLLECTIVE), "collective");
    require(nc_get_vara_double(file, field, start, count, found), "reading columns");
    for (int i = 0; i < ROWS * COLUMNS; ++i)
        require(found[i] == value(other, i) ? NC_NOERR : NC_EINVAL, "comparing");
    require(nc_close(file), "close");
}

int main(int argc, char** argv) {
    char path[4096];
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(path, sizeof path, "%s/field.nc", argv[1]);
    write_file(path, rank, ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    read_file(path, rank, ranks);
    MPI_Finalize();
    return 0;
}
