// SPDX-License-Identifier: BSD-3-Clause
/* MPI-4.1, 14.4.1, 14.6.3 and 14.6.5: nonblocking data access and its requests. */
#include <stdlib.h>
#include <time.h>

#include "conformance.h"

enum { kMany = 12, kHundreds = 300 };

/* Starts kMany writes of one int per rank. The ints of the ranks are interleaved. */
static void start_writes(Test* t, MPI_File file, int* values, MPI_Request* requests) {
    for (int i = 0; i < kMany; i++) {
        const int place = i * t->size + t->rank;
        values[i] = place;
        requests[i] = MPI_REQUEST_NULL;
        OK(t,
           MPI_File_iwrite_at(file, 4 * (MPI_Offset)place, &values[i], 1, MPI_INT, &requests[i]));
    }
}

static void close_and_check(Test* t, MPI_File* file, int count) {
    int* const expected = malloc((size_t)count * sizeof(int));
    close_file(t, file);
    for (int i = 0; i < count; i++) {
        expected[i] = i;
    }
    check_stored(t, t->path, expected, count);
    free(expected);
}

static void waits_backwards(Test* t) {
    int values[kMany];
    MPI_Request requests[kMany];
    MPI_Status status;
    MPI_File file = open_new(t);
    start_writes(t, file, values, requests);
    for (int i = kMany; i-- > 0;) {
        if (OK(t, MPI_Wait(&requests[i], &status)) && requests[i] == MPI_REQUEST_NULL) {
            check_count(t, &status, MPI_INT, 1);
        }
        CHECK(t, requests[i] == MPI_REQUEST_NULL, "the request is not null after MPI_Wait");
    }
    close_and_check(t, &file, kMany * t->size);
}

static void completes_by_test(Test* t) {
    int values[kMany];
    MPI_Request requests[kMany];
    MPI_Status status;
    MPI_File file = open_new(t);
    start_writes(t, file, values, requests);
    for (int i = 0; i < kMany; i++) {
        int flag = 0;
        while (!flag && OK(t, MPI_Test(&requests[i], &flag, &status))) {
        }
        check_count(t, &status, MPI_INT, 1);
    }
    close_and_check(t, &file, kMany * t->size);
}

static void completes_by_waitall(Test* t) {
    int values[kMany];
    MPI_Request requests[kMany];
    MPI_Status statuses[kMany];
    MPI_File file = open_new(t);
    start_writes(t, file, values, requests);
    if (OK(t, MPI_Waitall(kMany, requests, statuses))) {
        for (int i = 0; i < kMany; i++) {
            check_count(t, &statuses[i], MPI_INT, 1);
        }
    }
    close_and_check(t, &file, kMany * t->size);
}

static void completes_by_waitany(Test* t) {
    int values[kMany];
    int times[kMany] = {0};
    MPI_Request requests[kMany];
    MPI_Status status;
    MPI_File file = open_new(t);
    start_writes(t, file, values, requests);
    for (int i = 0; i < kMany; i++) {
        int index = MPI_UNDEFINED;
        OK(t, MPI_Waitany(kMany, requests, &index, &status));
        CHECK(t, index >= 0 && index < kMany, "MPI_Waitany returns index %d", index);
        if (index >= 0 && index < kMany) {
            CHECK(t, ++times[index] == 1, "request %d completes twice", index);
            check_count(t, &status, MPI_INT, 1);
        }
    }
    close_and_check(t, &file, kMany * t->size);
}

static void completes_by_some(Test* t) {
    int values[kMany];
    int indices[kMany];
    MPI_Request requests[kMany];
    MPI_Status statuses[kMany];
    MPI_File file = open_new(t);
    start_writes(t, file, values, requests);
    for (int done = 0, turn = 0; done < kMany && !t->is_wrong; turn++) {
        int count = 0;
        if (turn % 2) {
            OK(t, MPI_Testsome(kMany, requests, &count, indices, statuses));
        } else {
            OK(t, MPI_Waitsome(kMany, requests, &count, indices, statuses));
        }
        CHECK(t, count >= 0 && done + count <= kMany, "a call completes %d requests", count);
        for (int i = 0; i < count; i++) {
            check_count(t, &statuses[i], MPI_INT, 1);
        }
        done += count;
    }
    close_and_check(t, &file, kMany * t->size);
}

/* Completes accesses by MPI_Testany and MPI_Testall, many times, because the accesses may have
 * advanced differently each time. */
static void completes_by_testall(Test* t) {
    int values[kMany];
    MPI_Request requests[kMany];
    MPI_File file = open_new(t);
    for (int turn = 0; turn < 50; turn++) {
        int flag = 0;
        int index;
        start_writes(t, file, values, requests);
        while (!flag && OK(t, MPI_Testany(kMany / 2, requests, &index, &flag, MPI_STATUS_IGNORE))) {
        }
        flag = 0;
        while (!flag && OK(t, MPI_Testall(kMany, requests, &flag, MPI_STATUSES_IGNORE))) {
        }
        MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE);
    }
    close_and_check(t, &file, kMany * t->size);
}

