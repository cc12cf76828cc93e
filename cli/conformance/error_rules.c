// SPDX-License-Identifier: BSD-3-Clause
/* MPI-4.1, 14.7, 14.8 and 9.3.3: errors and error handlers of files. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conformance.h"

static int calls;
static int last_class;
static MPI_File last_file;

static void note_error(MPI_File* file, int* code, ...) {
    calls++;
    last_file = *file;
    MPI_Error_class(*code, &last_class);
}

static void note_other_error(MPI_File* file, int* code, ...) {
    (void)file, (void)code;
    calls += 100;
}

static MPI_Errhandler handler_for(Test* t, MPI_File_errhandler_function* function) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    OK(t, MPI_File_create_errhandler(function, &handler));
    calls = 0;
    last_class = -1;
    return handler;
}

static void default_returns(Test* t) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    OK(t, MPI_File_get_errhandler(MPI_FILE_NULL, &handler));
    CHECK(t, handler == MPI_ERRORS_RETURN, "MPI_FILE_NULL has another handler");
    MPI_File file = open_new(t);
    OK(t, MPI_File_get_errhandler(file, &handler));
    CHECK(t, handler == MPI_ERRORS_RETURN, "a new file has another handler");
    close_file(t, &file);
}

static void handler_is_called(Test* t) {
    const int value = 1;
    make_file(t, t->path, 1, 7, 0);
    MPI_Errhandler handler = handler_for(t, note_error);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    OK(t, MPI_File_set_errhandler(file, handler));
    MPI_Errhandler_free(&handler);
    MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    EQUAL(t, calls, 1);
    CHECK(t, last_file == file, "the handler was called with another file");
    OK(t, MPI_File_read_at(file, 0, &last_class, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, calls, 1);
    close_file(t, &file);
}

static void handlers_are_per_file(Test* t) {
    MPI_Errhandler handler = handler_for(t, note_error);
    MPI_Errhandler other = handler_for(t, note_other_error);
    MPI_File one = open_new(t);
    MPI_File two = open_mode(t, t->other, MPI_MODE_CREATE | MPI_MODE_RDWR);
    OK(t, MPI_File_set_errhandler(one, handler));
    OK(t, MPI_File_set_errhandler(two, other));
    OK(t, MPI_File_call_errhandler(two, MPI_ERR_IO));
    EQUAL(t, calls, 100);
    OK(t, MPI_File_call_errhandler(one, MPI_ERR_NO_SPACE));
    EQUAL(t, calls, 101);
    EQUAL(t, last_class, MPI_ERR_NO_SPACE);
    MPI_Errhandler_free(&handler);
    MPI_Errhandler_free(&other);
    close_file(t, &one);
    close_file(t, &two);
}

/* Sets the error handler of one file on a second one, too. The same function must serve both,
 * whatever the value of the handler's handle. */
static void handler_is_told(Test* t) {
    MPI_Errhandler handler = handler_for(t, note_error);
    MPI_Errhandler found = MPI_ERRHANDLER_NULL;
    MPI_File one = open_new(t);
    MPI_File two = open_mode(t, t->other, MPI_MODE_CREATE | MPI_MODE_RDWR);
    OK(t, MPI_File_set_errhandler(one, handler));
    MPI_Errhandler_free(&handler);
    OK(t, MPI_File_get_errhandler(one, &found));
    OK(t, MPI_File_set_errhandler(two, found));
    MPI_Errhandler_free(&found);
    OK(t, MPI_File_call_errhandler(one, MPI_ERR_IO));
    EQUAL(t, calls, 1);
    OK(t, MPI_File_call_errhandler(two, MPI_ERR_IO));
    EQUAL(t, calls, 2);
    close_file(t, &one);
    close_file(t, &two);
}

/* Opens and deletes a file that doesn't exist. These errors must go to the handler of
 * MPI_FILE_NULL, which new files inherit. */
