// SPDX-License-Identifier: BSD-3-Clause
/* MPI-4.1, 14.2.1 to 14.2.3: open, close, delete. */
#include <stdio.h>

#include "conformance.h"

enum { kNewFile = MPI_MODE_CREATE | MPI_MODE_RDWR };

static void creates(Test* t) {
    MPI_File file = open_new(t);
    EQUAL(t, file_size(t, file), 0);
    close_file(t, &file);
    file = open_mode(t, t->path, MPI_MODE_RDONLY);
    close_file(t, &file);
}

static void keeps_contents(Test* t) {
    const int expected[3] = {7, 8, 9};
    make_file(t, t->path, 3, 7, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_CREATE | MPI_MODE_WRONLY);
    EQUAL(t, file_size(t, file), 12);
    close_file(t, &file);
    check_stored(t, t->path, expected, 3);
}

static void excl_refuses_existing(Test* t) {
    MPI_File file = MPI_FILE_NULL;
    make_file(t, t->path, 1, 7, 0);
    FAILS_AS(t, MPI_File_open(t->comm, t->path, kNewFile | MPI_MODE_EXCL, MPI_INFO_NULL, &file),
             MPI_ERR_FILE_EXISTS);
}

static void excl_creates(Test* t) {
    MPI_File file = open_mode(t, t->path, kNewFile | MPI_MODE_EXCL);
    close_file(t, &file);
}

static void missing_is_refused(Test* t) {
    const int modes[] = {MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR};
    for (int i = 0; i < 3; i++) {
        MPI_File file = MPI_FILE_NULL;
        FAILS_AS(t, MPI_File_open(t->comm, t->path, modes[i], MPI_INFO_NULL, &file),
                 MPI_ERR_NO_SUCH_FILE);
    }
}

static void refuse_mode(Test* t, int amode) {
    MPI_File file = MPI_FILE_NULL;
    make_file(t, t->path, 1, 7, 0);
    FAILS_AS(t, MPI_File_open(t->comm, t->path, amode, MPI_INFO_NULL, &file), MPI_ERR_AMODE);
    if (file != MPI_FILE_NULL && !t->is_wrong) {
        MPI_File_close(&file);
    }
}

static void needs_a_mode(Test* t) {
    refuse_mode(t, MPI_MODE_CREATE);
}
static void two_modes(Test* t) {
    refuse_mode(t, MPI_MODE_RDONLY | MPI_MODE_WRONLY);
}
static void two_modes_more(Test* t) {
    refuse_mode(t, MPI_MODE_RDWR | MPI_MODE_WRONLY);
}
static void create_rdonly(Test* t) {
    refuse_mode(t, MPI_MODE_CREATE | MPI_MODE_RDONLY);
}
static void excl_rdonly(Test* t) {
    refuse_mode(t, MPI_MODE_EXCL | MPI_MODE_RDONLY);
}
static void sequential_rdwr(Test* t) {
    refuse_mode(t, MPI_MODE_SEQUENTIAL | MPI_MODE_RDWR);
}

