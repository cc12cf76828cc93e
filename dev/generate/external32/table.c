// SPDX-License-Identifier: BSD-3-Clause
/* Prints one value of each predefined datatype as it is in an external32 file and as the host's
 * MPI_Pack_external packs it:
 *   row|name|bytes in memory|value|extent in the file|bytes of the file|bytes packed by the host
 * usage: table (prints the host's name and version), or
 *        table FILE FIRST (on one rank; FILE is made and removed; FIRST is the row to begin with,
 * because MPICH aborts in MPI_Pack_external of some datatypes). Built by
 * dev/generate/external32_doc.py.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum number { bytes, integer, natural, real, long_double, wide };

struct row {
    const char* name;
    /* The members of a pair. Any other type is its own `first` and has no `second`. */
    MPI_Datatype type, first, second;
    enum number number;
    int scalars;
};

static enum number number_of(const struct row* rows, int count, MPI_Datatype type) {
    for (int i = 0; i < count; ++i)
        if (rows[i].type == type) return rows[i].number;
    return bytes;
}

/* Writes `size` bytes of a value to `to` and returns the value's text: 65, -2, 2, U+20AC or 1.5, by
 * the kind of number. */
static const char* put(enum number number, int size, unsigned char* to) {
    const float single = 1.5F;
    const double twice = 1.5;
    const long double extended = 1.5L;
    const unsigned char half[2] = {0x00, 0x3e}, quad[16] = {[13] = 0x80, [14] = 0xff, [15] = 0x3f};
    memset(to, number == integer ? 0xff : 0, (size_t)size);
    switch (number) {
        case bytes:
            to[0] = 'A';
            return "65";
        case integer:
            to[0] = 0xfe;
            return "-2";
        case natural:
            to[0] = 2;
            return "2";
        case wide:
            to[0] = 0xac;
            to[1] = 0x20;
            return "U+20AC";
        case long_double:
            memcpy(to, &extended, 10);
            return "1.5";
        default:
            memcpy(to,
                   size == 2   ? (const void*)half
                   : size == 4 ? (const void*)&single
                   : size == 8 ? (const void*)&twice
                               : (const void*)quad,
                   (size_t)size);
            return "1.5";
    }
}

static void print_bytes(const unsigned char* data, MPI_Aint count) {
    for (MPI_Aint i = 0; i < count; ++i) printf("%02x", data[i]);
}

static void packed_by_host(const struct row* row, const void* value) {
    unsigned char data[256];
    MPI_Aint position = 0;
    if (MPI_Pack_external("external32", value, 1, row->type, data, sizeof data, &position) ==
        MPI_SUCCESS)
        print_bytes(data, position);
    else
        printf("error");
}

static void print_row(const char* path, const struct row* rows, int count, const struct row* row) {
    unsigned char value[256] = {0}, data[256];
    const char *text = "", *second_text = "";
    int size = 0, at = 0;
    MPI_Aint extent = -1;
    MPI_File file;
    MPI_Type_size(row->type, &size);
    if (size <= 0) return; /* the host lacks this type */
    if (row->scalars > 0) {
        for (; at < size; at += size / row->scalars)
            text = put(row->number, size / row->scalars, value + at);
    } else {
        int first = 0, second = 0;
        MPI_Aint lower, all;
        MPI_Type_size(row->first, &first);
        MPI_Type_size(row->second, &second);
        MPI_Type_get_true_extent(row->type, &lower, &all);
        text = put(number_of(rows, count, row->first), first, value);
        second_text = put(number_of(rows, count, row->second), second, value + all - second);
    }
    printf("%s|%d|%s%s%s|", row->name, size, text, *second_text ? ", " : "", second_text);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    if (MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL) ==
            MPI_SUCCESS &&
        MPI_File_get_type_extent(file, row->type, &extent) == MPI_SUCCESS &&
        MPI_File_write_at(file, 0, value, 1, row->type, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
        MPI_File_read_at(file, 0, data, (int)extent, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
        printf("%ld|", (long)extent);
        print_bytes(data, extent);
    } else {
        printf("error|");
    }
    MPI_File_close(&file);
    printf("|");
    fflush(stdout);
    packed_by_host(row, value);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (argc < 3) {
        char version[MPI_MAX_LIBRARY_VERSION_STRING];
        int length;
        MPI_Get_library_version(version, &length);
        printf("%s\n", version);
    }
    const struct row rows[] = {
#define ELEMENT(datatype, number, file, scalars) \
    {#datatype, datatype, datatype, MPI_DATATYPE_NULL, number, scalars},
#define PAIR(datatype, first, second) {#datatype, datatype, first, second, bytes, 0},
#include "mpi/elements.def"
    };
    const int count = (int)(sizeof rows / sizeof rows[0]);
    for (int i = argc > 2 ? atoi(argv[2]) : count; i < count; ++i) {
        printf("%d|", i);
        if (rows[i].type != MPI_DATATYPE_NULL) print_row(argv[1], rows, count, &rows[i]);
        printf("\n");
    }
    MPI_Finalize();
    return 0;
}
