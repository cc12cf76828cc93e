// SPDX-License-Identifier: BSD-3-Clause
/* MPI-4.1, 14.4.5: split collective data access, beyond the common rules. */
#include "conformance.h"

static void check_ranks(Test* t, const char* path, int add) {
    int expected[64];
    const int count = t->size < 64 ? t->size : 64;
    for (int i = 0; i < count; i++) {
        expected[i] = i + add;
    }
    check_stored(t, path, expected, count);
}

static void handles_at_once(Test* t) {
    const int one_value = t->rank;
    const int two_value = t->rank + 500;
    MPI_File one = open_new(t);
    MPI_File two = open_mode(t, t->other, MPI_MODE_CREATE | MPI_MODE_RDWR);
    OK(t, MPI_File_write_at_all_begin(one, 4 * t->rank, &one_value, 1, MPI_INT));
    OK(t, MPI_File_write_at_all_begin(two, 4 * t->rank, &two_value, 1, MPI_INT));
    OK(t, MPI_File_write_at_all_end(two, &two_value, MPI_STATUS_IGNORE));
    OK(t, MPI_File_write_at_all_end(one, &one_value, MPI_STATUS_IGNORE));
    close_file(t, &one);
    close_file(t, &two);
    check_ranks(t, t->path, 0);
    check_ranks(t, t->other, 500);
}

static void one_at_a_time(Test* t) {
    const int value = t->rank;
    int other = 0;
    MPI_File file = open_new(t);
    OK(t, MPI_File_write_at_all_begin(file, 4 * t->rank, &value, 1, MPI_INT));
    FAILS(t, MPI_File_read_at_all_begin(file, 0, &other, 1, MPI_INT));
    OK(t, MPI_File_write_at_all_end(file, &value, MPI_STATUS_IGNORE));
    close_file(t, &file);
    check_ranks(t, t->path, 0);
}

static void end_needs_begin(Test* t) {
    int value = 0;
    MPI_File file = open_new(t);
    FAILS(t, MPI_File_write_all_end(file, &value, MPI_STATUS_IGNORE));
    FAILS(t, MPI_File_read_at_all_end(file, &value, MPI_STATUS_IGNORE));
    FAILS(t, MPI_File_read_ordered_end(file, &value, MPI_STATUS_IGNORE));
    close_file(t, &file);
}

static void alone_in_between(Test* t) {
    const int value = t->rank;
    int found = -1;
    MPI_File file = open_new(t);
    view_ints(t, file, 0);
    OK(t, MPI_File_write_at(file, t->size + t->rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(t, MPI_File_write_at_all_begin(file, t->rank, &value, 1, MPI_INT));
    OK(t, MPI_File_read_at(file, t->size + t->rank, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found, t->rank);
    OK(t, MPI_File_write_at_all_end(file, &value, MPI_STATUS_IGNORE));
    close_file(t, &file);
    check_ranks(t, t->path, 0);
}

static void messages_in_between(Test* t) {
    const int value = t->rank;
    int sum = 0;
    MPI_File file = open_new(t);
    OK(t, MPI_File_write_at_all_begin(file, 4 * t->rank, &value, 1, MPI_INT));
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, t->comm);
    OK(t, MPI_File_write_at_all_end(file, &value, MPI_STATUS_IGNORE));
    EQUAL(t, sum, t->size * (t->size - 1) / 2);
    close_file(t, &file);
    check_ranks(t, t->path, 0);
}

/* Makes split accesses of all six kinds one after the other. */
static void takes_turns(Test* t) {
    const int value = t->rank;
    int found[3] = {-1, -1, -1};
    MPI_File file = open_new(t);
    view_ints(t, file, 0);
    OK(t, MPI_File_write_ordered_begin(file, &value, 1, MPI_INT));
    OK(t, MPI_File_write_ordered_end(file, &value, MPI_STATUS_IGNORE));
    OK(t, MPI_File_write_at_all_begin(file, t->size + t->rank, &value, 1, MPI_INT));
    OK(t, MPI_File_write_at_all_end(file, &value, MPI_STATUS_IGNORE));
    OK(t, MPI_File_seek(file, 2 * t->size + t->rank, MPI_SEEK_SET));
    OK(t, MPI_File_write_all_begin(file, &value, 1, MPI_INT));
    OK(t, MPI_File_write_all_end(file, &value, MPI_STATUS_IGNORE));
    settle(t, file);
    OK(t, MPI_File_read_ordered_begin(file, &found[0], 1, MPI_INT));
    OK(t, MPI_File_read_ordered_end(file, &found[0], MPI_STATUS_IGNORE));
    OK(t, MPI_File_read_at_all_begin(file, t->rank, &found[1], 1, MPI_INT));
    OK(t, MPI_File_read_at_all_end(file, &found[1], MPI_STATUS_IGNORE));
    OK(t, MPI_File_seek(file, 2 * t->size + t->rank, MPI_SEEK_SET));
    OK(t, MPI_File_read_all_begin(file, &found[2], 1, MPI_INT));
    OK(t, MPI_File_read_all_end(file, &found[2], MPI_STATUS_IGNORE));
    for (int i = 0; i < 3; i++) {
        EQUAL(t, found[i], t->rank);
    }
    close_file(t, &file);
}

/* clang-format off */
RULES(kSplitRules, {
    {"14.4.5", "split-two-handles", "split collectives on different handles may be active at once", "write_at_all_begin write_at_all_end", handles_at_once, 1, kUsual, NULL},
    {"14.4.5", "split-one-at-a-time", "a second begin on the handle is an error and does not harm the first", "write_at_all_begin read_at_all_begin write_at_all_end", one_at_a_time, 1, kUsual, NULL},
    {"14.4.5", "split-end-alone", "an end without its begin is an error", "write_all_end read_at_all_end read_ordered_end", end_needs_begin, 1, kUsual, NULL},
    {"14.4.5", "split-alone-between", "a rank may make an independent access between begin and end", "write_at_all_begin read_at write_at_all_end", alone_in_between, 1, kUsual, NULL},
    {"14.4.5", "split-messages-between", "collective communication between begin and end works", "write_at_all_begin write_at_all_end", messages_in_between, 1, kUsual, NULL},
    {"14.4.5", "split-turns", "all kinds of split collectives may follow each other on a handle", "write_ordered_begin write_ordered_end write_at_all_begin write_at_all_end write_all_begin write_all_end read_ordered_begin read_ordered_end read_at_all_begin read_at_all_end read_all_begin read_all_end", takes_turns, 1, kUsual, NULL},
});
/* clang-format on */
