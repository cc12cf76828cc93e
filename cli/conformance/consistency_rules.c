// SPDX-License-Identifier: BSD-3-Clause
/* MPI-4.1, 14.6: consistency and semantics. */
#include <stdlib.h>

#include "conformance.h"

enum { kBlock = 16384, kTurns = 8 };

static void is_nonatomic_at_first(Test* t) {
    int flag = -1;
    MPI_File file = open_new(t);
    OK(t, MPI_File_get_atomicity(file, &flag));
    EQUAL(t, flag != 0, 0);
    OK(t, MPI_File_set_atomicity(file, 1));
    OK(t, MPI_File_get_atomicity(file, &flag));
    EQUAL(t, flag != 0, 1);
    OK(t, MPI_File_set_atomicity(file, 0));
    OK(t, MPI_File_get_atomicity(file, &flag));
    EQUAL(t, flag != 0, 0);
    close_file(t, &file);
}

/* Lets all ranks write the same places at the same time. Afterwards the file must hold the data of
 * one rank only. */
static void overlap_atomically(Test* t, MPI_Datatype filetype, int is_collective) {
    int* const values = malloc(kBlock * sizeof(int));
    MPI_File file = open_new(t);
    OK(t, MPI_File_set_atomicity(file, 1));
    OK(t, MPI_File_set_view(file, 0, MPI_INT, filetype, "native", MPI_INFO_NULL));
    for (int turn = 0; turn < kTurns; turn++) {
        for (int i = 0; i < kBlock; i++) {
            values[i] = turn * t->size + t->rank;
        }
        MPI_Barrier(t->comm);
        if (is_collective) {
            OK(t, MPI_File_write_at_all(file, 0, values, kBlock, MPI_INT, MPI_STATUS_IGNORE));
        } else {
            OK(t, MPI_File_write_at(file, 0, values, kBlock, MPI_INT, MPI_STATUS_IGNORE));
        }
        MPI_Barrier(t->comm);
        OK(t, MPI_File_read_at(file, 0, values, kBlock, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(t, values[0] / t->size == turn, "turn %d reads %d of an older turn", turn, values[0]);
        for (int i = 1; i < kBlock; i++) {
            CHECK(t, values[i] == values[0], "writes of ranks %d and %d are mixed",
                  values[0] % t->size, values[i] % t->size);
        }
    }
    free(values);
    close_file(t, &file);
}

static void atomic_writes(Test* t) {
    overlap_atomically(t, MPI_INT, 0);
}
static void atomic_collective_writes(Test* t) {
    overlap_atomically(t, MPI_INT, 1);
}

static void atomic_strided_writes(Test* t) {
    MPI_Datatype blocks = block_of(MPI_INT, 64, 128);
    overlap_atomically(t, blocks, 0);
    MPI_Type_free(&blocks);
}

static void atomic_is_seen_without_sync(Test* t) {
    int found = -1;
    MPI_File file = open_new(t);
    OK(t, MPI_File_set_atomicity(file, 1));
    OK(t, MPI_File_write_at(file, 4 * t->rank, &t->rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Barrier(t->comm);
    const int next = (t->rank + 1) % t->size;
    OK(t, MPI_File_read_at(file, 4 * next, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found, next);
    close_file(t, &file);
}

static void sync_barrier_sync(Test* t) {
    int found = -1;
    MPI_File file = open_new(t);
    for (int turn = 0; turn < 3; turn++) {
        const int value = 10 * turn + t->rank;
        const int next = (t->rank + 1) % t->size;
        OK(t, MPI_File_write_at(file, 4 * t->rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
        OK(t, MPI_File_sync(file));
        MPI_Barrier(t->comm);
        OK(t, MPI_File_sync(file));
        OK(t, MPI_File_read_at(file, 4 * next, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
        EQUAL(t, found, 10 * turn + next);
        OK(t, MPI_File_sync(file));
        MPI_Barrier(t->comm);
    }
    close_file(t, &file);
}

static void sync_of_a_reader(Test* t) {
    int found = -1;
    const int value = 42;
    MPI_File writer = open_mode(t, t->path, MPI_MODE_CREATE | MPI_MODE_WRONLY);
    MPI_File reader = open_mode(t, t->path, MPI_MODE_RDONLY);
    if (t->rank == 0) {
        OK(t, MPI_File_write_at(writer, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    }
    OK(t, MPI_File_sync(writer));
    MPI_Barrier(t->comm);
    OK(t, MPI_File_sync(reader));
    OK(t, MPI_File_read_at(reader, 0, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found, value);
    close_file(t, &writer);
    close_file(t, &reader);
}

static void reads_its_own_writes(Test* t) {
    int values[8];
    int found[8];
    MPI_Datatype blocks = block_of(MPI_INT, 1, t->size);
    MPI_File file = open_new(t);
    OK(t, MPI_File_set_view(file, 4 * t->rank, MPI_INT, blocks, "native", MPI_INFO_NULL));
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 8; i++) {
            values[i] = 1000 * turn + 10 * t->rank + i;
            found[i] = -1;
        }
        OK(t, MPI_File_write_at(file, 0, values, 8, MPI_INT, MPI_STATUS_IGNORE));
        OK(t, MPI_File_read_at(file, 0, found, 8, MPI_INT, MPI_STATUS_IGNORE));
        for (int i = 0; i < 8; i++) {
            EQUAL(t, found[i], values[i]);
        }
    }
    MPI_Type_free(&blocks);
    close_file(t, &file);
}

/* Reads this rank's own data after a collective write, without a sync, though an aggregator on
 * another rank may have written the data. */
static void reads_its_own_collective_writes(Test* t) {
    MPI_File file = open_new(t);
    for (int turn = 0; turn < 20; turn++) {
        const int value = 100 * turn + t->rank;
        int found = -1;
        OK(t, MPI_File_write_at_all(file, 4 * t->rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
        OK(t, MPI_File_read_at(file, 4 * t->rank, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
        EQUAL(t, found, value);
    }
    close_file(t, &file);
}

/* Lets neighbours write independently at the same time, each between the other's bytes. */
static void neighbours_do_no_harm(Test* t) {
    enum { kEach = 2000 };
    int* const values = malloc(kEach * sizeof(int));
    int* const expected = malloc((size_t)(kEach * t->size) * sizeof(int));
    MPI_Datatype blocks = block_of(MPI_INT, 1, t->size);
    make_file(t, t->path, kEach * t->size, -1, 0);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDWR);
    OK(t, MPI_File_set_view(file, 4 * t->rank, MPI_INT, blocks, "native", MPI_INFO_NULL));
    for (int i = 0; i < kEach; i++) {
        values[i] = i * t->size + t->rank;
    }
    for (int turn = 0; turn < kTurns; turn++) {
        const int part = kEach / kTurns;
        OK(t, MPI_File_write(file, values + turn * part, part, MPI_INT, MPI_STATUS_IGNORE));
    }
    close_file(t, &file);
    for (int i = 0; i < kEach * t->size; i++) {
        expected[i] = i;
    }
    check_stored(t, t->path, expected, kEach * t->size);
    MPI_Type_free(&blocks);
    free(values);
    free(expected);
}

/* Frees the communicator, info and types right after the call that gets them. The file must still
 * work. */
static void objects_may_be_freed(Test* t) {
    MPI_Comm comm;
    MPI_Info info;
    int found = -1;
    MPI_File file = MPI_FILE_NULL;
    MPI_Comm_dup(t->comm, &comm);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "1");
    OK(t, MPI_File_open(comm, t->path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    MPI_Comm_free(&comm);
    MPI_Info_free(&info);
    MPI_Datatype pairs = block_of(MPI_INT, 2, 2);
    MPI_Datatype blocks = block_of(pairs, 1, t->size);
    OK(t, MPI_File_set_view(file, 8 * t->rank, pairs, blocks, "native", MPI_INFO_NULL));
    MPI_Type_free(&pairs);
    MPI_Type_free(&blocks);
    const int mine[2] = {t->rank, t->rank + 100};
    OK(t, MPI_File_write_all(file, mine, 2, MPI_INT, MPI_STATUS_IGNORE));
    settle(t, file);
    view_ints(t, file, 4);
    OK(t, MPI_File_read_at(file, 2 * t->rank, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found, t->rank + 100);
    close_file(t, &file);
}

/* clang-format off */
RULES(kConsistencyRules, {
    {"14.6.1", "atomicity-default", "a file is opened nonatomic; set_atomicity and get_atomicity agree", "set_atomicity get_atomicity", is_nonatomic_at_first, 1, kUsual, NULL},
    {"14.6.1", "atomic-overlap", "overlapping writes in atomic mode are never mixed", "set_atomicity write_at read_at", atomic_writes, 2, kUsual, NULL},
    {"14.6.1", "atomic-overlap-strided", "overlapping writes with holes in atomic mode are never mixed", "set_atomicity write_at read_at", atomic_strided_writes, 2, kUsual, NULL},
    {"14.6.1", "atomic-overlap-collective", "overlapping collective writes in atomic mode are never mixed", "set_atomicity write_at_all read_at", atomic_collective_writes, 2, kUsual, NULL},
    {"14.6.1", "atomic-seen", "in atomic mode a write is seen by others after a barrier", "set_atomicity write_at read_at", atomic_is_seen_without_sync, 1, kUsual, NULL},
    {"14.6.1", "sync-barrier-sync", "in nonatomic mode a write is seen by others after sync, barrier, sync", "sync write_at read_at", sync_barrier_sync, 1, kUsual, NULL},
    {"14.6.1", "sync-read-only", "MPI_File_sync works on a handle opened for reading, to see data that another rank has written", "sync read_at", sync_of_a_reader, 1, kUsual, NULL},
    {"14.6.1", "own-writes", "a rank reads its own writes through the same handle", "write_at read_at", reads_its_own_writes, 1, kUsual, NULL},
    {"14.6.1", "own-collective-writes", "a rank reads its own collective writes through the same handle", "write_at_all read_at", reads_its_own_collective_writes, 1, kUsual, NULL},
    {"14.6.1", "neighbours", "concurrent independent writes of interleaved data do not disturb each other", "write set_view", neighbours_do_no_harm, 2, kUsual, NULL},
    {"14.6.7", "objects-freed", "communicator, info, etype and filetype may be freed once the routine returns", "open set_view write_all", objects_may_be_freed, 1, kUsual, NULL},
});
/* clang-format on */
