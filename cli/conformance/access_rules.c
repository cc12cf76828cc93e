// SPDX-License-Identifier: BSD-3-Clause
/* MPI-4.1, 14.4.2 to 14.4.5: the behaviour that all data access procedures share, one rule per
 * procedure. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

enum { kItems = 6, kInts = 2 * kItems, kStart = 3, kHole = -7, kUntouched = -1, kFirst = 1000 };

/* Returns the index in the file of int k of the data at `place`. The place is the rank. With a
 * shared file pointer, for which all ranks have the same view, it is the position in the order in
 * which the ranks moved the pointer. */
static int stored_index(const Operation* operation, int size, int place, int k) {
    if (operation->pointer == kShared) {
        const int position = place * kInts + k;
        return 2 + position / 3 * 4 + position % 3;
    }
    const int position = k + kStart;
    return 2 + position / 3 * 3 * size + 3 * place + position % 3;
}

static int value_of(int rank, int k) {
    return 100 * (rank + 1) + k;
}

/* Sets a view of blocks of 3 ints: each rank's own or, for a shared file pointer, the same blocks
 * with holes for all ranks. */
static void set_pattern_view(Test* t, const Operation* operation, MPI_File file) {
    const int is_shared = operation->pointer == kShared;
    MPI_Datatype blocks = block_of(MPI_INT, 3, is_shared ? 4 : 3 * t->size);
    const MPI_Offset displacement = 8 + (is_shared ? 0 : 12 * t->rank);
    OK(t, MPI_File_set_view(file, displacement, MPI_INT, blocks, "native", MPI_INFO_NULL));
    MPI_Type_free(&blocks);
}

/* Runs the operation with a memory type of 2 ints and a hole. */
static void run_pattern(Test* t, const Operation* operation, MPI_File file, int* memory) {
    MPI_Datatype pairs = block_of(MPI_INT, 2, 3);
    const Access access = {file, kStart, memory, kItems, pairs};
    MPI_Status status;
    set_pattern_view(t, operation, file);
    if (operation->pointer == kIndividual) {
        OK(t, MPI_File_seek(file, kStart, MPI_SEEK_SET));
    }
    if (OK(t, operate(operation, &access, &status))) {
        check_count(t, &status, pairs, kItems);
    }
    MPI_Type_free(&pairs);
}

/* Returns the rank that wrote the data at `place`. Unordered accesses with the shared file pointer
 * leave the order to chance, so the rank is taken from the data. */
static int owner_of(Test* t, const Operation* operation, const int* found, int place) {
    if (operation->pointer != kShared || operation->is_collective) {
        return place;
    }
    const int first = found[stored_index(operation, t->size, place, 0)];
    const int owner = first / 100 - 1;
    CHECK(t, first % 100 == 0 && owner >= 0 && owner < t->size,
          "place %d does not begin with a rank's first int but with %d", place, first);
    return owner >= 0 && owner < t->size ? owner : 0;
}

static void check_pattern(Test* t, const Operation* operation, int total) {
    if (t->rank != 0) {
        return;
    }
    int* const found = malloc((size_t)total * sizeof(int));
    int* const expected = malloc((size_t)total * sizeof(int));
    int* const times = calloc((size_t)t->size, sizeof(int));
    stored_bytes(t, t->path, 0, found, total * (int)sizeof(int));
    for (int i = 0; i < total; i++) {
        expected[i] = kUntouched;
    }
    for (int place = 0; place < t->size; place++) {
        const int owner = owner_of(t, operation, found, place);
        times[owner]++;
        for (int k = 0; k < kInts; k++) {
            expected[stored_index(operation, t->size, place, k)] = value_of(owner, k);
        }
    }
    for (int i = 0; i < total; i++) {
        CHECK(t, found[i] == expected[i], "int %d of the file is %d instead of %d", i, found[i],
              expected[i]);
    }
    for (int rank = 0; rank < t->size; rank++) {
        CHECK(t, times[rank] == 1, "the data of rank %d appears %d times in the file", rank,
              times[rank]);
    }
    free(found);
    free(expected);
    free(times);
}

