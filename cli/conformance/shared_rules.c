// SPDX-License-Identifier: BSD-3-Clause
/* MPI-4.1, 14.4.4: shared file pointers. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

enum { kRecord = 64, kEach = 10 };

static MPI_Offset shared_position(Test* t, MPI_File file) {
    MPI_Offset position = -1;
    OK(t, MPI_File_get_position_shared(file, &position));
    return position;
}

/* Collective. Moves the shared file pointer. Waits for all ranks before and after, so that every
 * rank then finds the pointer at the new position. */
static void seek_shared(Test* t, MPI_File file, MPI_Offset offset, int whence) {
    MPI_Barrier(t->comm);
    OK(t, MPI_File_seek_shared(file, offset, whence));
    MPI_Barrier(t->comm);
}

static void fill_record(int* record, int rank, int number) {
    for (int i = 0; i < kRecord; i++) {
        record[i] = rank * kEach + number;
    }
}

/* Checks that the file holds every record of every rank exactly once and whole, and each rank's
 * records in the order in which it wrote them. */
static void check_records(Test* t) {
    MPI_Barrier(t->comm);
    if (t->rank != 0) {
        return;
    }
    const int records = t->size * kEach;
    int* const next = calloc((size_t)t->size, sizeof(int));
    int* const found = malloc((size_t)records * kRecord * sizeof(int));
    const int bytes = records * kRecord * (int)sizeof(int);
    EQUAL(t, stored_bytes(t, t->path, 0, found, bytes), bytes);
    for (int record = 0; record < records; record++) {
        const int* const ints = found + (size_t)record * kRecord;
        const int is_known = ints[0] >= 0 && ints[0] < records;
        CHECK(t, is_known, "record %d begins with %d", record, ints[0]);
        for (int i = 1; i < kRecord; i++) {
            CHECK(t, ints[i] == ints[0], "record %d is torn: %d and %d", record, ints[0], ints[i]);
        }
        if (is_known) {
            const int rank = ints[0] / kEach;
            CHECK(t, ints[0] % kEach == next[rank], "record %d of rank %d instead of its record %d",
                  ints[0] % kEach, rank, next[rank]);
            next[rank]++;
        }
    }
    free(next);
    free(found);
}

static void loses_no_record(Test* t) {
    int record[kRecord];
    MPI_File file = open_new(t);
    view_ints(t, file, 0);
    for (int i = 0; i < kEach; i++) {
        fill_record(record, t->rank, i);
        OK(t, MPI_File_write_shared(file, record, kRecord, MPI_INT, MPI_STATUS_IGNORE));
    }
    MPI_Barrier(t->comm);
    EQUAL(t, shared_position(t, file), t->size * kEach * kRecord);
    close_file(t, &file);
    check_records(t);
}

static void loses_no_started_record(Test* t) {
    int records[kEach][kRecord];
    MPI_Request requests[kEach];
    MPI_File file = open_new(t);
    view_ints(t, file, 0);
    for (int i = 0; i < kEach; i++) {
        requests[i] = MPI_REQUEST_NULL;
        fill_record(records[i], t->rank, i);
        OK(t, MPI_File_iwrite_shared(file, records[i], kRecord, MPI_INT, &requests[i]));
    }
    OK(t, MPI_Waitall(kEach, requests, MPI_STATUSES_IGNORE));
    close_file(t, &file);
    check_records(t);
}

