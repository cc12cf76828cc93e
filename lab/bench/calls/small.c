// SPDX-License-Identifier: BSD-3-Clause
/* Times of small independent accesses, for `oratorio bench small`.
 *
 *     small FILE BYTES DISTANCE COUNT
 *
 * Each rank makes COUNT accesses of BYTES bytes. The ranks' accesses alternate in the file, and the
 * beginnings of two neighbours are DISTANCE bytes apart. All ranks make each kind of access at
 * once: writes, reads of what was written, reads after the file was dropped from the page cache and
 * opened again, the same reads again, and writes and reads through a view that has only the rank's
 * own bytes. Every read is checked.
 *
 * Rank 0 prints a line for each kind: its name, and the seconds of a call of the slowest rank.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks, bytes;
static MPI_Offset distance;
static long count;
static MPI_File file;
static unsigned char* memory;

static void must(int is_right, const char* what) {
    if (is_right) return;
    fprintf(stderr, "small: rank %d: %s failed\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void open_file(const char* path) {
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    must(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS,
         "MPI_File_open");
}

/* Drops the file's pages from the page cache. A file system in memory keeps them. */
static void drop_cached(const char* path) {
    const int fd = open(path, O_RDONLY);
    must(fd >= 0 && fsync(fd) == 0, "fsync");
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

static unsigned char mark_of(long number) {
    return (unsigned char)(number * ranks + rank);
}

static void write_one(MPI_Offset at, long number) {
    MPI_Status status;
    memory[0] = memory[bytes - 1] = mark_of(number);
    must(MPI_File_write_at(file, at, memory, bytes, MPI_BYTE, &status) == MPI_SUCCESS, "a write");
}

static void read_one(MPI_Offset at, long number) {
    MPI_Status status;
    must(MPI_File_read_at(file, at, memory, bytes, MPI_BYTE, &status) == MPI_SUCCESS, "a read");
    must(memory[0] == mark_of(number) && memory[bytes - 1] == mark_of(number),
         "the check of what was read");
}

/* Makes all accesses of a kind, each `step` bytes of the view after the one before. */
static void measure(const char* kind, void (*access)(MPI_Offset, long), MPI_Offset first,
                    MPI_Offset step) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (long i = 0; i < count; ++i) access(first + i * step, i);
    double seconds = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) printf("%s %.9f\n", kind, seconds / (double)count);
}

/* Makes a view with only this rank's bytes. */
static void leave_gaps(void) {
    MPI_Datatype piece, spaced;
    MPI_Type_contiguous(bytes, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, ranks * distance, &spaced);
    MPI_Type_commit(&spaced);
    must(MPI_File_set_view(file, rank * distance, MPI_BYTE, spaced, "native", MPI_INFO_NULL) ==
             MPI_SUCCESS,
         "MPI_File_set_view");
    MPI_Type_free(&piece);
    MPI_Type_free(&spaced);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    must(argc == 5, "reading the arguments FILE BYTES DISTANCE COUNT");
    bytes = atoi(argv[2]);
    distance = atoll(argv[3]);
    count = atol(argv[4]);
    memory = calloc(1, (size_t)bytes);
    must(memory != NULL, "allocating memory");
    const MPI_Offset first = rank * distance, step = ranks * distance;

    open_file(argv[1]);
    measure("write", write_one, first, step);
    measure("read_written", read_one, first, step);
    MPI_File_close(&file);
    if (rank == 0) drop_cached(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    open_file(argv[1]);
    measure("read", read_one, first, step);
    measure("read_again", read_one, first, step);
    leave_gaps();
    measure("write_gaps", write_one, 0, bytes);
    measure("read_gaps", read_one, 0, bytes);
    MPI_File_close(&file);
    free(memory);
    MPI_Finalize();
    return 0;
}
