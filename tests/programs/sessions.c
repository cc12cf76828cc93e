// SPDX-License-Identifier: BSD-3-Clause
/* Files of MPI sessions, and files that are closed late. usage: sessions FOLDER HOW
 *
 *   session    two sessions, one after the other, and no MPI_Init
 *   bare       the same without a file
 *   late       one session, and threads that begin after it has ended
 *   overlap    one session ends while a file of another has a write under way
 *   one        one of two sessions ends: on rank 0 before a file is opened in the other session, on
 *              the other ranks after that
 *   beside     a session outlasts MPI_Finalize; its file is written again and closed after that
 *   finalize   a file is closed inside MPI_Finalize, as libraries do
 *   open       a file is never closed
 *
 * Each rank writes its number at its own place in the file.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LATE_US = 300000 };
static int threads_begin_late = 0;

struct beginning {
    void* (*body)(void*);
    void* argument;
};

static void* begin_late(void* state) {
    const struct beginning begun = *(struct beginning*)state;
    free(state);
    usleep(LATE_US);
    return begun.body(begun.argument);
}

/* Takes precedence over pthread_create of the C library, to make threads begin late. */
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
    typedef int (*call)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    const call create = (call)dlsym(RTLD_NEXT, "pthread_create");
    if (!threads_begin_late) return create(thread, attributes, body, argument);
    struct beginning* state = malloc(sizeof *state);
    state->body = body;
    state->argument = argument;
    return create(thread, attributes, begin_late, state);
}

static void require(int holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "failed: %s\n", what);
    exit(1);
}

static MPI_File file = MPI_FILE_NULL;

static void write_number(int rank) {
    MPI_Request request;
    const MPI_Offset place = (MPI_Offset)rank * (MPI_Offset)sizeof rank;
    require(MPI_File_iwrite_at_all(file, place, &rank, 1, MPI_INT, &request) == MPI_SUCCESS,
            "write");
    require(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "wait");
}

static void open_and_write(MPI_Comm comm, const char* folder) {
    char path[4096];
    int rank, found = -1;
    MPI_Comm_rank(comm, &rank);
    snprintf(path, sizeof path, "%s/numbers.dat", folder);
    require(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
                MPI_SUCCESS,
            "open");
    write_number(rank);
    const MPI_Offset place = (MPI_Offset)rank * (MPI_Offset)sizeof rank;
    require(MPI_File_read_at_all(file, place, &found, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
            "read");
    require(found == rank, "comparing");
}

/* Prints where this rank is. If a test hangs, the output shows which rank waits there. */
static void tell(int rank, const char* what) {
    printf("rank %d %s MPI_Comm_create_from_group\n", rank, what);
    fflush(stdout);
}

static MPI_Comm open_session(MPI_Session* session) {
    MPI_Group group;
    MPI_Comm comm;
    int rank;
    require(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session) == MPI_SUCCESS,
            "session");
    require(MPI_Group_from_session_pset(*session, "mpi://WORLD", &group) == MPI_SUCCESS, "group");
    MPI_Group_rank(group, &rank);
    tell(rank, "enters");
    require(MPI_Comm_create_from_group(group, "oratorio.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                       &comm) == MPI_SUCCESS,
            "communicator");
    tell(rank, "leaves");
    MPI_Group_free(&group);
    return comm;
}

static void close_session(MPI_Session* session, MPI_Comm* comm) {
    if (file != MPI_FILE_NULL) require(MPI_File_close(&file) == MPI_SUCCESS, "close");
    MPI_Comm_free(comm);
    require(MPI_Session_finalize(session) == MPI_SUCCESS, "end of the session");
}

/* Counts the threads with the program's name: the program's own and Oratorio's. The MPI library
 * gives its threads other names. */
static int threads_of_ours(void) {
    char path[512], name[64], mine[64] = "";
    int count = 0;
    FILE* comm = fopen("/proc/self/comm", "r");
    require(comm != NULL && fgets(mine, sizeof mine, comm) != NULL, "own name");
    fclose(comm);
    DIR* tasks = opendir("/proc/self/task");
    require(tasks != NULL, "threads");
    for (struct dirent* task = readdir(tasks); task != NULL; task = readdir(tasks)) {
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        if ((comm = fopen(path, "r")) == NULL) continue;
        if (fgets(name, sizeof name, comm) != NULL && strcmp(name, mine) == 0) ++count;
        fclose(comm);
    }
    closedir(tasks);
    return count;
}

enum { LONG = 4 << 20 };

/* Ends one session while a file of the other has a write under way. Both sessions begin before the
 * write, because the write starts our thread, and with a thread MPICH 5.0.2 often waits forever
 * when a session begins. */
static void end_one_beside_a_write(const char* folder) {
    char path[4096];
    int rank, count = -1;
    MPI_Session lasting, ending;
    MPI_Comm comm = open_session(&lasting), other = open_session(&ending);
    MPI_File large;
    MPI_Request request;
    MPI_Status status;
    unsigned char* bytes = malloc(LONG);
    MPI_Comm_rank(comm, &rank);
    memset(bytes, 'a' + rank, LONG);
    snprintf(path, sizeof path, "%s/letters.dat", folder);
    require(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &large) ==
                MPI_SUCCESS,
            "open");
    open_and_write(other, folder);
    require(MPI_File_iwrite_at_all(large, (MPI_Offset)rank * LONG, bytes, LONG, MPI_BYTE,
                                   &request) == MPI_SUCCESS,
            "write");
    close_session(&ending, &other);
    require(MPI_Wait(&request, &status) == MPI_SUCCESS, "wait");
    MPI_Get_count(&status, MPI_BYTE, &count);
    require(count == LONG, "count");
    require(MPI_File_close(&large) == MPI_SUCCESS, "close");
    close_session(&lasting, &comm);
    free(bytes);
}