static void reads_each_record_once(Test* t) {
    const int records = t->size * kEach;
    int* const times = calloc((size_t)records, sizeof(int));
    int record[4];
    MPI_Status status;
    make_file(t, t->path, 4 * records, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    view_ints(t, file, 0);
    for (int i = 0; i < kEach; i++) {
        if (OK(t, MPI_File_read_shared(file, record, 4, MPI_INT, &status))) {
            check_count(t, &status, MPI_INT, 4);
            const int number = record[0] / 4;
            CHECK(t, record[0] % 4 == 0 && record[3] == record[0] + 3 && number < records,
                  "a record begins with %d and ends with %d", record[0], record[3]);
            times[number >= 0 && number < records ? number : 0]++;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, times, records, MPI_INT, MPI_SUM, t->comm);
    for (int i = 0; i < records; i++) {
        CHECK(t, times[i] == 1, "record %d was read %d times", i, times[i]);
    }
    free(times);
    close_file(t, &file);
}

/* Writes r + 1 ints on rank r in each turn, to check that ordered writes are in rank order. */
static void orders_by_rank(Test* t) {
    enum { kTurns = 3 };
    const int sum = t->size * (t->size + 1) / 2;
    int* const mine = malloc((size_t)(t->rank + 1) * sizeof(int));
    int* const expected = malloc((size_t)(kTurns * sum) * sizeof(int));
    MPI_File file = open_new(t);
    view_ints(t, file, 0);
    for (int turn = 0; turn < kTurns; turn++) {
        for (int i = 0; i <= t->rank; i++) {
            mine[i] = turn * 1000 + t->rank;
        }
        OK(t, MPI_File_write_ordered(file, mine, t->rank + 1, MPI_INT, MPI_STATUS_IGNORE));
    }
    EQUAL(t, shared_position(t, file), kTurns * sum);
    close_file(t, &file);
    for (int turn = 0, at = 0; turn < kTurns; turn++) {
        for (int rank = 0; rank < t->size; rank++) {
            for (int i = 0; i <= rank; i++) {
                expected[at++] = turn * 1000 + rank;
            }
        }
    }
    check_stored(t, t->path, expected, kTurns * sum);
    free(mine);
    free(expected);
}

static void reads_by_rank(Test* t) {
    int found = -1;
    make_file(t, t->path, 2 * t->size + 3, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    view_ints(t, file, 0);
    OK(t, MPI_File_seek_shared(file, 3, MPI_SEEK_SET));
    for (int turn = 0; turn < 2; turn++) {
        OK(t, MPI_File_read_ordered(file, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
        EQUAL(t, found, 3 + turn * t->size + t->rank);
    }
    close_file(t, &file);
}

static void seeks_shared(Test* t) {
    make_file(t, t->path, 20, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    view_ints(t, file, 8);
    EQUAL(t, shared_position(t, file), 0);
    seek_shared(t, file, 4, MPI_SEEK_SET);
    EQUAL(t, shared_position(t, file), 4);
    seek_shared(t, file, -3, MPI_SEEK_CUR);
    EQUAL(t, shared_position(t, file), 1);
    seek_shared(t, file, -2, MPI_SEEK_END);
    EQUAL(t, shared_position(t, file), 16);
    close_file(t, &file);
}

static void shared_is_of_the_handle(Test* t) {
    make_file(t, t->path, 20, 0, 1);
    MPI_File one = open_mode(t, t->path, MPI_MODE_RDONLY);
    MPI_File two = open_mode(t, t->path, MPI_MODE_RDONLY);
    seek_shared(t, one, 12, MPI_SEEK_SET);
    EQUAL(t, shared_position(t, two), 0);
    EQUAL(t, shared_position(t, one), 12);
    close_file(t, &one);
    close_file(t, &two);
}

static void shared_append(Test* t) {
    const int value = 9;
    const int expected[4] = {0, 1, 2, 9};
    make_file(t, t->path, 3, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_WRONLY | MPI_MODE_APPEND);
    EQUAL(t, shared_position(t, file), 12);
    MPI_Barrier(t->comm);
    if (t->rank == t->size - 1) {
        OK(t, MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    }
    close_file(t, &file);
    check_stored(t, t->path, expected, 4);
}

/* Alternates ordered and unordered writes of one int per rank. */
static void mixes_shared_and_ordered(Test* t) {
    const int value = t->rank;
    MPI_File file = open_new(t);
    view_ints(t, file, 0);
    OK(t, MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(t, MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Barrier(t->comm);
    EQUAL(t, shared_position(t, file), 2 * t->size);
    MPI_Barrier(t->comm);
    OK(t, MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, shared_position(t, file), 3 * t->size);
    close_file(t, &file);
    if (t->rank == 0) {
        int* const found = malloc((size_t)(3 * t->size) * sizeof(int));
        int sum = 0;
        stored_bytes(t, t->path, 0, found, 12 * t->size);
        for (int i = 0; i < t->size; i++) {
            EQUAL(t, found[i], i);
            EQUAL(t, found[2 * t->size + i], i);
            sum += found[t->size + i];
        }
        EQUAL(t, sum, t->size * (t->size - 1) / 2);
        free(found);
    }
}

static void shared_moves_at_start(Test* t) {
    const int value = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_File file = open_new(t);
    view_ints(t, file, 0);
    if (t->rank == 0) {
        OK(t, MPI_File_iwrite_shared(file, &value, 1, MPI_INT, &request));
        EQUAL(t, shared_position(t, file), 1);
        OK(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
        EQUAL(t, shared_position(t, file), 1);
    }
    close_file(t, &file);
}

static void sequential_file(Test* t) {
    int found = -1;
    MPI_File file = open_mode(t, t->path, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    OK(t, MPI_File_write_ordered(file, &t->rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(t, MPI_File_write_ordered(file, &t->rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    close_file(t, &file);
    file = open_mode(t, t->path, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL);
    for (int turn = 0; turn < 2; turn++) {
        OK(t, MPI_File_read_ordered(file, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
        EQUAL(t, found, t->rank);
    }
    close_file(t, &file);
}

/* clang-format off */
RULES(kSharedRules, {
    {"14.4.4", "shared-write-all-there", "records of concurrent write_shared are neither lost nor torn; those of one rank are in order", "write_shared get_position_shared", loses_no_record, 1, kUsual, NULL},
    {"14.4.4", "shared-iwrite-all-there", "records of concurrent iwrite_shared are neither lost nor torn; those of one rank are in order", "iwrite_shared", loses_no_started_record, 1, kUsual, NULL},
    {"14.4.4", "shared-read-once", "concurrent calls of read_shared read every record once", "read_shared", reads_each_record_once, 1, kUsual, NULL},
    {"14.4.4", "ordered-write-order", "write_ordered puts unequal records in rank order, call after call", "write_ordered get_position_shared", orders_by_rank, 1, kUsual, NULL},
    {"14.4.4", "ordered-read-order", "read_ordered reads records in rank order, from the position that seek_shared set", "read_ordered seek_shared", reads_by_rank, 1, kUsual, NULL},
    {"14.4.4", "seek-shared-whence", "MPI_File_seek_shared goes to an offset from the view's start, the pointer or the file's end", "seek_shared get_position_shared", seeks_shared, 1, kUsual, NULL},
    {"14.4.4", "shared-per-open", "each collective open has a shared pointer of its own", "open seek_shared get_position_shared", shared_is_of_the_handle, 1, kUsual, NULL},
    {"14.2.1", "open-append-shared", "MPI_MODE_APPEND sets the shared pointer to the end of the file", "open get_position_shared write_shared", shared_append, 1, kUsual, NULL},
    {"14.4.4", "shared-mixed", "shared and ordered accesses move one and the same pointer", "write_shared write_ordered get_position_shared", mixes_shared_and_ordered, 1, kUsual, NULL},
    {"14.4.4", "shared-at-start", "a nonblocking access has moved the shared pointer when it returns", "iwrite_shared get_position_shared", shared_moves_at_start, 1, kUsual, NULL},
    {"14.6.2", "sequential-file", "a sequential file is written and read through the shared pointer", "open write_ordered read_ordered", sequential_file, 1, kUsual, NULL},
});
/* clang-format on */