static void check_memory(Test* t, const Operation* operation, const int* memory) {
    int place = t->rank;
    int* const places = malloc((size_t)t->size * sizeof(int));
    if (operation->pointer == kShared && !operation->is_collective) {
        for (place = 0; place < t->size - 1; place++) {
            if (memory[0] == kFirst + stored_index(operation, t->size, place, 0)) {
                break;
            }
        }
    }
    for (int k = 0; k < kInts; k++) {
        const int found = memory[k / 2 * 3 + k % 2];
        const int expected = kFirst + stored_index(operation, t->size, place, k);
        CHECK(t, found == expected, "int %d read is %d instead of %d", k, found, expected);
    }
    for (int item = 0; item < kItems; item++) {
        CHECK(t, memory[3 * item + 2] == kHole, "the hole after item %d in memory was overwritten",
              item);
    }
    MPI_Allgather(&place, 1, MPI_INT, places, 1, MPI_INT, t->comm);
    for (int rank = 0; rank < t->size; rank++) {
        CHECK(t, rank == t->rank || places[rank] != place, "ranks %d and %d read the same record",
              t->rank, rank);
    }
    free(places);
}

static void moves_data(Test* t) {
    const Operation* const operation = operation_of(t);
    if (!operation) {
        return;
    }
    const int total = 2 + 16 * t->size + 4;
    int memory[3 * kItems];
    for (int i = 0; i < 3 * kItems; i++) {
        const int k = i / 3 * 2 + i % 3;
        memory[i] = operation->is_write && i % 3 < 2 ? value_of(t->rank, k) : kHole;
    }
    make_file(t, t->path, total, operation->is_write ? kUntouched : kFirst, !operation->is_write);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDWR);
    run_pattern(t, operation, file, memory);
    close_file(t, &file);
    if (operation->is_write) {
        check_pattern(t, operation, total);
    } else {
        check_memory(t, operation, memory);
    }
}

/* Accesses 4 ints per rank where the file has fewer, and checks the counts. A write must count all
 * four. With a shared file pointer only the sum of what the ranks read is known. */
static void tells_true_count(Test* t) {
    const Operation* const operation = operation_of(t);
    enum { kEach = 4, kShort = 2 };
    const int is_shared = operation->pointer == kShared;
    const int total = is_shared ? kEach * t->size - kShort : 10;
    int memory[kEach] = {1, 2, 3, 4};
    MPI_Status status;
    make_file(t, t->path, total, kFirst, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDWR);
    view_ints(t, file, 0);
    OK(t, MPI_File_seek(file, total - kShort, MPI_SEEK_SET));
    const Access access = {file, total - kShort, memory, kEach, MPI_INT};
    if (OK(t, operate(operation, &access, &status))) {
        int found = -1;
        int sum = 0;
        MPI_Get_count(&status, MPI_INT, &found);
        MPI_Allreduce(&found, &sum, 1, MPI_INT, MPI_SUM, t->comm);
        if (operation->is_write) {
            EQUAL(t, found, kEach);
        } else if (is_shared) {
            CHECK(t, sum == total, "all ranks together read %d of the file's %d ints", sum, total);
        } else {
            CHECK(t, found == kShort,
                  "the status reports %d ints, but only %d are left in the file", found, kShort);
        }
    } else {
        MPI_Allreduce(MPI_IN_PLACE, memory, 1, MPI_INT, MPI_SUM, t->comm);
    }
    close_file(t, &file);
}

static void moves_its_pointer(Test* t) {
    const Operation* const operation = operation_of(t);
    enum { kSeek = 5, kCount = 4 };
    int memory[kCount] = {0};
    make_file(t, t->path, 16 + kCount * t->size, kFirst, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDWR);
    view_ints(t, file, 4);
    OK(t, MPI_File_seek(file, kSeek, MPI_SEEK_SET));
    const Access access = {file, 7, memory, kCount, MPI_INT};
    OK(t, operate(operation, &access, MPI_STATUS_IGNORE));
    check_position(t, file, operation->pointer == kIndividual ? kSeek + kCount : kSeek);
    MPI_Barrier(t->comm);
    if (operation->pointer == kShared) {
        MPI_Offset position = -1;
        OK(t, MPI_File_get_position_shared(file, &position));
        EQUAL(t, position, kCount * t->size);
    }
    close_file(t, &file);
}

