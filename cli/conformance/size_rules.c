// SPDX-License-Identifier: BSD-3-Clause
/* MPI-4.1, 14.2.4 to 14.2.8: size, preallocation, queries, info. */
#include <string.h>

#include "conformance.h"

static void set_size_truncates(Test* t) {
    make_file(t, t->path, 10, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDWR);
    OK(t, MPI_File_set_size(file, 12));
    EQUAL(t, file_size(t, file), 12);
    close_file(t, &file);
    const int expected[3] = {0, 1, 2};
    char bytes[40];
    if (t->rank == 0) {
        EQUAL(t, stored_bytes(t, t->path, 0, bytes, 40), 12);
    }
    check_stored(t, t->path, expected, 3);
}

static void set_size_grows(Test* t) {
    const int expected[2] = {4, 5};
    make_file(t, t->path, 2, 4, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDWR);
    OK(t, MPI_File_set_size(file, 100000));
    EQUAL(t, file_size(t, file), 100000);
    close_file(t, &file);
    check_stored(t, t->path, expected, 2);
}

static void set_size_in_bytes(Test* t) {
    MPI_File file = open_new(t);
    MPI_Datatype blocks = block_of(MPI_INT, 1, 5);
    OK(t, MPI_File_set_view(file, 40, MPI_INT, blocks, "native", MPI_INFO_NULL));
    MPI_Type_free(&blocks);
    OK(t, MPI_File_set_size(file, 77));
    EQUAL(t, file_size(t, file), 77);
    close_file(t, &file);
}

static void set_size_keeps_pointers(Test* t) {
    make_file(t, t->path, 10, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDWR);
    OK(t, MPI_File_seek(file, 20 + t->rank, MPI_SEEK_SET));
    OK(t, MPI_File_set_size(file, 8));
    check_position(t, file, 20 + t->rank);
    close_file(t, &file);
}

static void set_size_zero(Test* t) {
    make_file(t, t->path, 10, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDWR);
    OK(t, MPI_File_set_size(file, 0));
    EQUAL(t, file_size(t, file), 0);
    close_file(t, &file);
}

