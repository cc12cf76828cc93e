// SPDX-License-Identifier: BSD-3-Clause
/* MPI-4.1, 14.3: file views. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static MPI_Aint extent_of(MPI_Datatype type) {
    MPI_Aint lower = -1;
    MPI_Aint extent = -1;
    MPI_Type_get_extent(type, &lower, &extent);
    return extent;
}

static int size_of(MPI_Datatype type) {
    int size = -1;
    MPI_Type_size(type, &size);
    return size;
}

static void free_derived(MPI_Datatype* type) {
    int integers;
    int addresses;
    int types;
    int combiner = MPI_COMBINER_NAMED;
    MPI_Type_get_envelope(*type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) {
        MPI_Type_free(type);
    }
}

typedef struct {
    MPI_Offset displacement;
    MPI_Datatype etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING];
} View;

static int get_view(Test* t, MPI_File file, View* view) {
    view->datarep[0] = '\0';
    return OK(t, MPI_File_get_view(file, &view->displacement, &view->etype, &view->filetype,
                                   view->datarep));
}

static void starts_as_bytes(Test* t) {
    View view;
    MPI_File file = open_new(t);
    if (get_view(t, file, &view)) {
        EQUAL(t, view.displacement, 0);
        EQUAL(t, size_of(view.etype), 1);
        EQUAL(t, extent_of(view.filetype), 1);
        CHECK(t, strcmp(view.datarep, "native") == 0, "the representation is %s", view.datarep);
        free_derived(&view.etype);
        free_derived(&view.filetype);
    }
    close_file(t, &file);
}

static void tells_what_was_set(Test* t) {
    View view;
    MPI_File file = open_new(t);
    MPI_Datatype pairs = block_of(MPI_INT, 2, 2);
    MPI_Datatype blocks = block_of(pairs, 3, 7);
    OK(t, MPI_File_set_view(file, 24 + t->rank, pairs, blocks, "native", MPI_INFO_NULL));
    if (get_view(t, file, &view)) {
        EQUAL(t, view.displacement, 24 + t->rank);
        EQUAL(t, size_of(view.etype), 8);
        EQUAL(t, extent_of(view.etype), 8);
        EQUAL(t, size_of(view.filetype), 24);
        EQUAL(t, extent_of(view.filetype), 56);
        CHECK(t, strcmp(view.datarep, "native") == 0, "the representation is %s", view.datarep);
        free_derived(&view.etype);
        free_derived(&view.filetype);
    }
    OK(t, MPI_File_write_at_all(file, 0, &t->rank, 0, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Type_free(&pairs);
    MPI_Type_free(&blocks);
    close_file(t, &file);
}

static void resets_individual_pointer(Test* t) {
    MPI_File file = open_new(t);
    OK(t, MPI_File_seek(file, 50, MPI_SEEK_SET));
    view_ints(t, file, 4);
    check_position(t, file, 0);
    close_file(t, &file);
}

static void resets_shared_pointer(Test* t) {
    MPI_Offset position = -1;
    MPI_File file = open_new(t);
    OK(t, MPI_File_seek_shared(file, 50, MPI_SEEK_SET));
    MPI_Barrier(t->comm);
    view_ints(t, file, 4);
    OK(t, MPI_File_get_position_shared(file, &position));
    EQUAL(t, position, 0);
    close_file(t, &file);
}

static void is_absolute(Test* t) {
    int found = -1;
    make_file(t, t->path, 20, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    view_ints(t, file, 40);
    view_ints(t, file, 8);
    OK(t, MPI_File_read_at(file, 1, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found, 3);
    close_file(t, &file);
}

static void counts_etypes(Test* t) {
    int found[2] = {-1, -1};
    make_file(t, t->path, 20, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    MPI_Datatype pairs = block_of(MPI_INT, 2, 2);
    OK(t, MPI_File_set_view(file, 4, pairs, pairs, "native", MPI_INFO_NULL));
    OK(t, MPI_File_read_at(file, 3, found, 1, pairs, MPI_STATUS_IGNORE));
    EQUAL(t, found[0], 7);
    OK(t, MPI_File_seek(file, 2, MPI_SEEK_SET));
    OK(t, MPI_File_read(file, found, 2, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found[0], 5);
    check_position(t, file, 3);
    MPI_Type_free(&pairs);
    close_file(t, &file);
}

static void byte_offset_skips_holes(Test* t) {
    MPI_Offset place = -1;
    MPI_File file = open_new(t);
    MPI_Datatype blocks = block_of(MPI_INT, 2, 5);
    OK(t, MPI_File_set_view(file, 100, MPI_INT, blocks, "native", MPI_INFO_NULL));
    const MPI_Offset expected[] = {100, 104, 120, 124, 140};
    for (int i = 0; i < 5; i++) {
        OK(t, MPI_File_get_byte_offset(file, i, &place));
        EQUAL(t, place, expected[i]);
    }
    OK(t, MPI_File_get_byte_offset(file, (MPI_Offset)1 << 34, &place));
    EQUAL(t, place, 100 + ((MPI_Offset)1 << 33) * 20);
    MPI_Type_free(&blocks);
    close_file(t, &file);
}

/* Sets complementary filetypes on the ranks, which together cover the file. The types are freed
 * immediately. */
