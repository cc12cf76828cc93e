// SPDX-License-Identifier: BSD-3-Clause
/* MPI-4.1, 14.4.2 and 14.4.3: explicit offsets and individual pointers, beyond the common rules. */
#include <stdlib.h>

#include "conformance.h"

static void seeks_by_whence(Test* t) {
    make_file(t, t->path, 20, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    view_ints(t, file, 8);
    OK(t, MPI_File_seek(file, 4, MPI_SEEK_SET));
    check_position(t, file, 4);
    OK(t, MPI_File_seek(file, 3, MPI_SEEK_CUR));
    check_position(t, file, 7);
    OK(t, MPI_File_seek(file, -5, MPI_SEEK_CUR));
    check_position(t, file, 2);
    OK(t, MPI_File_seek(file, -1, MPI_SEEK_END));
    check_position(t, file, 17);
    OK(t, MPI_File_seek(file, 10, MPI_SEEK_END));
    check_position(t, file, 28);
    close_file(t, &file);
}

static void seek_end_is_of_the_file(Test* t) {
    MPI_File file = open_new(t);
    if (t->rank == 0) {
        OK(t, MPI_File_write_at(file, 99, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    settle(t, file);
    OK(t, MPI_File_seek(file, 0, MPI_SEEK_END));
    check_position(t, file, 100);
    close_file(t, &file);
}

static void pointers_are_individual(Test* t) {
    int found[2] = {-1, -1};
    make_file(t, t->path, 4 * t->size, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    view_ints(t, file, 0);
    OK(t, MPI_File_seek(file, 4 * t->rank, MPI_SEEK_SET));
    OK(t, MPI_File_read(file, &found[0], 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(t, MPI_File_read_all(file, &found[1], 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found[0], 4 * t->rank);
    EQUAL(t, found[1], 4 * t->rank + 1);
    close_file(t, &file);
}

/* Writes alternately by the individual file pointer and by explicit offsets, independently and
 * collectively. */
static void mixes_access_kinds(Test* t) {
    const int base = 12 * t->rank;
    int value[6];
    int found[6] = {0};
    MPI_File file = open_new(t);
    for (int i = 0; i < 6; i++) {
        value[i] = base + i;
    }
    view_ints(t, file, 48 * t->rank);
    OK(t, MPI_File_write(file, &value[0], 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(t, MPI_File_write_at(file, 4, &value[4], 2, MPI_INT, MPI_STATUS_IGNORE));
    OK(t, MPI_File_write_all(file, &value[1], 2, MPI_INT, MPI_STATUS_IGNORE));
    OK(t, MPI_File_write_at_all(file, 3, &value[3], 1, MPI_INT, MPI_STATUS_IGNORE));
    check_position(t, file, 3);
    settle(t, file);
    OK(t, MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(t, MPI_File_read(file, found, 6, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < 6; i++) {
        EQUAL(t, found[i], base + i);
    }
    close_file(t, &file);
}

static void explicit_leaves_shared(Test* t) {
    const int value = 5;
    MPI_Offset position = -1;
    MPI_File file = open_new(t);
    OK(t, MPI_File_write_at(file, 4 * t->rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(t, MPI_File_write_at_all(file, 4 * t->rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(t, MPI_File_seek(file, 4 * t->rank, MPI_SEEK_SET));
    OK(t, MPI_File_write_all(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(t, MPI_File_get_position_shared(file, &position));
    EQUAL(t, position, 0);
    close_file(t, &file);
}

/* Accesses a sparse file at offsets that exceed 32 bits. */
static void takes_large_offsets(Test* t) {
    const MPI_Offset place = ((MPI_Offset)5 << 30) + 4 * t->rank;
    int found = -1;
    MPI_File file = open_new(t);
    OK(t, MPI_File_write_at_all(file, place, &t->rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    settle(t, file);
    EQUAL(t, file_size(t, file), ((MPI_Offset)5 << 30) + 4 * t->size);
    OK(t, MPI_File_seek(file, place, MPI_SEEK_SET));
    OK(t, MPI_File_read(file, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found, t->rank);
    check_position(t, file, place + 4);
    close_file(t, &file);
}

static void absolute_addresses(Test* t) {
    int value = 40 + t->rank;
    int found = -1;
    MPI_Aint address;
    const int one = 1;
    MPI_Datatype there;
    MPI_File file = open_new(t);
    MPI_Get_address(&value, &address);
    MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &there);
    MPI_Type_commit(&there);
    OK(t, MPI_File_write_at_all(file, 4 * t->rank, MPI_BOTTOM, 1, there, MPI_STATUS_IGNORE));
    settle(t, file);
    OK(t, MPI_File_read_at_all(file, 4 * t->rank, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found, value);
    MPI_Type_free(&there);
    close_file(t, &file);
}

/* Writes many interleaved blocks of 8 bytes and reads them back, one contiguous part per rank. */
static void interleaves_many_blocks(Test* t) {
    enum { kBlocks = 20000 };
    int* const mine = malloc(2 * kBlocks * sizeof(int));
    MPI_Datatype blocks = block_of(MPI_INT, 2, 2 * t->size);
    MPI_File file = open_new(t);
    OK(t, MPI_File_set_view(file, 8 * t->rank, MPI_INT, blocks, "native", MPI_INFO_NULL));
    for (int i = 0; i < 2 * kBlocks; i++) {
        mine[i] = i / 2 * 2 * t->size + 2 * t->rank + i % 2;
    }
    OK(t, MPI_File_write_all(file, mine, 2 * kBlocks, MPI_INT, MPI_STATUS_IGNORE));
    settle(t, file);
    view_ints(t, file, (MPI_Offset)8 * kBlocks * t->rank);
    OK(t, MPI_File_read_all(file, mine, 2 * kBlocks, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2 * kBlocks; i++) {
        CHECK(t, mine[i] == 2 * kBlocks * t->rank + i, "int %d of the data is %d in place of %d", i,
              mine[i], 2 * kBlocks * t->rank + i);
    }
    MPI_Type_free(&blocks);
    free(mine);
    close_file(t, &file);
}

static void sequential_refuses(Test* t) {
    MPI_Offset place;
    char byte = 'a';
    MPI_File file = open_mode(t, t->path, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    FAILS(t, MPI_File_write_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    FAILS(t, MPI_File_write_at_all(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    FAILS(t, MPI_File_write(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    FAILS(t, MPI_File_write_all(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    FAILS(t, MPI_File_seek(file, 0, MPI_SEEK_SET));
    FAILS(t, MPI_File_get_position(file, &place));
    FAILS(t, MPI_File_set_size(file, 10));
    close_file(t, &file);
}

static void moves_more_than_2_gib(Test* t) {
    const MPI_Count count = ((MPI_Count)1 << 31) + 8;
    int (*write_at_c)(MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype, MPI_Status*);
    *(void**)&write_at_c = procedure("MPI_File_write_at_c");
    char last = 0;
    MPI_Count found = -1;
    MPI_Status status;
    if (!write_at_c) {
        unavailable(t, "this MPI lacks the procedure");
        return;
    }
    MPI_File file = open_new(t);
    if (t->rank == 0) {
        char* const bytes = calloc((size_t)count, 1);
        bytes[count - 1] = 'z';
        OK(t, write_at_c(file, 0, bytes, count, MPI_BYTE, &status));
        MPI_Get_elements_x(&status, MPI_BYTE, &found);
        EQUAL(t, found, count);
        free(bytes);
        OK(t, MPI_File_read_at(file, count - 1, &last, 1, MPI_BYTE, MPI_STATUS_IGNORE));
        EQUAL(t, last, 'z');
    }
    close_file(t, &file);
}

/* clang-format off */
RULES(kPositionRules, {
    {"14.4.3", "seek-whence", "MPI_File_seek goes to an offset from the view's start, the pointer or the file's end", "seek get_position", seeks_by_whence, 1, kUsual, NULL},
    {"14.4.3", "seek-end-synced", "MPI_SEEK_END sees data that another rank has written and synced", "seek sync", seek_end_is_of_the_file, 2, kUsual, NULL},
    {"14.4.3", "pointers-individual", "each rank has a pointer of its own, also in collective reads", "seek read read_all", pointers_are_individual, 1, kUsual, NULL},
    {"14.4.1", "kinds-mixed", "blocking accesses of all kinds may be mixed on a handle", "write write_at write_all write_at_all read", mixes_access_kinds, 1, kUsual, NULL},
    {"14.4.4", "shared-left-alone", "explicit offsets and individual pointers leave the shared pointer alone", "write_at write_at_all write_all get_position_shared", explicit_leaves_shared, 1, kUsual, NULL},
    {"14.6.8", "offsets-64-bit", "offsets and sizes beyond 4 GiB work", "write_at_all get_size seek read", takes_large_offsets, 1, kUsual, NULL},
    {"14.4.1", "memory-bottom", "data may be described by absolute addresses and MPI_BOTTOM", "write_at_all read_at_all", absolute_addresses, 1, kUsual, NULL},
    {"14.4.3", "interleaved-blocks", "many small interleaved blocks of all ranks land where they belong", "write_all read_all", interleaves_many_blocks, 1, kUsual, NULL},
    {"14.4.2", "sequential-refuses", "a sequential file refuses explicit offsets, individual pointers and set_size", "open write_at write_at_all write write_all seek get_position set_size", sequential_refuses, 1, kUsual, NULL},
    {"14.4.2", "large-count-2gib", "MPI_File_write_at_c moves more than 2 GiB at once", "write_at_c", moves_more_than_2_gib, 1, kLong, NULL},
});
/* clang-format on */
