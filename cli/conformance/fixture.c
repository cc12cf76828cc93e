// SPDX-License-Identifier: BSD-3-Clause
/* The checks, and functions that rules share. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

void wrong(Test* t, const char* file, int line, const char* format, ...) {
    if (t->is_wrong) {
        return;
    }
    t->is_wrong = 1;
    const char* slash = strrchr(file, '/');
    int used = snprintf(t->message, kMessageBytes, "%s:%d: ", slash ? slash + 1 : file, line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t->message + used, kMessageBytes - (size_t)used, format, arguments);
    va_end(arguments);
    for (char* c = t->message; *c; c++) {
        *c = *c == '\n' || *c == '\t' ? ' ' : *c;
    }
}

void unavailable(Test* t, const char* why) {
    t->is_unavailable = 1;
    if (!t->is_wrong) {
        snprintf(t->message, kMessageBytes, "%s", why);
    }
}

static const char* error_text(int code) {
    static char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) {
        snprintf(text, sizeof text, "error code %d", code);
    }
    /* The message is cut where MPICH's error stack begins, as the place of the error inside the MPI
     * is of no use here. */
    char* const stack = strstr(text, ", error stack");
    if (stack) {
        *stack = '\0';
    }
    return text;
}

int check_succeeds(Test* t, int code, const char* call, const char* file, int line) {
    if (code != MPI_SUCCESS) {
        wrong(t, file, line, "%s: %s", call, error_text(code));
    }
    return code == MPI_SUCCESS;
}

void check_fails(Test* t, int code, const int* classes, const char* call, const char* file,
                 int line) {
    if (code == MPI_SUCCESS) {
        wrong(t, file, line, "%s returned MPI_SUCCESS instead of an error", call);
        return;
    }
    int class = code;
    MPI_Error_class(code, &class);
    int is_allowed = classes[0] == -1;
    for (; *classes != -1; classes++) {
        is_allowed = is_allowed || *classes == class;
    }
    if (!is_allowed) {
        wrong(t, file, line, "%s: another error class than expected: %s", call, error_text(code));
    }
}

void check_equal(Test* t, long long found, long long expected, const char* what, const char* file,
                 int line) {
    if (found != expected) {
        wrong(t, file, line, "%s is %lld instead of %lld", what, found, expected);
    }
}

MPI_File open_mode(Test* t, const char* path, int amode) {
    MPI_File file = MPI_FILE_NULL;
    OK(t, MPI_File_open(t->comm, path, amode, MPI_INFO_NULL, &file));
    return file;
}

MPI_File open_new(Test* t) {
    return open_mode(t, t->path, MPI_MODE_CREATE | MPI_MODE_RDWR);
}

void close_file(Test* t, MPI_File* file) {
    OK(t, MPI_File_close(file));
    MPI_Barrier(t->comm);
}

void make_file(Test* t, const char* path, int count, int first, int step) {
    if (t->rank == 0) {
        MPI_File file = MPI_FILE_NULL;
        int* const values = malloc((size_t)(count + 1) * sizeof(int));
        for (int i = 0; i < count; i++) {
            values[i] = first + i * step;
        }
        OK(t, MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                            &file));
        OK(t, MPI_File_set_size(file, 0));
        OK(t, MPI_File_write_at(file, 0, values, count, MPI_INT, MPI_STATUS_IGNORE));
        OK(t, MPI_File_close(&file));
        free(values);
    }
    MPI_Barrier(t->comm);
}

int stored_bytes(Test* t, const char* path, MPI_Offset offset, void* bytes, int count) {
    MPI_File file = MPI_FILE_NULL;
    MPI_Offset size = 0;
    memset(bytes, 0xEE, (size_t)count);
    if (!OK(t, MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file))) {
        return 0;
    }
    OK(t, MPI_File_get_size(file, &size));
    OK(t, MPI_File_read_at(file, offset, bytes, count, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(t, MPI_File_close(&file));
    const MPI_Offset left = size > offset ? size - offset : 0;
    return left < count ? (int)left : count;
}

void check_stored(Test* t, const char* path, const int* expected, int count) {
    if (t->rank == 0) {
        int* const found = malloc((size_t)count * sizeof(int));
        const int bytes = count * (int)sizeof(int);
        const int there = stored_bytes(t, path, 0, found, bytes);
        CHECK(t, there == bytes, "the file has %d bytes instead of at least %d", there, bytes);
        for (int i = 0; i < count; i++) {
            CHECK(t, found[i] == expected[i], "int %d of the file is %d instead of %d", i, found[i],
                  expected[i]);
        }
        free(found);
    }
    MPI_Barrier(t->comm);
}

void check_count(Test* t, const MPI_Status* status, MPI_Datatype type, int count) {
    int found = -1;
    MPI_Get_count(status, type, &found);
    CHECK(t, found == count, "the status reports %d items instead of %d", found, count);
}

void settle(Test* t, MPI_File file) {
    OK(t, MPI_File_sync(file));
    MPI_Barrier(t->comm);
    OK(t, MPI_File_sync(file));
}

void check_position(Test* t, MPI_File file, MPI_Offset expected) {
    MPI_Offset position = -1;
    if (OK(t, MPI_File_get_position(file, &position))) {
        CHECK(t, position == expected, "the individual pointer is at %lld instead of %lld",
              (long long)position, (long long)expected);
    }
}

MPI_Offset file_size(Test* t, MPI_File file) {
    MPI_Offset size = -1;
    OK(t, MPI_File_get_size(file, &size));
    return size;
}

void view_ints(Test* t, MPI_File file, MPI_Offset displacement) {
    OK(t, MPI_File_set_view(file, displacement, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
}

MPI_Datatype block_of(MPI_Datatype type, int block, int stride) {
    MPI_Aint lower;
    MPI_Aint extent;
    MPI_Datatype blocks;
    MPI_Datatype result;
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_contiguous(block, type, &blocks);
    MPI_Type_create_resized(blocks, 0, stride * extent, &result);
    MPI_Type_commit(&result);
    MPI_Type_free(&blocks);
    return result;
}

void* procedure(const char* name) {
    return dlsym(RTLD_DEFAULT, name);
}