static void tells_status_before_wait(Test* t) {
    int found[4] = {0};
    int flag = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    make_file(t, t->path, 4, 3, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    OK(t, MPI_File_iread_at(file, 0, found, 4, MPI_INT, &request));
    while (!flag && OK(t, MPI_Request_get_status(request, &flag, &status))) {
    }
    check_count(t, &status, MPI_INT, 4);
    EQUAL(t, found[3], 6);
    OK(t, MPI_Wait(&request, &status));
    check_count(t, &status, MPI_INT, 4);
    close_file(t, &file);
}

static void keeps_hundreds(Test* t) {
    static int values[kHundreds];
    static int found[kHundreds];
    static MPI_Request requests[kHundreds];
    MPI_File file = open_new(t);
    for (int i = 0; i < kHundreds; i++) {
        const MPI_Offset place = 4 * ((MPI_Offset)i * t->size + t->rank);
        values[i] = i * t->size + t->rank;
        requests[i] = MPI_REQUEST_NULL;
        OK(t, MPI_File_iwrite_at(file, place, &values[i], 1, MPI_INT, &requests[i]));
    }
    OK(t, MPI_Waitall(kHundreds, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < kHundreds; i++) {
        const MPI_Offset place = 4 * ((MPI_Offset)i * t->size + t->rank);
        found[i] = -1;
        OK(t, MPI_File_iread_at(file, place, &found[i], 1, MPI_INT, &requests[i]));
    }
    OK(t, MPI_Waitall(kHundreds, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < kHundreds; i++) {
        EQUAL(t, found[i], values[i]);
    }
    close_and_check(t, &file, kHundreds * t->size);
}

static void mixes_with_messages(Test* t) {
    const int next = (t->rank + 1) % t->size;
    const int before = (t->rank + t->size - 1) % t->size;
    int sent = t->rank;
    int received = -1;
    int value = t->rank;
    MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                               MPI_REQUEST_NULL};
    MPI_File file = open_new(t);
    MPI_Irecv(&received, 1, MPI_INT, before, 3, t->comm, &requests[0]);
    OK(t, MPI_File_iwrite_at(file, 4 * t->rank, &value, 1, MPI_INT, &requests[1]));
    MPI_Isend(&sent, 1, MPI_INT, next, 3, t->comm, &requests[2]);
    OK(t, MPI_File_iwrite_at_all(file, 4 * (t->size + t->rank), &value, 1, MPI_INT, &requests[3]));
    OK(t, MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    EQUAL(t, received, before);
    close_file(t, &file);
}

static void pointer_moves_at_start(Test* t) {
    int values[2] = {2 * t->rank, 2 * t->rank + 1};
    int found[2] = {-1, -1};
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_File file = open_new(t);
    view_ints(t, file, 8 * t->rank);
    OK(t, MPI_File_iwrite(file, &values[0], 1, MPI_INT, &requests[0]));
    check_position(t, file, 1);
    OK(t, MPI_File_iwrite(file, &values[1], 1, MPI_INT, &requests[1]));
    check_position(t, file, 2);
    OK(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(t, MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(t, MPI_File_iread(file, &found[0], 1, MPI_INT, &requests[0]));
    check_position(t, file, 1);
    OK(t, MPI_File_iread_all(file, &found[1], 1, MPI_INT, &requests[1]));
    check_position(t, file, 2);
    OK(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    EQUAL(t, found[0], values[0]);
    EQUAL(t, found[1], values[1]);
    close_and_check(t, &file, 2 * t->size);
}

/* Frees the request of an access, which must then complete without a further call that waits for
 * it. */
static void request_may_be_freed(Test* t) {
    const int value = 77 + t->rank;
    int found = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_File file = open_new(t);
    OK(t, MPI_File_iwrite_at(file, 4 * t->rank, &value, 1, MPI_INT, &request));
    if (request != MPI_REQUEST_NULL) {
        OK(t, MPI_Request_free(&request));
    }
    const time_t end = time(NULL) + 8;
    while (found != value && time(NULL) < end && !t->is_wrong) {
        OK(t, MPI_File_read_at(file, 4 * t->rank, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    }
    EQUAL(t, found, value);
    close_file(t, &file);
}

static void type_may_be_freed(Test* t) {
    int memory[6] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype pairs = block_of(MPI_INT, 2, 3);
    make_file(t, t->path, 4, 5, 1);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    OK(t, MPI_File_iread_at(file, 0, memory, 2, pairs, &request));
    MPI_Type_free(&pairs);
    OK(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(t, memory[1], 6);
    EQUAL(t, memory[2], 0);
    EQUAL(t, memory[4], 8);
    close_file(t, &file);
}

static void several_collectives(Test* t) {
    int values[kMany];
    MPI_Request requests[kMany];
    MPI_File file = open_new(t);
    view_ints(t, file, 0);
    for (int i = 0; i < kMany; i++) {
        values[i] = i * t->size + t->rank;
        requests[i] = MPI_REQUEST_NULL;
        OK(t, MPI_File_iwrite_at_all(file, values[i], &values[i], 1, MPI_INT, &requests[i]));
    }
    for (int i = 0; i < kMany; i++) {
        const int index = t->rank % 2 ? i : kMany - 1 - i;
        OK(t, MPI_Wait(&requests[index], MPI_STATUS_IGNORE));
    }
    close_and_check(t, &file, kMany * t->size);
}

static void start_needs_no_partner(Test* t) {
    const int value = t->rank;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_File file = open_new(t);
    if (t->rank != 0) {
        MPI_Recv(NULL, 0, MPI_INT, t->rank - 1, 8, t->comm, MPI_STATUS_IGNORE);
    }
    OK(t, MPI_File_iwrite_at_all(file, 4 * t->rank, &value, 1, MPI_INT, &request));
    if (t->rank + 1 < t->size) {
        MPI_Send(NULL, 0, MPI_INT, t->rank + 1, 8, t->comm);
    }
    OK(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    close_and_check(t, &file, t->size);
}

static void handles_in_any_order(Test* t) {
    const int value = t->rank;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_File files[2] = {open_new(t), open_mode(t, t->other, MPI_MODE_CREATE | MPI_MODE_RDWR)};
    for (int i = 0; i < 2; i++) {
        const int which = (i + t->rank) % 2;
        OK(t,
           MPI_File_iwrite_at_all(files[which], 4 * t->rank, &value, 1, MPI_INT, &requests[which]));
    }
    OK(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    close_file(t, &files[1]);
    close_and_check(t, &files[0], t->size);
}

static void refused_start_is_told(Test* t) {
    int value = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    make_file(t, t->path, 1, 7, 0);
    MPI_File file = open_mode(t, t->path, MPI_MODE_RDONLY);
    int code = MPI_File_iwrite_at(file, 0, &value, 1, MPI_INT, &request);
    if (code == MPI_SUCCESS) {
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    FAILS(t, code);
    close_file(t, &file);
}

/* clang-format off */
RULES(kNonblockingRules, {
    {"14.4.1", "wait-backwards", "nonblocking accesses may be waited for in any order; the status has the count", "iwrite_at", waits_backwards, 1, kUsual, NULL},
    {"14.4.1", "wait-by-test", "MPI_Test completes a nonblocking access and returns its count", "iwrite_at", completes_by_test, 1, kUsual, NULL},
    {"14.4.1", "wait-all", "MPI_Waitall returns a status for each access", "iwrite_at", completes_by_waitall, 1, kUsual, NULL},
    {"14.4.1", "wait-any", "MPI_Waitany returns each access once", "iwrite_at", completes_by_waitany, 1, kUsual, NULL},
    {"14.4.1", "wait-some", "MPI_Waitsome and MPI_Testsome complete nonblocking accesses", "iwrite_at", completes_by_some, 1, kUsual, NULL},
    {"14.4.1", "wait-testall", "MPI_Testany and MPI_Testall complete nonblocking accesses", "iwrite_at", completes_by_testall, 1, kUsual, NULL},
    {"14.4.1", "wait-get-status", "MPI_Request_get_status reports completion and keeps the request", "iread_at", tells_status_before_wait, 1, kUsual, NULL},
    {"14.4.1", "hundreds-outstanding", "hundreds of accesses may be outstanding on a handle", "iwrite_at iread_at", keeps_hundreds, 1, kUsual, NULL},
    {"14.4.1", "wait-with-messages", "file and message requests may be waited for together", "iwrite_at iwrite_at_all", mixes_with_messages, 1, kUsual, NULL},
    {"14.4.3", "pointer-at-start", "a nonblocking access has moved the individual pointer when it returns", "iwrite iread iread_all get_position", pointer_moves_at_start, 1, kUsual, NULL},
    {"14.6.3", "request-freed", "an access completes although its request has been freed", "iwrite_at read_at", request_may_be_freed, 1, kUsual, NULL},
    {"14.4.1", "type-freed-early", "a datatype may be freed while an access uses it", "iread_at", type_may_be_freed, 1, kUsual, NULL},
    {"14.6.5", "collectives-outstanding", "several nonblocking collectives may be outstanding and be waited for in any order", "iwrite_at_all", several_collectives, 1, kUsual, NULL},
    {"14.6.5", "collective-start-alone", "a nonblocking collective returns before others have started it", "iwrite_at_all", start_needs_no_partner, 1, kUsual, NULL},
    {"14.6.5", "collective-handles", "nonblocking collectives on two handles may be started in different orders", "iwrite_at_all", handles_in_any_order, 1, kUsual, NULL},
    {"14.7", "nonblocking-error", "an access that can't be done fails at its start or in MPI_Wait", "iwrite_at", refused_start_is_told, 1, kUsual, NULL},
});
/* clang-format on */
