// SPDX-License-Identifier: BSD-3-Clause
/* Handles, threads and MPI_Finalize: MPI-4.1, 19.3.4, 11.6, 11.2.4 and 7.7, and MPI-5.0's integer
 * handles. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "conformance.h"

enum { kHandles = 40, kThreads = 4 };

static void check_use(Test* t, MPI_File file) {
    int found = -1;
    OK(t, MPI_File_write_at(file, 4 * t->rank, &t->rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(t, MPI_File_read_at(file, 4 * t->rank, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found, t->rank);
}

static void converts_to_fortran(Test* t) {
    MPI_File file = open_new(t);
    const MPI_Fint number = MPI_File_c2f(file);
    MPI_File again = MPI_File_f2c(number);
    CHECK(t, again == file, "MPI_File_f2c does not return the handle passed to MPI_File_c2f");
    check_use(t, again);
    MPI_File null = MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL));
    CHECK(t, null == MPI_FILE_NULL, "MPI_FILE_NULL does not survive MPI_File_c2f and MPI_File_f2c");
    close_file(t, &file);
}

static void fortran_numbers_differ(Test* t) {
    MPI_File files[kHandles];
    MPI_Fint numbers[kHandles];
    for (int i = 0; i < kHandles; i++) {
        files[i] = open_new(t);
        numbers[i] = MPI_File_c2f(files[i]);
        for (int j = 0; j < i; j++) {
            CHECK(t, numbers[i] != numbers[j], "files %d and %d have the same number", j, i);
        }
    }
    for (int i = 0; i < kHandles; i++) {
        CHECK(t, MPI_File_f2c(numbers[i]) == files[i],
              "MPI_File_f2c returns another handle of file %d", i);
        close_file(t, &files[i]);
    }
}

static void converts_to_int(Test* t) {
    int (*to_int)(MPI_File);
    MPI_File (*from_int)(int);
    *(void**)&to_int = procedure("MPI_File_toint");
    *(void**)&from_int = procedure("MPI_File_fromint");
    if (!to_int || !from_int) {
        unavailable(t, "this MPI lacks the procedures");
        return;
    }
    MPI_File file = open_new(t);
    MPI_File again = from_int(to_int(file));
    CHECK(t, again == file, "MPI_File_fromint does not return the handle passed to MPI_File_toint");
    check_use(t, again);
    MPI_File null = from_int(to_int(MPI_FILE_NULL));
    CHECK(t, null == MPI_FILE_NULL, "MPI_FILE_NULL does not survive MPI_File_toint");
    close_file(t, &file);
}

/* Opens and closes a file on this rank alone. */
static void open_and_close(Test* t, int times) {
    char name[kPathBytes + 16];
    snprintf(name, sizeof name, "%s.%d", t->path, t->rank);
    for (int i = 0; i < times && !t->is_wrong; i++) {
        MPI_File file = MPI_FILE_NULL;
        OK(t, MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                            &file));
        if (i == times - 1) {
            OK(t, MPI_File_write_at(file, 0, &i, 1, MPI_INT, MPI_STATUS_IGNORE));
        }
        OK(t, MPI_File_close(&file));
    }
    OK(t, MPI_File_delete(name, MPI_INFO_NULL));
}

static void opens_often(Test* t) {
    open_and_close(t, 500);
}
static void opens_very_often(Test* t) {
    open_and_close(t, 100000);
}

static void opens_many_at_once(Test* t) {
    MPI_File files[kHandles];
    for (int i = 0; i < kHandles; i++) {
        files[i] = open_new(t);
        view_ints(t, files[i], 0);
        OK(t, MPI_File_seek(files[i], i, MPI_SEEK_SET));
    }
    for (int i = 0; i < kHandles; i++) {
        check_position(t, files[i], i);
        close_file(t, &files[i]);
    }
}

typedef struct {
    Test test; /* a copy per thread, so that the checks of several threads don't conflict */
    int number;
} ThreadWork;