/* Runs the operation without data on odd ranks. */
static void takes_empty_parts(Test* t) {
    const Operation* const operation = operation_of(t);
    enum { kCount = 4 };
    const int count = t->rank % 2 ? 0 : kCount;
    const int is_ordered = operation->pointer == kShared;
    const int place = is_ordered ? (t->rank + 1) / 2 : t->rank;
    const int total = kCount * t->size;
    int memory[kCount];
    MPI_Status status;
    for (int i = 0; i < kCount; i++) {
        memory[i] = kFirst + place * kCount + i;
    }
    make_file(t, t->path, total, operation->is_write ? kUntouched : kFirst, !operation->is_write);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDWR);
    view_ints(t, file, 0);
    OK(t, MPI_File_seek(file, place * kCount, MPI_SEEK_SET));
    const Access access = {file, place * kCount, memory, count, MPI_INT};
    if (!operation->is_write) {
        memset(memory, 0, sizeof memory);
    }
    if (OK(t, operate(operation, &access, &status))) {
        check_count(t, &status, MPI_INT, count);
    }
    close_file(t, &file);
    for (int i = 0; i < count && !operation->is_write; i++) {
        EQUAL(t, memory[i], kFirst + place * kCount + i);
    }
    if (operation->is_write) {
        int* const expected = malloc((size_t)total * sizeof(int));
        const int parts = (t->size + 1) / 2;
        for (int i = 0; i < total; i++) {
            const int part = i / kCount;
            const int is_there = is_ordered ? part < parts : part % 2 == 0;
            expected[i] = is_there ? kFirst + i : kUntouched;
        }
        check_stored(t, t->path, expected, total);
        free(expected);
    }
}

#define DATA(NAME, SECTION, ROUTINES)                                                         \
    {                                                                                         \
        SECTION, #NAME "-data",                                                               \
            "MPI_File_" #NAME " moves a derived type in memory from or to a view with holes", \
            ROUTINES " set_view", moves_data, 1, kUsual, #NAME                                \
    }
#define COUNT(NAME, SECTION, ROUTINES)                                                       \
    {                                                                                        \
        SECTION, #NAME "-count",                                                             \
            "the status of MPI_File_" #NAME " counts the elements actually moved", ROUTINES, \
            tells_true_count, 1, kUsual, #NAME                                               \
    }
#define POINTER(NAME, SECTION, ROUTINES)                                                    \
    {                                                                                       \
        SECTION, #NAME "-pointer",                                                          \
            "MPI_File_" #NAME " moves the file pointer that it uses, if any, and no other", \
            ROUTINES " seek get_position", moves_its_pointer, 1, kUsual, #NAME              \
    }
#define EMPTY(NAME, SECTION, ROUTINES)                                                             \
    {                                                                                              \
        SECTION, #NAME "-empty", "ranks may take part in MPI_File_" #NAME " with a count of zero", \
            ROUTINES, takes_empty_parts, 2, kUsual, #NAME                                          \
    }
#define ALONE(NAME, SECTION)                                                                      \
    DATA(NAME, SECTION, #NAME), DATA(NAME##_c, SECTION, #NAME "_c"), COUNT(NAME, SECTION, #NAME), \
        POINTER(NAME, SECTION, #NAME)
#define TOGETHER(NAME, SECTION) ALONE(NAME, SECTION), EMPTY(NAME, SECTION, #NAME)
#define SPLIT(NAME)                                                     \
    DATA(NAME##_begin, "14.4.5", #NAME "_begin " #NAME "_end"),         \
        DATA(NAME##_begin_c, "14.4.5", #NAME "_begin_c " #NAME "_end"), \
        COUNT(NAME##_begin, "14.4.5", #NAME "_begin " #NAME "_end"),    \
        POINTER(NAME##_begin, "14.4.5", #NAME "_begin " #NAME "_end"),  \
        EMPTY(NAME##_begin, "14.4.5", #NAME "_begin " #NAME "_end")

RULES(kAccessRules, {
                        ALONE(read_at, "14.4.2"),
                        ALONE(write_at, "14.4.2"),
                        TOGETHER(read_at_all, "14.4.2"),
                        TOGETHER(write_at_all, "14.4.2"),
                        ALONE(iread_at, "14.4.2"),
                        ALONE(iwrite_at, "14.4.2"),
                        TOGETHER(iread_at_all, "14.4.2"),
                        TOGETHER(iwrite_at_all, "14.4.2"),
                        ALONE(read, "14.4.3"),
                        ALONE(write, "14.4.3"),
                        TOGETHER(read_all, "14.4.3"),
                        TOGETHER(write_all, "14.4.3"),
                        ALONE(iread, "14.4.3"),
                        ALONE(iwrite, "14.4.3"),
                        TOGETHER(iread_all, "14.4.3"),
                        TOGETHER(iwrite_all, "14.4.3"),
                        ALONE(read_shared, "14.4.4"),
                        ALONE(write_shared, "14.4.4"),
                        ALONE(iread_shared, "14.4.4"),
                        ALONE(iwrite_shared, "14.4.4"),
                        TOGETHER(read_ordered, "14.4.4"),
                        TOGETHER(write_ordered, "14.4.4"),
                        SPLIT(read_at_all),
                        SPLIT(write_at_all),
                        SPLIT(read_all),
                        SPLIT(write_all),
                        SPLIT(read_ordered),
                        SPLIT(write_ordered),
                    });
