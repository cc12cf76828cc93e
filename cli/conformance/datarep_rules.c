// SPDX-License-Identifier: BSD-3-Clause
/* MPI-4.1, 14.5.3: user-defined data representations. A name stays registered, so each rule has its
 * own. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

enum { kItems = 5 };

/* Returns the extent of a type in the file. The representation stores an int as an 8-byte integer
 * with all bits inverted; other types keep their extent. */
static int wide_extent(MPI_Datatype type, MPI_Aint* extent, void* extra) {
    MPI_Aint lower;
    (void)extra;
    if (type == MPI_INT) {
        *extent = 8;
        return MPI_SUCCESS;
    }
    return MPI_Type_get_extent(type, &lower, extent);
}

static int memory_extent(MPI_Datatype type, MPI_Aint* extent, void* extra) {
    MPI_Aint lower;
    (void)extra;
    return MPI_Type_get_extent(type, &lower, extent);
}

static void widen(const int* memory, char* stored, MPI_Count count) {
    for (MPI_Count i = 0; i < count; i++) {
        const int64_t value = ~(int64_t)memory[i];
        memcpy(stored + 8 * i, &value, 8);
    }
}

static void narrow(int* memory, const char* stored, MPI_Count count) {
    for (MPI_Count i = 0; i < count; i++) {
        int64_t value;
        memcpy(&value, stored + 8 * i, 8);
        memory[i] = (int)~value;
    }
}

static int write_wide(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position,
                      void* extra) {
    (void)type;
    *(int*)extra += count;
    widen((const int*)user + position, file, count);
    return MPI_SUCCESS;
}

static int read_wide(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position,
                     void* extra) {
    (void)type;
    *(int*)extra += count;
    narrow((int*)user + position, file, count);
    return MPI_SUCCESS;
}

static int write_wide_c(void* user, MPI_Datatype type, MPI_Count count, void* file,
                        MPI_Offset position, void* extra) {
    return write_wide(user, type, (int)count, file, position, extra);
}

static int read_wide_c(void* user, MPI_Datatype type, MPI_Count count, void* file,
                       MPI_Offset position, void* extra) {
    return read_wide(user, type, (int)count, file, position, extra);
}

static int refuse(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position,
                  void* extra) {
    (void)user, (void)type, (void)count, (void)file, (void)position, (void)extra;
    return MPI_ERR_OTHER;
}

/* Writes and reads ints through a representation that stores each int in 8 bytes. */
static void round_trip(Test* t, const char* datarep, const int* converted) {
    int values[kItems];
    int found[kItems] = {0};
    int64_t stored[kItems];
    MPI_Aint extent = -1;
    MPI_File file = open_new(t);
    for (int i = 0; i < kItems; i++) {
        values[i] = 100 * t->rank + i;
    }
    OK(t, MPI_File_set_view(file, 8 * kItems * t->rank, MPI_INT, MPI_INT, datarep, MPI_INFO_NULL));
    OK(t, MPI_File_get_type_extent(file, MPI_INT, &extent));
    EQUAL(t, extent, 8);
    OK(t, MPI_File_write_at_all(file, 0, values, kItems, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(t, *converted >= kItems, "the write function converted %d items", *converted);
    const int written = *converted;
    settle(t, file);
    OK(t, MPI_File_read_at_all(file, 1, found, kItems - 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(t, *converted >= written + kItems - 1, "the read function converted %d items",
          *converted - written);
    close_file(t, &file);
    stored_bytes(t, t->path, 8 * kItems * t->rank, stored, sizeof stored);
    for (int i = 0; i < kItems; i++) {
        EQUAL(t, stored[i], ~(int64_t)values[i]);
        EQUAL(t, found[i], i + 1 < kItems ? values[i + 1] : 0);
    }
}

static void converts(Test* t) {
    static int converted;
    if (OK(t, MPI_Register_datarep("conformance-wide", read_wide, write_wide, wide_extent,
                                   &converted))) {
        round_trip(t, "conformance-wide", &converted);
    }
}

typedef int LargeConversion(void*, MPI_Datatype, MPI_Count, void*, MPI_Offset, void*);

static void converts_large(Test* t) {
    static int converted;
    int (*register_datarep_c)(const char*, LargeConversion*, LargeConversion*,
                              MPI_Datarep_extent_function*, void*);
    *(void**)&register_datarep_c = procedure("MPI_Register_datarep_c");
    if (!register_datarep_c) {
        unavailable(t, "this MPI lacks the procedure");
        return;
    }
    if (OK(t, register_datarep_c("conformance-wide-c", read_wide_c, write_wide_c, wide_extent,
                                 &converted))) {
        round_trip(t, "conformance-wide-c", &converted);
    }
}

static void null_functions_are_native(Test* t) {
    char name[MPI_MAX_DATAREP_STRING] = "";
    int stored = -1;
    MPI_Offset displacement;
    MPI_Datatype etype;
    MPI_Datatype filetype;
    OK(t, MPI_Register_datarep("conformance-same", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL,
                               memory_extent, NULL));
    MPI_File file = open_new(t);
    OK(t, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "conformance-same", MPI_INFO_NULL));
    OK(t, MPI_File_get_view(file, &displacement, &etype, &filetype, name));
    CHECK(t, strcmp(name, "conformance-same") == 0, "MPI_File_get_view returns %s", name);
    OK(t, MPI_File_write_at_all(file, t->rank, &t->rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    close_file(t, &file);
    stored_bytes(t, t->path, 4 * t->rank, &stored, 4);
    EQUAL(t, stored, t->rank);
}

static void twice_is_refused(Test* t) {
    OK(t, MPI_Register_datarep("conformance-twice", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL,
                               memory_extent, NULL));
    FAILS_AS(t,
             MPI_Register_datarep("conformance-twice", MPI_CONVERSION_FN_NULL,
                                  MPI_CONVERSION_FN_NULL, memory_extent, NULL),
             MPI_ERR_DUP_DATAREP);
    FAILS_AS(t,
             MPI_Register_datarep("native", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL,
                                  memory_extent, NULL),
             MPI_ERR_DUP_DATAREP);
}

static void failure_is_told(Test* t) {
    const int value = 1;
    if (!OK(t, MPI_Register_datarep("conformance-refuse", refuse, refuse, memory_extent, NULL))) {
        return;
    }
    MPI_File file = open_new(t);
    OK(t, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "conformance-refuse", MPI_INFO_NULL));
    FAILS_AS(t, MPI_File_write_at(file, t->rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE),
             MPI_ERR_CONVERSION);
    close_file(t, &file);
}

/* clang-format off */
RULES(kDatarepRules, {
    {"14.5.3", "datarep-converts", "registered functions convert data, with their own extents and extra state", "register_datarep set_view get_type_extent write_at_all read_at_all", converts, 1, kUsual, NULL},
    {"14.5.3", "datarep-converts-large", "MPI_Register_datarep_c takes large-count functions", "register_datarep_c set_view", converts_large, 1, kUsual, NULL},
    {"14.5.3", "datarep-null", "with MPI_CONVERSION_FN_NULL data is stored as in native, and the view has the registered name", "register_datarep set_view get_view", null_functions_are_native, 1, kUsual, NULL},
    {"14.5.3", "datarep-twice", "registering a name twice fails with MPI_ERR_DUP_DATAREP", "register_datarep", twice_is_refused, 1, kUsual, NULL},
    {"14.5.3", "datarep-error", "an error of a conversion function is reported as MPI_ERR_CONVERSION", "register_datarep write_at", failure_is_told, 1, kUsual, NULL},
});
/* clang-format on */