static void* write_and_read(void* argument) {
    ThreadWork* const work = argument;
    Test* const t = &work->test;
    char name[kPathBytes + 32];
    MPI_File file = MPI_FILE_NULL;
    snprintf(name, sizeof name, "%s.%d.%d", t->path, t->rank, work->number);
    OK(t, MPI_File_open(MPI_COMM_SELF, name,
                        MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &file));
    view_ints(t, file, 0);
    for (int i = 0; i < 50; i++) {
        const int value = 1000 * work->number + i;
        int found = -1;
        OK(t, MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
        OK(t, MPI_File_read_at(file, i, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
        EQUAL(t, found, value);
    }
    OK(t, MPI_File_close(&file));
    return NULL;
}

static void threads_have_files(Test* t) {
    int provided = MPI_THREAD_SINGLE;
    pthread_t threads[kThreads];
    ThreadWork* const works = calloc(kThreads, sizeof *works);
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        unavailable(t, "this MPI does not provide MPI_THREAD_MULTIPLE");
        free(works);
        return;
    }
    for (int i = 0; i < kThreads; i++) {
        works[i].test = *t;
        works[i].number = i;
        pthread_create(&threads[i], NULL, write_and_read, &works[i]);
    }
    for (int i = 0; i < kThreads; i++) {
        pthread_join(threads[i], NULL);
        CHECK(t, !works[i].test.is_wrong, "thread %d: %s", i, works[i].test.message);
    }
    free(works);
}

static int use_file_in_callback(MPI_Comm comm, int key, void* value, void* extra) {
    Test* const t = value;
    (void)comm, (void)key, (void)extra;
    MPI_File file = open_new(t);
    check_use(t, file);
    close_file(t, &file);
    return MPI_SUCCESS;
}

static void works_in_attribute_callback(Test* t) {
    MPI_Comm comm;
    int key;
    MPI_Comm_dup(t->comm, &comm);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, use_file_in_callback, &key, NULL);
    MPI_Comm_set_attr(comm, key, t);
    MPI_Comm_free_keyval(&key);
    OK(t, MPI_Comm_free(&comm));
}

/* Opens, writes and reads a file. The frame calls this rule from MPI_Finalize. */
static void works_in_finalize(Test* t) {
    int found = -1;
    MPI_File file = open_new(t);
    OK(t, MPI_File_write_at_all(file, 4 * t->rank, &t->rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    settle(t, file);
    OK(t, MPI_File_read_at_all(file, 4 * t->rank, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found, t->rank);
    close_file(t, &file);
}

/* clang-format off */
RULES(kHandleRules, {
    {"19.3.4", "fortran-handle", "MPI_File_c2f and MPI_File_f2c convert a handle to an integer and back", "c2f f2c", converts_to_fortran, 1, kUsual, NULL},
    {"19.3.4", "fortran-handles", "files open at once have different Fortran handles", "c2f f2c open close", fortran_numbers_differ, 1, kUsual, NULL},
    {"20 (5.0)", "int-handle", "MPI_File_toint and MPI_File_fromint convert a handle to an integer and back (MPI-5.0)", "toint fromint", converts_to_int, 1, kUsual, NULL},
    {"14.2.2", "open-often", "a file may be opened and closed again and again", "open close delete", opens_often, 1, kUsual, NULL},
    {"14.2.2", "open-very-often", "a file may be opened and closed 100000 times", "open close delete", opens_very_often, 1, kLong, NULL},
    {"14.2.1", "open-many", "many handles may be open at once, each with its own view and pointer", "open set_view seek get_position close", opens_many_at_once, 1, kUsual, NULL},
    {"11.6", "threads", "threads may use files of their own at once under MPI_THREAD_MULTIPLE", "open write read_at close", threads_have_files, 1, kUsual, NULL},
    {"7.7", "attribute-callback", "file routines work in a communicator's delete callback", "open write_at read_at close", works_in_attribute_callback, 1, kUsual, NULL},
    {"11.2.4", "finalize-callback", "file routines work in the callbacks of MPI_Finalize on MPI_COMM_SELF", "open write_at_all read_at_all close", works_in_finalize, 1, kAtFinalize, NULL},
});
/* clang-format on */