static void opens_on_self(Test* t) {
    char name[kPathBytes + 16];
    MPI_File file = MPI_FILE_NULL;
    int found = -1;
    /* The name of each rank's file ends with its rank. The frame would not remove a file of such a
     * name, so the file is deleted on close. */
    const int mode = kNewFile | MPI_MODE_DELETE_ON_CLOSE;
    snprintf(name, sizeof name, "%s.%d", t->path, t->rank);
    OK(t, MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &file));
    OK(t, MPI_File_write_at_all(file, 0, &t->rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(t, MPI_File_read_at_all(file, 0, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found, t->rank);
    OK(t, MPI_File_close(&file));
}

static void opens_on_subcommunicators(Test* t) {
    MPI_Comm half;
    MPI_File file = MPI_FILE_NULL;
    int rank;
    int size;
    int values[64] = {0};
    MPI_Comm_split(t->comm, t->rank % 2, t->rank, &half);
    MPI_Comm_rank(half, &rank);
    MPI_Comm_size(half, &size);
    const char* const path = t->rank % 2 ? t->other : t->path;
    OK(t, MPI_File_open(half, path, kNewFile, MPI_INFO_NULL, &file));
    OK(t, MPI_File_write_at_all(file, 4 * rank, &t->rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    const int count = size < 64 ? size : 64;
    OK(t, MPI_File_sync(file));
    MPI_Barrier(half);
    OK(t, MPI_File_sync(file));
    OK(t, MPI_File_read_at_all(file, 0, values, count, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < count; i++) {
        EQUAL(t, values[i], 2 * i + t->rank % 2);
    }
    OK(t, MPI_File_close(&file));
    MPI_Comm_free(&half);
    MPI_Barrier(t->comm);
}

static void opens_twice(Test* t) {
    int first = -1;
    int second = -1;
    make_file(t, t->path, 8, 0, 1);
    MPI_File one = open_mode(t, t->path, MPI_MODE_RDONLY);
    MPI_File two = open_mode(t, t->path, MPI_MODE_RDONLY);
    OK(t, MPI_File_seek(one, 12, MPI_SEEK_SET));
    OK(t, MPI_File_read(two, &second, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(t, MPI_File_read(one, &first, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, first, 3);
    EQUAL(t, second, 0);
    close_file(t, &one);
    close_file(t, &two);
}

static void refuses_intercommunicator(Test* t) {
    MPI_Comm half;
    MPI_Comm inter;
    MPI_File file = MPI_FILE_NULL;
    MPI_Comm_split(t->comm, t->rank % 2, t->rank, &half);
    MPI_Intercomm_create(half, 0, t->comm, t->rank % 2 ? 0 : 1, 0, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    FAILS(t, MPI_File_open(inter, t->path, kNewFile, MPI_INFO_NULL, &file));
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void leaves_comm_alone(Test* t) {
    int sent = t->rank;
    int received = -1;
    MPI_Request request;
    MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, t->comm, &request);
    MPI_File file = open_new(t);
    OK(t, MPI_File_write_at_all(file, 4 * t->rank, &sent, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(t, MPI_File_set_size(file, 4 * t->size));
    OK(t, MPI_File_close(&file));
    MPI_Send(&sent, 1, MPI_INT, (t->rank + 1) % t->size, 5, t->comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EQUAL(t, received, (t->rank + t->size - 1) % t->size);
}

static void append_starts_at_end(Test* t) {
    const int expected[4] = {0, 1, 2, 99};
    const int value = 99;
    make_file(t, t->path, 3, 0, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_WRONLY | MPI_MODE_APPEND);
    check_position(t, file, 12);
    MPI_Barrier(t->comm);
    if (t->rank == 0) {
        OK(t, MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    }
    close_file(t, &file);
    check_stored(t, t->path, expected, 4);
}

static void unique_open_works(Test* t) {
    int found = -1;
    make_file(t, t->path, 1, 5, 0);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDWR | MPI_MODE_UNIQUE_OPEN);
    OK(t, MPI_File_read_at_all(file, 0, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(t, found, 5);
    close_file(t, &file);
}

static void close_nulls(Test* t) {
    MPI_File file = open_new(t);
    close_file(t, &file);
    CHECK(t, file == MPI_FILE_NULL, "the handle is not MPI_FILE_NULL after MPI_File_close");
}

static void close_stores(Test* t) {
    const int expected[3] = {1, 2, 3};
    MPI_File file = open_new(t);
    if (t->rank == t->size - 1) {
        OK(t, MPI_File_write(file, expected, 3, MPI_INT, MPI_STATUS_IGNORE));
    }
    close_file(t, &file);
    check_stored(t, t->path, expected, 3);
}

static void deletes_on_close(Test* t) {
    MPI_File file = open_mode(t, t->path, kNewFile | MPI_MODE_DELETE_ON_CLOSE);
    OK(t, MPI_File_write_at(file, 4 * t->rank, &t->rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    close_file(t, &file);
    FAILS_AS(t, MPI_File_open(t->comm, t->path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
             MPI_ERR_NO_SUCH_FILE);
}

static void deletes(Test* t) {
    MPI_File file = MPI_FILE_NULL;
    make_file(t, t->path, 3, 0, 1);
    if (t->rank == 0) {
        OK(t, MPI_File_delete(t->path, MPI_INFO_NULL));
    }
    MPI_Barrier(t->comm);
    FAILS_AS(t, MPI_File_open(t->comm, t->path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
             MPI_ERR_NO_SUCH_FILE);
}

static void delete_tells_of_missing(Test* t) {
    FAILS_AS(t, MPI_File_delete(t->path, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
}

/* clang-format off */
RULES(kOpenRules, {
    {"14.2.1", "open-creates", "MPI_MODE_CREATE makes a file of size 0 if there is none", "open close get_size", creates, 1, kUsual, NULL},
    {"14.2.1", "open-keeps", "opening with MPI_MODE_CREATE keeps the contents of an existing file", "open", keeps_contents, 1, kUsual, NULL},
    {"14.2.1", "open-excl-existing", "MPI_MODE_EXCL refuses an existing file: MPI_ERR_FILE_EXISTS", "open", excl_refuses_existing, 1, kUsual, NULL},
    {"14.2.1", "open-excl-new", "MPI_MODE_EXCL creates a file on all ranks if there is none", "open", excl_creates, 1, kUsual, NULL},
    {"14.2.1", "open-missing", "without MPI_MODE_CREATE, opening a missing file fails with MPI_ERR_NO_SUCH_FILE on every rank", "open", missing_is_refused, 1, kUsual, NULL},
    {"14.2.1", "amode-none", "an access mode without RDONLY, RDWR or WRONLY fails with MPI_ERR_AMODE", "open", needs_a_mode, 1, kUsual, NULL},
    {"14.2.1", "amode-two", "RDONLY with WRONLY fails with MPI_ERR_AMODE", "open", two_modes, 1, kUsual, NULL},
    {"14.2.1", "amode-two-more", "RDWR with WRONLY fails with MPI_ERR_AMODE", "open", two_modes_more, 1, kUsual, NULL},
    {"14.2.1", "amode-create-rdonly", "CREATE with RDONLY fails with MPI_ERR_AMODE", "open", create_rdonly, 1, kUsual, NULL},
    {"14.2.1", "amode-excl-rdonly", "EXCL with RDONLY fails with MPI_ERR_AMODE", "open", excl_rdonly, 1, kUsual, NULL},
    {"14.2.1", "amode-sequential-rdwr", "SEQUENTIAL with RDWR fails with MPI_ERR_AMODE", "open", sequential_rdwr, 1, kUsual, NULL},
    {"14.2.1", "open-self", "each rank may open a file of its own on MPI_COMM_SELF", "open write_at_all read_at_all", opens_on_self, 1, kUsual, NULL},
    {"14.2.1", "open-subcomm", "parts of a communicator may open different files at once", "open write_at_all sync", opens_on_subcommunicators, 2, kUsual, NULL},
    {"14.2.1", "open-twice", "a file opened twice has two handles with pointers of their own", "open seek read", opens_twice, 1, kUsual, NULL},
    {"14.2.1", "open-intercomm", "an intercommunicator is refused", "open", refuses_intercommunicator, 2, kUsual, NULL},
    {"14.2.1", "open-comm-messages", "file operations do not interfere with messages on the communicator of the open", "open write_at_all set_size close", leaves_comm_alone, 2, kUsual, NULL},
    {"14.2.1", "open-append", "MPI_MODE_APPEND sets the file pointers to the end of the file", "open get_position write", append_starts_at_end, 1, kUsual, NULL},
    {"14.2.1", "open-unique", "MPI_MODE_UNIQUE_OPEN opens a file that is not open elsewhere", "open", unique_open_works, 1, kUsual, NULL},
    {"14.2.2", "close-null", "MPI_File_close sets the handle to MPI_FILE_NULL", "close", close_nulls, 1, kUsual, NULL},
    {"14.2.2", "close-stores", "a later open finds the data that was written before MPI_File_close", "close write", close_stores, 1, kUsual, NULL},
    {"14.2.2", "close-deletes", "MPI_MODE_DELETE_ON_CLOSE deletes the file when it is closed", "open close", deletes_on_close, 1, kUsual, NULL},
    {"14.2.3", "delete", "MPI_File_delete deletes the file", "delete", deletes, 1, kUsual, NULL},
    {"14.2.3", "delete-missing", "MPI_File_delete of a missing file fails with MPI_ERR_NO_SUCH_FILE", "delete", delete_tells_of_missing, 1, kUsual, NULL},
});
/* clang-format on */