static void null_handler_serves(Test* t) {
    MPI_File file = MPI_FILE_NULL;
    MPI_Errhandler handler = handler_for(t, note_error);
    OK(t, MPI_File_set_errhandler(MPI_FILE_NULL, handler));
    MPI_File_open(t->comm, t->path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    EQUAL(t, calls, 1);
    EQUAL(t, last_class, MPI_ERR_NO_SUCH_FILE);
    MPI_File_delete(t->path, MPI_INFO_NULL);
    EQUAL(t, calls, 2);
    MPI_Barrier(t->comm);
    file = open_new(t);
    OK(t, MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    OK(t, MPI_File_call_errhandler(file, MPI_ERR_IO));
    EQUAL(t, calls, 3);
    MPI_Errhandler_free(&handler);
    close_file(t, &file);
}

static void null_file_is_refused(Test* t) {
    MPI_Offset size;
    MPI_File none = MPI_FILE_NULL;
    int value = 0;
    FAILS_AS(t, MPI_File_get_size(none, &size), MPI_ERR_FILE);
    FAILS_AS(t, MPI_File_write_at(none, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_FILE);
    FAILS_AS(t, MPI_File_read_all(none, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_FILE);
    FAILS_AS(t, MPI_File_seek(none, 0, MPI_SEEK_SET), MPI_ERR_FILE);
    FAILS_AS(t, MPI_File_sync(none), MPI_ERR_FILE);
    FAILS_AS(t, MPI_File_set_view(none, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL),
             MPI_ERR_FILE);
    FAILS_AS(t, MPI_File_set_size(none, 0), MPI_ERR_FILE);
    FAILS_AS(t, MPI_File_close(&none), MPI_ERR_FILE);
}

static void long_name_is_bad(Test* t) {
    char name[kPathBytes + 400];
    MPI_File file = MPI_FILE_NULL;
    const size_t length = strlen(t->path);
    memcpy(name, t->path, length);
    memset(name + length, 'x', 300);
    name[length + 300] = '\0';
    FAILS_AS(t, MPI_File_open(t->comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
             MPI_ERR_BAD_FILE);
}

static void missing_folder(Test* t) {
    char name[kPathBytes + 16];
    MPI_File file = MPI_FILE_NULL;
    const size_t length = strlen(t->path);
    memcpy(name, t->path, length);
    memcpy(name + length, "-none/file", 11);
    FAILS_AS(t, MPI_File_open(t->comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
             MPI_ERR_NO_SUCH_FILE);
}

static void forbidden_file(Test* t) {
    MPI_File file = MPI_FILE_NULL;
    if (geteuid() == 0) {
        unavailable(t, "root may open every file");
        return;
    }
    make_file(t, t->path, 1, 7, 0);
    if (t->rank == 0) {
        chmod(t->path, 0);
    }
    MPI_Barrier(t->comm);
    FAILS_AS(t, MPI_File_open(t->comm, t->path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
             MPI_ERR_ACCESS);
}

static void reader_may_not_write(Test* t) {
    const int value = 1;
    const int expected[1] = {7};
    int found = 0;
    make_file(t, t->path, 1, 7, 0);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    FAILS(t, MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(t, MPI_File_write_at_all(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(t, MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(t, MPI_File_set_size(file, 0));
    OK(t, MPI_File_read_at_all(file, 0, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found, 7);
    close_file(t, &file);
    check_stored(t, t->path, expected, 1);
}

static void writer_may_not_read(Test* t) {
    int value = 9;
    make_file(t, t->path, 1, 7, 0);
    MPI_File file = open_mode(t, t->path, MPI_MODE_WRONLY);
    FAILS(t, MPI_File_read_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(t, MPI_File_read_at_all(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(t, MPI_File_read(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    close_file(t, &file);
}

static void errors_are_alike(Test* t) {
    int code;
    int class = -1;
    int lowest;
    int highest;
    MPI_File file = MPI_FILE_NULL;
    code = MPI_File_open(t->comm, t->path, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_Error_class(code, &class);
    MPI_Allreduce(&class, &lowest, 1, MPI_INT, MPI_MIN, t->comm);
    MPI_Allreduce(&class, &highest, 1, MPI_INT, MPI_MAX, t->comm);
    EQUAL(t, lowest, highest);
    CHECK(t, file == MPI_FILE_NULL, "a failed open has returned a handle");
}

static void codes_have_texts(Test* t) {
    const int classes[] = {MPI_ERR_FILE,         MPI_ERR_NOT_SAME,
                           MPI_ERR_AMODE,        MPI_ERR_UNSUPPORTED_DATAREP,
                           MPI_ERR_NO_SUCH_FILE, MPI_ERR_FILE_EXISTS,
                           MPI_ERR_BAD_FILE,     MPI_ERR_UNSUPPORTED_OPERATION,
                           MPI_ERR_ACCESS,       MPI_ERR_NO_SPACE,
                           MPI_ERR_QUOTA,        MPI_ERR_READ_ONLY,
                           MPI_ERR_FILE_IN_USE,  MPI_ERR_DUP_DATAREP,
                           MPI_ERR_CONVERSION,   MPI_ERR_IO};
    for (int i = 0; i < (int)(sizeof classes / sizeof classes[0]); i++) {
        char text[MPI_MAX_ERROR_STRING];
        int length = 0;
        int class = -1;
        OK(t, MPI_Error_class(classes[i], &class));
        EQUAL(t, class, classes[i]);
        OK(t, MPI_Error_string(classes[i], text, &length));
        CHECK(t, length > 0, "class %d has no text", classes[i]);
    }
}

/* clang-format off */
RULES(kErrorRules, {
    {"14.7", "errhandler-default", "the handler of MPI_FILE_NULL and of new files is MPI_ERRORS_RETURN", "get_errhandler open", default_returns, 1, kUsual, NULL},
    {"9.3.3", "errhandler-called", "a file's handler is called once per error, with the file", "create_errhandler set_errhandler write_at", handler_is_called, 1, kUsual, NULL},
    {"9.3.3", "errhandler-per-file", "each file has its own handler; MPI_File_call_errhandler calls it with the code", "set_errhandler call_errhandler", handlers_are_per_file, 1, kUsual, NULL},
    {"9.3.3", "errhandler-get", "MPI_File_get_errhandler returns the handler, which may be freed while in use", "get_errhandler set_errhandler call_errhandler", handler_is_told, 1, kUsual, NULL},
    {"14.7", "errhandler-null", "errors of open and delete go to the handler of MPI_FILE_NULL, which new files inherit", "set_errhandler open delete call_errhandler", null_handler_serves, 1, kUsual, NULL},
    {"14.8", "file-null", "a call with MPI_FILE_NULL fails with MPI_ERR_FILE", "get_size write_at read_all seek sync set_view set_size close", null_file_is_refused, 1, kUsual, NULL},
    {"14.8", "name-too-long", "opening a file with too long a name fails with MPI_ERR_BAD_FILE", "open", long_name_is_bad, 1, kUsual, NULL},
    {"14.8", "folder-missing", "opening a file in a missing folder fails with MPI_ERR_NO_SUCH_FILE", "open", missing_folder, 1, kUsual, NULL},
    {"14.8", "access-denied", "opening a file that may not be read fails with MPI_ERR_ACCESS", "open", forbidden_file, 1, kUsual, NULL},
    {"14.2.1", "rdonly-refuses", "a file opened RDONLY can't be written or resized", "open write_at write_at_all write set_size", reader_may_not_write, 1, kUsual, NULL},
    {"14.2.1", "wronly-refuses", "a file opened WRONLY can't be read", "open read_at read_at_all read", writer_may_not_read, 1, kUsual, NULL},
    {"14.7", "error-alike", "a failed open has one error class on all ranks and leaves MPI_FILE_NULL", "open", errors_are_alike, 2, kUsual, NULL},
    {"14.8", "error-classes", "every I/O error class is also an error code, with a text", "", codes_have_texts, 1, kUsual, NULL},
});
/* clang-format on */