/* Opens files of a session on which another session has ended on rank 0 only. Ending a session that
 * isn't the last doesn't wait for other ranks. */
static void end_one_on_one_rank(const char* folder) {
    int rank;
    MPI_Session lasting, ending;
    MPI_Comm comm = open_session(&lasting), other = open_session(&ending);
    MPI_Comm_rank(comm, &rank);
    open_and_write(comm, folder);
    require(MPI_File_close(&file) == MPI_SUCCESS, "close");
    MPI_Comm_free(&other);
    if (rank == 0) require(MPI_Session_finalize(&ending) == MPI_SUCCESS, "end of the first");
    open_and_write(comm, folder);
    if (rank != 0) require(MPI_Session_finalize(&ending) == MPI_SUCCESS, "end of the first");
    close_session(&lasting, &comm);
}

static int close_late(MPI_Comm comm, int key, void* value, void* state) {
    (void)comm, (void)key, (void)value, (void)state;
    require(MPI_File_close(&file) == MPI_SUCCESS, "close");
    return MPI_SUCCESS;
}

int main(int argc, char** argv) {
    const char* how = argv[2];
    MPI_Session session;
    MPI_Comm comm = MPI_COMM_NULL;
    int key;
    if (strcmp(how, "session") == 0 || strcmp(how, "bare") == 0) {
        for (int i = 0; i < 2; ++i) {
            comm = open_session(&session);
            const int before = threads_of_ours();
            if (strcmp(how, "bare") != 0) open_and_write(comm, argv[1]);
            close_session(&session, &comm);
            /* If a thread is left, MPICH 5.0.2 often waits forever in the next session. */
            const int after = threads_of_ours();
            if (after > before) fprintf(stderr, "threads: %d before, %d after\n", before, after);
            require(after <= before, "no thread left");
        }
        return 0;
    }
    if (strcmp(how, "overlap") == 0) {
        end_one_beside_a_write(argv[1]);
        return 0;
    }
    if (strcmp(how, "one") == 0) {
        end_one_on_one_rank(argv[1]);
        return 0;
    }
    if (strcmp(how, "late") == 0) {
        comm = open_session(&session);
        threads_begin_late = 1;
        open_and_write(comm, argv[1]);
        close_session(&session, &comm);
        usleep(2 * LATE_US);
        return 0;
    }
    if (strcmp(how, "beside") == 0) comm = open_session(&session);
    MPI_Init(&argc, &argv);
    if (strcmp(how, "finalize") == 0) {
        /* The attribute is set before Oratorio opens its first file, so that Oratorio's callback
         * for the end of MPI runs before this one. */
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_late, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    }
    open_and_write(comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm, argv[1]);
    MPI_Finalize();
    if (comm == MPI_COMM_NULL) return 0;
    int rank;
    MPI_Comm_rank(comm, &rank);
    write_number(rank);
    close_session(&session, &comm);
    return 0;
}
