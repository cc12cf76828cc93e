// SPDX-License-Identifier: BSD-3-Clause
/* MPI-4.1, 14.4.1 and 14.6.10: the contents of the status and the file's size. */
#include "conformance.h"

static void counts_partial_items(Test* t) {
    int found[4] = {0};
    int count = 0;
    int elements = -1;
    MPI_Status status;
    MPI_Datatype pairs = block_of(MPI_INT, 2, 2);
    make_file(t, t->path, 3, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    OK(t, MPI_File_read_at(file, 0, found, 2, pairs, &status));
    MPI_Get_count(&status, pairs, &count);
    MPI_Get_elements(&status, pairs, &elements);
    CHECK(t, count == MPI_UNDEFINED, "MPI_Get_count returns %d for an item and a half", count);
    EQUAL(t, elements, 3);
    MPI_Type_free(&pairs);
    close_file(t, &file);
}

static void counts_nothing_at_end(Test* t) {
    int found = 5;
    MPI_Status status;
    make_file(t, t->path, 3, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    for (MPI_Offset offset = 12; offset < 100000; offset *= 8) {
        OK(t, MPI_File_read_at(file, offset, &found, 1, MPI_INT, &status));
        check_count(t, &status, MPI_INT, 0);
    }
    close_file(t, &file);
}

static void counts_zero(Test* t) {
    int value = 5;
    MPI_Status status;
    MPI_File file = open_new(t);
    OK(t, MPI_File_write_at(file, 0, &value, 0, MPI_INT, &status));
    check_count(t, &status, MPI_INT, 0);
    OK(t, MPI_File_read_at_all(file, 0, &value, 0, MPI_INT, &status));
    check_count(t, &status, MPI_INT, 0);
    close_file(t, &file);
}

/* Reads through a view to the end of a file of 9 ints. The view shows ints 0 1, 4 5, 8 9, so that
 * the last one lies past the end. */
static void counts_in_view_at_end(Test* t) {
    int found[6] = {0};
    MPI_Status status;
    MPI_Datatype blocks = block_of(MPI_INT, 2, 4);
    make_file(t, t->path, 9, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    OK(t, MPI_File_set_view(file, 0, MPI_INT, blocks, "native", MPI_INFO_NULL));
    OK(t, MPI_File_read_at(file, 0, found, 6, MPI_INT, &status));
    check_count(t, &status, MPI_INT, 5);
    EQUAL(t, found[4], 8);
    OK(t, MPI_File_read_at_all(file, 0, found, 6, MPI_INT, &status));
    check_count(t, &status, MPI_INT, 5);
    MPI_Type_free(&blocks);
    close_file(t, &file);
}

static void counts_per_rank(Test* t) {
    int found[4] = {0};
    MPI_Status status;
    const int total = 4 * (t->size - 1) - 2;
    make_file(t, t->path, total, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    OK(t, MPI_File_read_at_all(file, 16 * t->rank, found, 4, MPI_INT, &status));
    const int left = total - 4 * t->rank;
    check_count(t, &status, MPI_INT, left < 0 ? 0 : left > 4 ? 4 : left);
    close_file(t, &file);
}

static void ignores_statuses(Test* t) {
    int found = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_File file = open_new(t);
    OK(t, MPI_File_write_at_all(file, 4 * t->rank, &t->rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    settle(t, file);
    OK(t, MPI_File_read_at(file, 4 * t->rank, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(t, MPI_File_iread_at(file, 4 * t->rank, &found, 1, MPI_INT, &request));
    OK(t, MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
    EQUAL(t, found, t->rank);
    close_file(t, &file);
}

static void size_is_last_byte_written(Test* t) {
    MPI_File file = open_new(t);
    if (t->rank == 0) {
        OK(t, MPI_File_write_at(file, 1000, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE));
        OK(t, MPI_File_write_at(file, 10, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    settle(t, file);
    EQUAL(t, file_size(t, file), 1001);
    close_file(t, &file);
}

/* Checks that seeks, empty writes, reads past the end and the trailing hole of a filetype do not
 * extend the file. */
static void nothing_written_is_no_size(Test* t) {
    char byte = 'x';
    MPI_Datatype blocks = block_of(MPI_BYTE, 2, 100);
    MPI_File file = open_new(t);
    OK(t, MPI_File_seek(file, 5000, MPI_SEEK_SET));
    OK(t, MPI_File_write(file, &byte, 0, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(t, MPI_File_write_at_all(file, 7000, &byte, 0, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(t, MPI_File_read_at(file, 9000, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    EQUAL(t, file_size(t, file), 0);
    MPI_Barrier(t->comm);
    OK(t, MPI_File_set_view(file, 0, MPI_BYTE, blocks, "native", MPI_INFO_NULL));
    OK(t, MPI_File_write_at_all(file, 0, "ab", t->rank ? 0 : 2, MPI_BYTE, MPI_STATUS_IGNORE));
    settle(t, file);
    EQUAL(t, file_size(t, file), 2);
    MPI_Type_free(&blocks);
    close_file(t, &file);
}

/* clang-format off */
RULES(kStatusRules, {
    {"14.4.1", "status-partial", "after a read that ends inside an item, the status counts its elements", "read_at", counts_partial_items, 1, kUsual, NULL},
    {"14.4.1", "status-at-end", "a read at or beyond the end succeeds with a count of 0", "read_at", counts_nothing_at_end, 1, kUsual, NULL},
    {"14.4.1", "status-zero", "an access of nothing has a count of 0", "write_at read_at_all", counts_zero, 1, kUsual, NULL},
    {"14.4.1", "status-view-end", "the count at the end of file is right in a view with holes", "read_at read_at_all", counts_in_view_at_end, 1, kUsual, NULL},
    {"14.4.1", "status-own", "in a collective read each rank gets its own count", "read_at_all", counts_per_rank, 2, kUsual, NULL},
    {"14.4.1", "status-ignore", "MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE are accepted", "write_at_all read_at iread_at", ignores_statuses, 1, kUsual, NULL},
    {"14.6.10", "size-written", "the file ends at the highest byte written", "get_size write_at sync", size_is_last_byte_written, 1, kUsual, NULL},
    {"14.6.10", "size-nothing-written", "seeking, writing nothing and reading do not make a file larger", "get_size seek write write_at_all read_at", nothing_written_is_no_size, 1, kUsual, NULL},
});
/* clang-format on */
