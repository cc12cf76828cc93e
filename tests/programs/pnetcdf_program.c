// SPDX-License-Identifier: BSD-3-Clause
/* Several PnetCDF variables, written in several ways. usage: pnetcdf_program FOLDER
 *
 * Fixed and record variables; collective, independent and strided access; iput and varn requests
 * that wait_all joins into few large accesses. Each rank reads its neighbour's part back.
 */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 6, COLUMNS = 40, RECORDS = 3, PIECES = 5 };

typedef struct {
    int file, fixed, strided, independent, record[2], pieces;
} Variables;

static int rank, ranks;

static void require(int code, int line) {
    if (code != NC_NOERR) {
        fprintf(stderr, "line %d: %s\n", line, ncmpi_strerror(code));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
#define REQUIRE(call) require(call, __LINE__)

static void define(const char* path, Variables* v) {
    int y, x, time, piece;
    REQUIRE(
        ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &v->file));
    REQUIRE(ncmpi_put_att_text(v->file, NC_GLOBAL, "title", 5, "waves"));
    REQUIRE(ncmpi_def_dim(v->file, "time", NC_UNLIMITED, &time));
    REQUIRE(ncmpi_def_dim(v->file, "y", (MPI_Offset)ROWS * ranks, &y));
    REQUIRE(ncmpi_def_dim(v->file, "x", COLUMNS, &x));
    REQUIRE(ncmpi_def_dim(v->file, "piece", (MPI_Offset)PIECES * 2 * ranks, &piece));
    const int plane[] = {y, x}, record[] = {time, y, x};
    REQUIRE(ncmpi_def_var(v->file, "fixed", NC_DOUBLE, 2, plane, &v->fixed));
    REQUIRE(ncmpi_def_var(v->file, "strided", NC_INT, 2, plane, &v->strided));
    REQUIRE(ncmpi_def_var(v->file, "independent", NC_FLOAT, 2, plane, &v->independent));
    REQUIRE(ncmpi_def_var(v->file, "wind", NC_DOUBLE, 3, record, &v->record[0]));
    REQUIRE(ncmpi_def_var(v->file, "rain", NC_INT, 3, record, &v->record[1]));
    REQUIRE(ncmpi_def_var(v->file, "pieces", NC_INT, 1, &piece, &v->pieces));
    REQUIRE(ncmpi_enddef(v->file));
}

static double value(int who, int i) {
    return who * 10000.0 + i;
}

/* Writes a block of rows, and every ranks-th column of another variable, both collectively. */
static void write_collective(const Variables* v) {
    double block[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; ++i) block[i] = value(rank, i);
    MPI_Offset start[] = {(MPI_Offset)ROWS * rank, 0}, count[] = {ROWS, COLUMNS};
    REQUIRE(ncmpi_put_vara_double_all(v->file, v->fixed, start, count, block));

    const MPI_Offset columns = (COLUMNS - rank + ranks - 1) / ranks;
    int* column = malloc(sizeof(int) * (size_t)(ROWS * ranks * columns));
    for (int i = 0; i < ROWS * ranks * columns; ++i) column[i] = (int)value(rank, i);
    MPI_Offset first[] = {0, rank}, number[] = {(MPI_Offset)ROWS * ranks, columns},
               stride[] = {1, ranks};
    REQUIRE(ncmpi_put_vars_int_all(v->file, v->strided, first, number, stride, column));
    free(column);
}

static void write_independent(const Variables* v) {
    REQUIRE(ncmpi_begin_indep_data(v->file));
    float row[COLUMNS];
    for (int r = 0; r < ROWS; ++r) {
        for (int i = 0; i < COLUMNS; ++i) row[i] = (float)value(rank, r * COLUMNS + i);
        MPI_Offset start[] = {(MPI_Offset)r * ranks + rank, 0}, count[] = {1, COLUMNS};
        REQUIRE(ncmpi_put_vara_float(v->file, v->independent, start, count, row));
    }
    REQUIRE(ncmpi_end_indep_data(v->file));
}

/* Starts requests for all records of both record variables, and one of many pieces, and
 * completes them with one wait. */
static void write_joined(const Variables* v) {
    static double wind[RECORDS][ROWS * COLUMNS];
    static int rain[RECORDS][ROWS * COLUMNS];
    int requests[2 * RECORDS + 1], statuses[2 * RECORDS + 1], n = 0;
    for (int t = 0; t < RECORDS; ++t) {
        for (int i = 0; i < ROWS * COLUMNS; ++i) {
            wind[t][i] = value(rank, i) + t * 0.25;
            rain[t][i] = (int)value(rank, i) + t * 7;
        }
        MPI_Offset start[] = {t, (MPI_Offset)ROWS * rank, 0}, count[] = {1, ROWS, COLUMNS};
        REQUIRE(
            ncmpi_iput_vara_double(v->file, v->record[0], start, count, wind[t], &requests[n++]));
        REQUIRE(ncmpi_iput_vara_int(v->file, v->record[1], start, count, rain[t], &requests[n++]));
    }
    MPI_Offset place[PIECES], two[PIECES], *starts[PIECES], *counts[PIECES];
    int pieces[2 * PIECES];
    for (int i = 0; i < PIECES; ++i) {
        place[i] = 2 * ((MPI_Offset)i * ranks + rank);
        two[i] = 2;
        starts[i] = &place[i];
        counts[i] = &two[i];
        pieces[2 * i] = pieces[2 * i + 1] = (int)value(rank, i);
    }
    REQUIRE(
        ncmpi_iput_varn_int(v->file, v->pieces, PIECES, starts, counts, pieces, &requests[n++]));
    REQUIRE(ncmpi_wait_all(v->file, n, requests, statuses));
    for (int i = 0; i < n; ++i) REQUIRE(statuses[i]);
}

static void read_back(const char* path) {
    const int other = (rank + 1) % ranks;
    int file, fixed, wind;
    REQUIRE(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file));
    REQUIRE(ncmpi_inq_varid(file, "fixed", &fixed));
    REQUIRE(ncmpi_inq_varid(file, "wind", &wind));
    double block[ROWS * COLUMNS], record[ROWS * COLUMNS];
    int requests[2], statuses[2], wrong = 0;
    MPI_Offset start[] = {(MPI_Offset)ROWS * other, 0}, count[] = {ROWS, COLUMNS};
    MPI_Offset last[] = {RECORDS - 1, (MPI_Offset)ROWS * other, 0}, one[] = {1, ROWS, COLUMNS};
    REQUIRE(ncmpi_iget_vara_double(file, fixed, start, count, block, &requests[0]));
    REQUIRE(ncmpi_iget_vara_double(file, wind, last, one, record, &requests[1]));
    REQUIRE(ncmpi_wait_all(file, 2, requests, statuses));
    for (int i = 0; i < ROWS * COLUMNS; ++i)
        wrong += block[i] != value(other, i) || record[i] != value(other, i) + (RECORDS - 1) * 0.25;
    REQUIRE(ncmpi_close(file));
    if (wrong) {
        fprintf(stderr, "rank %d read %d wrong values\n", rank, wrong);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char path[4096];
    snprintf(path, sizeof path, "%s/waves.nc", argv[argc - 1]);
    Variables v;
    define(path, &v);
    write_collective(&v);
    write_independent(&v);
    write_joined(&v);
    REQUIRE(ncmpi_close(v.file));
    read_back(path);
    MPI_Finalize();
    return 0;
}
