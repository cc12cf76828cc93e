// SPDX-License-Identifier: BSD-3-Clause
/* MPI-4.1, 14.5.1, 14.5.2 and 14.5.4: predefined data representations. */
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "conformance.h"

/* A value of a type, with its bytes in external32, which were computed by hand. */
typedef struct {
    const char* name;
    MPI_Datatype type;
    const void* value;
    int size; /* size of the value in memory */
    const char* bytes;
    int stored;
} Sample;

#define SAMPLE(TYPE, CTYPE, VALUE, BYTES) \
    { #TYPE, TYPE, &(CTYPE){VALUE }, sizeof(CTYPE), BYTES, (int)sizeof(BYTES) - 1 }

/* Returns true if `found` equals the sample's value. Of a long double only the value counts, as its
 * unused bytes may differ. */
static int is_same(const Sample* sample, const void* found) {
    if (sample->type == MPI_LONG_DOUBLE) {
        return *(const long double*)sample->value == *(const long double*)found;
    }
    return memcmp(sample->value, found, (size_t)sample->size) == 0;
}

static void set_external32(Test* t, MPI_File file, MPI_Datatype type) {
    OK(t, MPI_File_set_view(file, 0, type, type, "external32", MPI_INFO_NULL));
}

/* Writes the value twice as external32, one after the other, checks the bytes in the file, and
 * reads the second value back. */
static void check_sample(Test* t, const Sample* sample) {
    _Alignas(16) char values[64] = {0};
    _Alignas(16) char found[64] = {0};
    MPI_Status status;
    MPI_File file = MPI_FILE_NULL;
    if (sample->type == MPI_DATATYPE_NULL || t->is_wrong) {
        return;
    }
    memcpy(values, sample->value, (size_t)sample->size);
    memcpy(values + sample->size, sample->value, (size_t)sample->size);
    OK(t, MPI_File_open(MPI_COMM_SELF, t->path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                        &file));
    OK(t, MPI_File_set_size(file, 0));
    set_external32(t, file, sample->type);
    OK(t, MPI_File_write(file, values, 2, sample->type, MPI_STATUS_IGNORE));
    OK(t, MPI_File_read_at(file, 1, found, 1, sample->type, &status));
    check_count(t, &status, sample->type, 1);
    EQUAL(t, file_size(t, file), 2 * sample->stored);
    OK(t, MPI_File_close(&file));
    CHECK(t, is_same(sample, found), "%s: another value than written is read back", sample->name);
    stored_bytes(t, t->path, 0, found, 2 * sample->stored);
    for (int i = 0; i < 2 * sample->stored; i++) {
        const unsigned char byte = (unsigned char)found[i];
        const unsigned char due = (unsigned char)sample->bytes[i % sample->stored];
        CHECK(t, byte == due, "%s: byte %d of the file is %02x instead of %02x", sample->name, i,
              byte, due);
    }
}

static void check_samples(Test* t, const Sample* samples, size_t count) {
    for (size_t i = 0; i < count && t->rank == 0; i++) {
        check_sample(t, &samples[i]);
    }
    MPI_Barrier(t->comm);
}

#define CHECK_SAMPLES(t, ...)                                            \
    do {                                                                 \
        const Sample samples[] = {__VA_ARGS__};                          \
        check_samples((t), samples, sizeof samples / sizeof samples[0]); \
    } while (0)

/* clang-format off */
static void external32_integers(Test* t) {
    CHECK_SAMPLES(t,
        SAMPLE(MPI_SHORT, short, -2, "\xff\xfe"),
        SAMPLE(MPI_UNSIGNED_SHORT, unsigned short, 0x1234, "\x12\x34"),
        SAMPLE(MPI_INT, int, 0x01020304, "\x01\x02\x03\x04"),
        SAMPLE(MPI_UNSIGNED, unsigned, 0xfedcba98u, "\xfe\xdc\xba\x98"),
        SAMPLE(MPI_LONG_LONG, long long, -256, "\xff\xff\xff\xff\xff\xff\xff\x00"),
        SAMPLE(MPI_UNSIGNED_LONG_LONG, unsigned long long, 0x0102030405060708ull, "\x01\x02\x03\x04\x05\x06\x07\x08"));
}

static void external32_longs(Test* t) {
    CHECK_SAMPLES(t,
        SAMPLE(MPI_LONG, long, -3, "\xff\xff\xff\xfd"),
        SAMPLE(MPI_UNSIGNED_LONG, unsigned long, 0x80000001ul, "\x80\x00\x00\x01"));
}

static void external32_sized_integers(Test* t) {
    CHECK_SAMPLES(t,
        SAMPLE(MPI_INT8_T, int8_t, -1, "\xff"),
        SAMPLE(MPI_UINT8_T, uint8_t, 200, "\xc8"),
        SAMPLE(MPI_INT16_T, int16_t, 258, "\x01\x02"),
        SAMPLE(MPI_UINT16_T, uint16_t, 0xff00, "\xff\x00"),
        SAMPLE(MPI_INT32_T, int32_t, -2, "\xff\xff\xff\xfe"),
        SAMPLE(MPI_UINT32_T, uint32_t, 1, "\x00\x00\x00\x01"),
        SAMPLE(MPI_INT64_T, int64_t, 1, "\x00\x00\x00\x00\x00\x00\x00\x01"),
        SAMPLE(MPI_UINT64_T, uint64_t, 0xff00000000000000ull, "\xff\x00\x00\x00\x00\x00\x00\x00"));
}

static void external32_bytes(Test* t) {
    CHECK_SAMPLES(t,
        SAMPLE(MPI_CHAR, char, 'A', "A"),
        SAMPLE(MPI_SIGNED_CHAR, signed char, -2, "\xfe"),
        SAMPLE(MPI_UNSIGNED_CHAR, unsigned char, 0x80, "\x80"),
        SAMPLE(MPI_BYTE, unsigned char, 0x81, "\x81"),
        SAMPLE(MPI_C_BOOL, bool, true, "\x01"));
}

static void external32_floats(Test* t) {
    CHECK_SAMPLES(t,
        SAMPLE(MPI_FLOAT, float, 1.0f, "\x3f\x80\x00\x00"),
        SAMPLE(MPI_FLOAT, float, -0.15625f, "\xbe\x20\x00\x00"),
        SAMPLE(MPI_DOUBLE, double, 1.0, "\x3f\xf0\x00\x00\x00\x00\x00\x00"),
        SAMPLE(MPI_DOUBLE, double, -2.5, "\xc0\x04\x00\x00\x00\x00\x00\x00"));
}

static void external32_long_double(Test* t) {
    CHECK_SAMPLES(t,
        SAMPLE(MPI_LONG_DOUBLE, long double, 1.0L, "\x3f\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
        SAMPLE(MPI_LONG_DOUBLE, long double, -2.5L, "\xc0\x00\x40\0\0\0\0\0\0\0\0\0\0\0\0\0"));
}

static void external32_complex(Test* t) {
    CHECK_SAMPLES(t,
        SAMPLE(MPI_C_FLOAT_COMPLEX, float complex, 1.0f, "\x3f\x80\x00\x00\x00\x00\x00\x00"),
        SAMPLE(MPI_C_DOUBLE_COMPLEX, double complex, 1.0 - 2.0 * I, "\x3f\xf0\0\0\0\0\0\0\xc0\x00\0\0\0\0\0\0"));
}

static void external32_wide_character(Test* t) {
    CHECK_SAMPLES(t, SAMPLE(MPI_WCHAR, wchar_t, 0x20ac, "\x20\xac"));
}

static void external32_mpi_integers(Test* t) {
    CHECK_SAMPLES(t,
        SAMPLE(MPI_AINT, MPI_Aint, 258, "\0\0\0\0\0\0\x01\x02"),
        SAMPLE(MPI_OFFSET, MPI_Offset, -1, "\xff\xff\xff\xff\xff\xff\xff\xff"),
        SAMPLE(MPI_COUNT, MPI_Count, 1, "\0\0\0\0\0\0\0\x01"));
}

static void external32_fortran(Test* t) {
    CHECK_SAMPLES(t,
        SAMPLE(MPI_INTEGER, int, 0x01020304, "\x01\x02\x03\x04"),
        SAMPLE(MPI_REAL, float, 1.0f, "\x3f\x80\x00\x00"),
        SAMPLE(MPI_DOUBLE_PRECISION, double, -2.5, "\xc0\x04\x00\x00\x00\x00\x00\x00"),
        SAMPLE(MPI_CHARACTER, char, 'z', "z"));
}
/* clang-format on */

/* Checks that the displacements of a portable filetype scale with the size of its items in the
 * file, which is 4 bytes for a long. */
static void external32_scales_views(Test* t) {
    const long mine[2] = {2 * t->rank, 2 * t->rank + 1};
    long found = -1;
    char bytes[16];
    MPI_Offset place = -1;
    MPI_Datatype every_second;
    MPI_Type_vector(2, 1, 2, MPI_LONG, &every_second);
    MPI_Type_commit(&every_second);
    MPI_File file = open_new(t);
    OK(t,
       MPI_File_set_view(file, 12 * t->rank, MPI_LONG, every_second, "external32", MPI_INFO_NULL));
    OK(t, MPI_File_get_byte_offset(file, 1, &place));
    EQUAL(t, place, 12 * t->rank + 8);
    OK(t, MPI_File_write_all(file, mine, 2, MPI_LONG, MPI_STATUS_IGNORE));
    check_position(t, file, 2);
    settle(t, file);
    OK(t, MPI_File_read_at(file, 1, &found, 1, MPI_LONG, MPI_STATUS_IGNORE));
    EQUAL(t, found, mine[1]);
    close_file(t, &file);
    stored_bytes(t, t->path, 12 * t->rank, bytes, 12);
    EQUAL(t, bytes[3], mine[0]);
    EQUAL(t, bytes[11], mine[1]);
    MPI_Type_free(&every_second);
}

static void external32_gathers_memory(Test* t) {
    const short values[6] = {1, 2, -1, 3, 4, -1};
    unsigned char bytes[8];
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype pairs = block_of(MPI_SHORT, 2, 3);
    MPI_File file = open_new(t);
    set_external32(t, file, MPI_SHORT);
    OK(t, MPI_File_iwrite_at(file, 4 * t->rank, values, 2, pairs, &request));
    OK(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    close_file(t, &file);
    stored_bytes(t, t->path, 8 * t->rank, bytes, 8);
    for (int i = 0; i < 8; i++) {
        EQUAL(t, bytes[i], i % 2 ? i / 2 + 1 : 0);
    }
    MPI_Type_free(&pairs);
}

static void extents_of_native(Test* t) {
    const MPI_Datatype types[] = {MPI_INT, MPI_LONG, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_BYTE};
    MPI_File file = open_new(t);
    for (int i = 0; i < 5; i++) {
        MPI_Aint lower;
        MPI_Aint extent = -1;
        MPI_Aint found = -1;
        MPI_Type_get_extent(types[i], &lower, &extent);
        OK(t, MPI_File_get_type_extent(file, types[i], &found));
        EQUAL(t, found, extent);
    }
    close_file(t, &file);
}

static void extents_of_external32(Test* t) {
    const MPI_Datatype types[] = {MPI_INT, MPI_LONG, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_WCHAR};
    const int expected[] = {4, 4, 8, 16, 2};
    MPI_Aint found = -1;
    MPI_Datatype longs;
    MPI_File file = open_new(t);
    set_external32(t, file, MPI_INT);
    for (int i = 0; i < 5; i++) {
        OK(t, MPI_File_get_type_extent(file, types[i], &found));
        EQUAL(t, found, expected[i]);
    }
    MPI_Type_contiguous(3, MPI_LONG, &longs);
    MPI_Type_commit(&longs);
    OK(t, MPI_File_get_type_extent(file, longs, &found));
    EQUAL(t, found, 12);
    MPI_Type_free(&longs);
    close_file(t, &file);
}

static void extents_in_large_counts(Test* t) {
    int (*get_type_extent_c)(MPI_File, MPI_Datatype, MPI_Count*);
    *(void**)&get_type_extent_c = procedure("MPI_File_get_type_extent_c");
    MPI_Count found = -1;
    if (!get_type_extent_c) {
        unavailable(t, "this MPI lacks the procedure");
        return;
    }
    MPI_File file = open_new(t);
    OK(t, get_type_extent_c(file, MPI_DOUBLE, &found));
    EQUAL(t, found, sizeof(double));
    close_file(t, &file);
}

static void native_is_memory(Test* t) {
    const double value = 1.5 + t->rank;
    double found = 0;
    MPI_File file = open_new(t);
    OK(t, MPI_File_set_view(file, 8 * t->rank, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL));
    OK(t, MPI_File_write_all(file, &value, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
    close_file(t, &file);
    stored_bytes(t, t->path, 8 * t->rank, &found, 8);
    CHECK(t, found == value, "the file holds %g instead of %g", found, value);
}

static void view_names(Test* t, const char* datarep) {
    char name[MPI_MAX_DATAREP_STRING] = "";
    int found = -1;
    MPI_Offset displacement;
    MPI_Datatype etype;
    MPI_Datatype filetype;
    MPI_File file = open_new(t);
    OK(t, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, datarep, MPI_INFO_NULL));
    OK(t, MPI_File_get_view(file, &displacement, &etype, &filetype, name));
    CHECK(t, strcmp(name, datarep) == 0, "MPI_File_get_view returns %s instead of %s", name,
          datarep);
    OK(t, MPI_File_write_at_all(file, t->rank, &t->rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    settle(t, file);
    OK(t, MPI_File_read_at_all(file, t->rank, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found, t->rank);
    close_file(t, &file);
}

static void takes_internal(Test* t) {
    view_names(t, "internal");
}
static void takes_external32(Test* t) {
    view_names(t, "external32");
}

static void refuses_unknown(Test* t) {
    MPI_File file = open_new(t);
    FAILS_AS(t, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "no-such-datarep", MPI_INFO_NULL),
             MPI_ERR_UNSUPPORTED_DATAREP);
    close_file(t, &file);
}

/* clang-format off */
#define EXTERNAL32(ID, WHAT, RUN) {"14.5.2", "external32-" ID, "external32 stores " WHAT " as the standard's table says", "set_view write read_at", RUN, 1, kUsual, NULL}
RULES(kInteroperabilityRules, {
    {"14.5.1", "extent-native", "MPI_File_get_type_extent returns the extent in memory for native", "get_type_extent", extents_of_native, 1, kUsual, NULL},
    {"14.5.1", "extent-external32", "MPI_File_get_type_extent returns external32's extents, also for derived types", "get_type_extent set_view", extents_of_external32, 1, kUsual, NULL},
    {"14.5.1", "extent-large", "MPI_File_get_type_extent_c returns extents", "get_type_extent_c", extents_in_large_counts, 1, kUsual, NULL},
    {"14.5", "native-bytes", "native stores the bytes of memory", "set_view write_all", native_is_memory, 1, kUsual, NULL},
    {"14.5", "internal", "the representation internal can be set, queried and read back", "set_view get_view write_at_all read_at_all", takes_internal, 1, kUsual, NULL},
    {"14.5.2", "external32-view", "the representation external32 can be set, queried and read back", "set_view get_view write_at_all read_at_all", takes_external32, 1, kUsual, NULL},
    EXTERNAL32("integers", "short, int and long long", external32_integers),
    EXTERNAL32("long", "long", external32_longs),
    EXTERNAL32("sized-integers", "integers of fixed size", external32_sized_integers),
    EXTERNAL32("bytes", "characters, bytes and _Bool", external32_bytes),
    EXTERNAL32("floats", "float and double", external32_floats),
    EXTERNAL32("long-double", "long double", external32_long_double),
    EXTERNAL32("complex", "complex numbers", external32_complex),
    EXTERNAL32("wchar", "wide characters", external32_wide_character),
    EXTERNAL32("mpi-integers", "MPI_AINT, MPI_OFFSET and MPI_COUNT", external32_mpi_integers),
    EXTERNAL32("fortran", "Fortran's types", external32_fortran),
    {"14.5.1", "external32-holes", "holes and offsets of a portable filetype scale with external32's sizes", "set_view get_byte_offset write_all read_at get_position", external32_scales_views, 1, kUsual, NULL},
    {"14.5.2", "external32-memory", "a nonblocking access converts a derived type in memory to external32", "set_view iwrite_at", external32_gathers_memory, 1, kUsual, NULL},
    {"14.8", "datarep-unknown", "a view with an unknown representation fails with MPI_ERR_UNSUPPORTED_DATAREP", "set_view", refuses_unknown, 1, kUsual, NULL},
});
/* clang-format on */