static void ranks_partition_the_file(Test* t) {
    enum { kRows = 6 };
    int* const expected = malloc((size_t)(kRows * t->size) * sizeof(int));
    int mine[kRows];
    MPI_Datatype column;
    MPI_File file = open_new(t);
    int sizes[2] = {kRows, t->size};
    int part[2] = {kRows, 1};
    int starts[2] = {0, t->rank};
    MPI_Type_create_subarray(2, sizes, part, starts, MPI_ORDER_C, MPI_INT, &column);
    MPI_Type_commit(&column);
    OK(t, MPI_File_set_view(file, 0, MPI_INT, column, "native", MPI_INFO_NULL));
    MPI_Type_free(&column);
    for (int row = 0; row < kRows; row++) {
        mine[row] = row * t->size + t->rank;
    }
    OK(t, MPI_File_write_all(file, mine, kRows, MPI_INT, MPI_STATUS_IGNORE));
    close_file(t, &file);
    for (int i = 0; i < kRows * t->size; i++) {
        expected[i] = i;
    }
    check_stored(t, t->path, expected, kRows * t->size);
    free(expected);
}

static void darray_partitions(Test* t) {
    int mine[8];
    int expected[64];
    MPI_Datatype part;
    MPI_File file = MPI_FILE_NULL;
    if (t->rank < 4) {
        int sizes[2] = {4, 8};
        int distributions[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
        int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
        int grid[2] = {2, 2};
        MPI_Type_create_darray(4, t->rank, 2, sizes, distributions, arguments, grid, MPI_ORDER_C,
                               MPI_INT, &part);
    } else {
        MPI_Type_contiguous(1, MPI_INT, &part);
    }
    MPI_Type_commit(&part);
    file = open_new(t);
    OK(t, MPI_File_set_view(file, 0, MPI_INT, part, "native", MPI_INFO_NULL));
    for (int i = 0; i < 8; i++) {
        const int row = t->rank / 2 + i / 4 * 2;
        mine[i] = row * 8 + t->rank % 2 * 4 + i % 4;
    }
    OK(t, MPI_File_write_all(file, mine, t->rank < 4 ? 8 : 0, MPI_INT, MPI_STATUS_IGNORE));
    close_file(t, &file);
    for (int i = 0; i < 32; i++) {
        expected[i] = i;
    }
    check_stored(t, t->path, expected, 32);
    MPI_Type_free(&part);
}

static void reads_overlapping_filetype(Test* t) {
    const int lengths[2] = {2, 2};
    const MPI_Aint places[2] = {0, 4};
    const int expected[8] = {0, 1, 1, 2, 3, 4, 4, 5};
    int found[8] = {0};
    MPI_Datatype overlapping;
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &overlapping);
    MPI_Type_commit(&overlapping);
    make_file(t, t->path, 8, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    OK(t, MPI_File_set_view(file, 0, MPI_INT, overlapping, "native", MPI_INFO_NULL));
    OK(t, MPI_File_read(file, found, 8, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < 8; i++) {
        EQUAL(t, found[i], expected[i]);
    }
    MPI_Type_free(&overlapping);
    close_file(t, &file);
}

/* Reads through a filetype that is a hole of 2 etypes, 1 etype of data and a hole of 1 etype. */
static void keeps_leading_holes(Test* t) {
    const int block = 1;
    const MPI_Aint place = 8;
    int found[3] = {0};
    MPI_Datatype late;
    MPI_Datatype filetype;
    MPI_Type_create_hindexed(1, &block, &place, MPI_INT, &late);
    MPI_Type_create_resized(late, 0, 16, &filetype);
    MPI_Type_commit(&filetype);
    make_file(t, t->path, 16, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    OK(t, MPI_File_set_view(file, 4, MPI_INT, filetype, "native", MPI_INFO_NULL));
    OK(t, MPI_File_read_all(file, found, 3, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found[0], 3);
    EQUAL(t, found[1], 7);
    EQUAL(t, found[2], 11);
    MPI_Type_free(&late);
    MPI_Type_free(&filetype);
    close_file(t, &file);
}

static void begins_inside_a_tile(Test* t) {
    int found[4] = {0};
    const int expected[4] = {2, 5, 6, 7};
    MPI_Datatype blocks = block_of(MPI_INT, 3, 5);
    make_file(t, t->path, 30, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    OK(t, MPI_File_set_view(file, 0, MPI_INT, blocks, "native", MPI_INFO_NULL));
    OK(t, MPI_File_read_at_all(file, 2, found, 4, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < 4; i++) {
        EQUAL(t, found[i], expected[i]);
    }
    MPI_Type_free(&blocks);
    close_file(t, &file);
}

static void takes_other_types_of_equal_signature(Test* t) {
    struct {
        int number;
        double value;
    } item = {0, 0}, mine = {t->rank, t->rank + 0.5};
    const int lengths[2] = {1, 1};
    const MPI_Aint in_memory[2] = {0, (char*)&item.value - (char*)&item};
    const MPI_Aint in_file[2] = {0, 4};
    const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype memory;
    MPI_Datatype packed;
    MPI_Type_create_struct(2, lengths, in_memory, types, &memory);
    MPI_Type_create_struct(2, lengths, in_file, types, &packed);
    MPI_Type_commit(&memory);
    MPI_Type_commit(&packed);
    MPI_File file = open_new(t);
    OK(t, MPI_File_set_view(file, 12 * t->rank, packed, packed, "native", MPI_INFO_NULL));
    OK(t, MPI_File_write_all(file, &mine, 1, memory, MPI_STATUS_IGNORE));
    settle(t, file);
    OK(t, MPI_File_read_at(file, 0, &item, 1, memory, MPI_STATUS_IGNORE));
    EQUAL(t, item.number, t->rank);
    CHECK(t, item.value == mine.value, "the double is %g", item.value);
    MPI_Type_free(&memory);
    MPI_Type_free(&packed);
    close_file(t, &file);
}

static void displacement_current(Test* t) {
    char bytes[5];
    MPI_File file = open_mode(t, t->path, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    OK(t, MPI_File_write_ordered(file, "abc", t->rank ? 0 : 3, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(t, MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native",
                            MPI_INFO_NULL));
    OK(t, MPI_File_write_ordered(file, "de", t->rank ? 0 : 2, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(t, &file);
    if (t->rank == 0) {
        stored_bytes(t, t->path, 0, bytes, 5);
        CHECK(t, memcmp(bytes, "abcde", 5) == 0, "the file is %.5s instead of abcde", bytes);
    }
}

/* clang-format off */
RULES(kViewRules, {
    {"14.3", "view-initial", "a new handle has displacement 0, etype and filetype MPI_BYTE, native", "open get_view", starts_as_bytes, 1, kUsual, NULL},
    {"14.3", "view-get", "MPI_File_get_view returns the displacement, types and representation that were set", "set_view get_view", tells_what_was_set, 1, kUsual, NULL},
    {"14.3", "view-pointer", "MPI_File_set_view resets the individual pointer to 0", "set_view get_position", resets_individual_pointer, 1, kUsual, NULL},
    {"14.3", "view-pointer-shared", "MPI_File_set_view resets the shared pointer to 0", "set_view get_position_shared seek_shared", resets_shared_pointer, 1, kUsual, NULL},
    {"14.3", "view-absolute", "a new view's displacement counts from the file's start, not from the old view", "set_view", is_absolute, 1, kUsual, NULL},
    {"14.3", "view-etypes", "offsets and positions count etypes", "set_view seek get_position read_at", counts_etypes, 1, kUsual, NULL},
    {"14.4.3", "byte-offset", "MPI_File_get_byte_offset turns an offset of the view into bytes of the file", "get_byte_offset", byte_offset_skips_holes, 1, kUsual, NULL},
    {"14.3", "view-partition", "complementary subarray views partition a file; the types may be freed at once", "set_view write_all", ranks_partition_the_file, 1, kUsual, NULL},
    {"14.3", "view-darray", "a distributed array type as filetype lays out the global array", "set_view write_all", darray_partitions, 4, kUsual, NULL},
    {"14.3", "view-overlap", "a filetype that overlaps itself may be read", "set_view read", reads_overlapping_filetype, 1, kUsual, NULL},
    {"14.3", "view-leading-hole", "holes before and after a filetype's data count in its tiling", "set_view read_all", keeps_leading_holes, 1, kUsual, NULL},
    {"14.3", "view-inside-tile", "an access may begin and end inside a tile of the filetype", "set_view read_at_all", begins_inside_a_tile, 1, kUsual, NULL},
    {"14.6.6", "view-struct", "memory and file may lay the same signature out differently", "set_view write_all read_at", takes_other_types_of_equal_signature, 1, kUsual, NULL},
    {"14.3", "view-current", "with MPI_DISPLACEMENT_CURRENT, a view of a sequential file begins at its shared pointer", "set_view write_ordered", displacement_current, 1, kUsual, NULL},
});
/* clang-format on */