static void preallocate_grows(Test* t) {
    const int expected[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    make_file(t, t->path, 10, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDWR);
    OK(t, MPI_File_preallocate(file, 200000));
    EQUAL(t, file_size(t, file), 200000);
    close_file(t, &file);
    check_stored(t, t->path, expected, 10);
}

static void preallocate_never_shrinks(Test* t) {
    const int expected[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    make_file(t, t->path, 10, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDWR);
    OK(t, MPI_File_preallocate(file, 8));
    EQUAL(t, file_size(t, file), 40);
    close_file(t, &file);
    check_stored(t, t->path, expected, 10);
}

static void size_in_bytes(Test* t) {
    make_file(t, t->path, 10, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    view_ints(t, file, 20);
    EQUAL(t, file_size(t, file), 40);
    close_file(t, &file);
}

static void group_is_of_open(Test* t) {
    MPI_Comm reversed;
    MPI_Group of_comm;
    MPI_Group of_file = MPI_GROUP_NULL;
    MPI_File file = MPI_FILE_NULL;
    int result = MPI_UNEQUAL;
    MPI_Comm_split(t->comm, 0, t->size - t->rank, &reversed);
    MPI_Comm_group(reversed, &of_comm);
    OK(t, MPI_File_open(reversed, t->path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    if (OK(t, MPI_File_get_group(file, &of_file))) {
        MPI_Group_compare(of_comm, of_file, &result);
        CHECK(t, result == MPI_IDENT, "the group is not that of the communicator of the open");
        MPI_Group_free(&of_file);
    }
    OK(t, MPI_File_close(&file));
    MPI_Group_free(&of_comm);
    MPI_Comm_free(&reversed);
}

static void amode_is_of_open(Test* t) {
    const int modes[] = {MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_MODE_RDONLY,
                         MPI_MODE_WRONLY | MPI_MODE_APPEND,
                         MPI_MODE_RDWR | MPI_MODE_UNIQUE_OPEN | MPI_MODE_DELETE_ON_CLOSE};
    for (int i = 0; i < 4; i++) {
        int found = -1;
        MPI_File file = open_mode(t, t->path, modes[i]);
        OK(t, MPI_File_get_amode(file, &found));
        EQUAL(t, found, modes[i]);
        close_file(t, &file);
    }
}

static void info_is_new(Test* t) {
    MPI_Info info = MPI_INFO_NULL;
    int keys = -1;
    MPI_File file = open_new(t);
    OK(t, MPI_File_get_info(file, &info));
    CHECK(t, info != MPI_INFO_NULL, "the info is MPI_INFO_NULL");
    if (info != MPI_INFO_NULL) {
        OK(t, MPI_Info_get_nkeys(info, &keys));
        CHECK(t, keys >= 0, "the info has %d keys", keys);
        OK(t, MPI_Info_set(info, "some_key", "some value"));
        OK(t, MPI_Info_free(&info));
    }
    OK(t, MPI_File_get_info(file, &info));
    CHECK(t, info != MPI_INFO_NULL, "a second info is MPI_INFO_NULL");
    if (info != MPI_INFO_NULL) {
        MPI_Info_free(&info);
    }
    close_file(t, &file);
}

static MPI_Info odd_info(void) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "nobody_knows_this_key", "17");
    MPI_Info_set(info, "another key, with spaces", "a=b;c");
    MPI_Info_set(info, "access_style", "write_once,random");
    return info;
}

static void unknown_keys_at_open(Test* t) {
    MPI_Info info = odd_info();
    MPI_File file = MPI_FILE_NULL;
    OK(t, MPI_File_open(t->comm, t->path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    OK(t, MPI_File_write_at_all(file, 4 * t->rank, &t->rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    close_file(t, &file);
    if (t->rank == 0) {
        OK(t, MPI_File_delete(t->path, info));
    }
    MPI_Info_free(&info);
}

static void unknown_keys_later(Test* t) {
    MPI_Info info = odd_info();
    MPI_File file = open_new(t);
    OK(t, MPI_File_set_info(file, info));
    OK(t, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", info));
    OK(t, MPI_File_write_at_all(file, t->rank, &t->rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    close_file(t, &file);
    MPI_Info_free(&info);
}

/* Reads a file that is opened with hints for one aggregator and a small collective buffer. Hints
 * must not change results. */
static void reserved_hints_are_harmless(Test* t) {
    MPI_Info info;
    MPI_File file = MPI_FILE_NULL;
    int found[8] = {0};
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "cb_buffer_size", "4096");
    MPI_Info_set(info, "collective_buffering", "true");
    MPI_Info_set(info, "striping_factor", "1");
    make_file(t, t->path, 8 * t->size, 0, 1);
    OK(t, MPI_File_open(t->comm, t->path, MPI_MODE_RDONLY, info, &file));
    OK(t, MPI_File_read_at_all(file, 32 * t->rank, found, 8, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < 8; i++) {
        EQUAL(t, found[i], 8 * t->rank + i);
    }
    close_file(t, &file);
    MPI_Info_free(&info);
}

/* clang-format off */
RULES(kSizeRules, {
    {"14.2.4", "set-size-truncates", "MPI_File_set_size truncates the file and keeps the bytes before the new end", "set_size get_size", set_size_truncates, 1, kUsual, NULL},
    {"14.2.4", "set-size-grows", "MPI_File_set_size to more than the size makes the file that large", "set_size get_size", set_size_grows, 1, kUsual, NULL},
    {"14.2.4", "set-size-bytes", "MPI_File_set_size counts bytes from the file's start, whatever the view", "set_size set_view", set_size_in_bytes, 1, kUsual, NULL},
    {"14.2.4", "set-size-pointers", "MPI_File_set_size leaves the individual pointers alone", "set_size get_position", set_size_keeps_pointers, 1, kUsual, NULL},
    {"14.2.4", "set-size-zero", "MPI_File_set_size accepts 0", "set_size", set_size_zero, 1, kUsual, NULL},
    {"14.2.5", "preallocate-grows", "MPI_File_preallocate beyond the end makes the file that large and keeps its data", "preallocate get_size", preallocate_grows, 1, kUsual, NULL},
    {"14.2.5", "preallocate-keeps", "MPI_File_preallocate below the size changes neither size nor data", "preallocate get_size", preallocate_never_shrinks, 1, kUsual, NULL},
    {"14.2.6", "get-size-bytes", "MPI_File_get_size returns the bytes of the whole file, whatever the view", "get_size set_view", size_in_bytes, 1, kUsual, NULL},
    {"14.2.7", "get-group", "MPI_File_get_group returns the group of the communicator of the open", "get_group", group_is_of_open, 1, kUsual, NULL},
    {"14.2.7", "get-amode", "MPI_File_get_amode returns the access mode of the open", "get_amode", amode_is_of_open, 1, kUsual, NULL},
    {"14.2.8", "get-info", "MPI_File_get_info returns a new info that the caller frees", "get_info", info_is_new, 1, kUsual, NULL},
    {"14.2.8", "info-unknown-open", "unknown keys are ignored by open and delete", "open delete", unknown_keys_at_open, 1, kUsual, NULL},
    {"14.2.8", "info-unknown-set", "unknown keys are ignored by set_info and set_view", "set_info set_view", unknown_keys_later, 1, kUsual, NULL},
    {"14.2.8", "info-reserved", "reserved hints change no result", "open read_at_all", reserved_hints_are_harmless, 1, kUsual, NULL},
});
/* clang-format on */
