// SPDX-License-Identifier: BSD-3-Clause
/* Rates of single calls, for `oratorio bench calls`.
 *
 *     calls FILE shared COUNT      every rank writes COUNT records of 100 bytes, shared pointer
 *     calls FILE ordered COUNT     the same with MPI_File_write_ordered
 *     calls FILE all COUNT         the same with MPI_File_write_at_all
 *     calls FILE iall COUNT        the same with MPI_File_iwrite_at_all and MPI_Wait
 *     calls FILE raw COUNT         the same with pwrite(2), without any pointer: the best rate with
 *                                  one system call per record
 *     calls FILE overlap SECONDS   SECONDS of computing during a collective write that takes about
 *                                  as long
 *
 * Rank 0 prints one line: seconds per call, or for overlap the seconds of computing alone, writing
 * alone and both together. Only overlap requests MPI_THREAD_MULTIPLE.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kRecord = 100 };

static int rank, ranks;
static MPI_File file;

static double longest(double seconds) {
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
}

static void must(int code, const char* what) {
    if (code == MPI_SUCCESS) return;
    fprintf(stderr, "calls: rank %d: %s failed\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Checks that every record is in the file exactly once and whole. */
static void check_records(long count) {
    MPI_Offset size = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_size(file, &size);
    if (size != (MPI_Offset)count * ranks * kRecord) must(MPI_ERR_OTHER, "the check of the size");
    if (rank > 0) return;
    char* all = malloc((size_t)size);
    long* found = calloc((size_t)ranks, sizeof *found);
    must(MPI_File_read_at(file, 0, all, (int)size, MPI_CHAR, MPI_STATUS_IGNORE), "reading back");
    for (char* record = all; record < all + size; record += kRecord) {
        const int from = record[0] - 'A';
        for (int i = 1; i < kRecord; ++i)
            if (record[i] != record[0] || from < 0 || from >= ranks)
                must(MPI_ERR_OTHER, "the check of a record");
        ++found[from];
    }
    for (int i = 0; i < ranks; ++i)
        if (found[i] != count) must(MPI_ERR_OTHER, "the check of the number of records");
    free(found);
    free(all);
}

static int raw; /* descriptor of the file that `raw` writes */

static int write_beside(MPI_Offset at, const char* record) {
    MPI_Request request;
    const int code = MPI_File_iwrite_at_all(file, at, record, kRecord, MPI_CHAR, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

static void write_record(const char* kind, const char* record, long number) {
    const MPI_Offset at = ((MPI_Offset)number * ranks + rank) * kRecord;
    int code = MPI_SUCCESS;
    if (kind[0] == 'r')
        code = pwrite(raw, record, kRecord, at) != kRecord;
    else if (kind[0] == 'a')
        code = MPI_File_write_at_all(file, at, record, kRecord, MPI_CHAR, MPI_STATUS_IGNORE);
    else if (kind[0] == 'i')
        code = write_beside(at, record);
    else if (kind[0] == 'o')
        code = MPI_File_write_ordered(file, record, kRecord, MPI_CHAR, MPI_STATUS_IGNORE);
    else
        code = MPI_File_write_shared(file, record, kRecord, MPI_CHAR, MPI_STATUS_IGNORE);
    must(code, "writing a record");
}

static void records(long count, const char* kind) {
    char record[kRecord];
    memset(record, 'A' + rank, sizeof record);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (long i = 0; i < count; ++i) write_record(kind, record, i);
    /* MPI_File_get_size makes write-behind write the records that it has gathered. */
    MPI_Offset size = 0;
    MPI_File_get_size(file, &size);
    const double seconds = longest(MPI_Wtime() - start);
    check_records(count);
    if (rank == 0) printf("%.9f\n", seconds / (double)count);
}

/* Computes for a number of rounds. Returns the seconds that it took. */
static double compute(double rounds) {
    static volatile double sink;
    const double start = MPI_Wtime();
    for (double i = 0; i < rounds; ++i) sink = sink * 0.999 + i;
    return MPI_Wtime() - start;
}

enum { kPieces = 4096 }; /* most pieces of 1 MiB per rank */

static double write_all(const char* data, int pieces, MPI_Datatype piece) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    must(MPI_File_write_at_all(file, ((MPI_Offset)rank * pieces) << 20, data, pieces, piece,
                               MPI_STATUS_IGNORE),
         "MPI_File_write_at_all");
    return longest(MPI_Wtime() - start);
}

static void overlap(double seconds) {
    const double rounds = 2e7 * seconds / compute(2e7);
    MPI_Datatype piece;
    MPI_Type_contiguous(1 << 20, MPI_BYTE, &piece);
    MPI_Type_commit(&piece);
    char* data = malloc((size_t)kPieces << 20);
    memset(data, rank + 1, (size_t)512 << 20);
    write_all(data, 512, piece);
    const double wanted = 512 / write_all(data, 512, piece) * seconds;
    const int pieces = wanted < kPieces ? (int)wanted + 1 : kPieces;
    if (pieces > 512) memset(data + ((size_t)512 << 20), rank + 1, (size_t)(pieces - 512) << 20);
    write_all(data, pieces, piece); /* the first write gives the file its length */
    const double writing = write_all(data, pieces, piece);
    MPI_Barrier(MPI_COMM_WORLD);
    const double computing = longest(compute(rounds));
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPI_Request request;
    must(MPI_File_iwrite_at_all(file, ((MPI_Offset)rank * pieces) << 20, data, pieces, piece,
                                &request),
         "MPI_File_iwrite_at_all");
    compute(rounds);
    must(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    const double both = longest(MPI_Wtime() - start);
    if (rank == 0) printf("%.3f %.3f %.3f\n", computing, writing, both);
    MPI_Type_free(&piece);
    free(data);
}

int main(int argc, char** argv) {
    int level;
    const int overlapping = argc == 4 && strcmp(argv[2], "overlap") == 0;
    MPI_Init_thread(&argc, &argv, overlapping ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4)
        must(MPI_ERR_ARG, "reading the arguments FILE shared|ordered|all|iall|raw|overlap NUMBER");
    MPI_Info info;
    MPI_Info_create(&info);
    if (overlapping) MPI_Info_set(info, "direct_write", "true");
    must(MPI_File_open(MPI_COMM_WORLD, argv[1],
                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file),
         "opening the file");
    MPI_Info_free(&info);
    raw = open(argv[1], O_WRONLY);
    if (overlapping)
        overlap(atof(argv[3]));
    else
        records(atol(argv[3]), argv[2]);
    close(raw);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
