// SPDX-License-Identifier: BSD-3-Clause
/* Shows what is lost if ranks write to one file through clients that know nothing of the other
 * clients' caches.
 *
 * usage: clients_loss FOLDER SERVER [CASE...]   FOLDER is a folder as each rank's client sees it,
 * SERVER the same folder on the server, or - if rank 0 can't see it there. Prints a line "CASE: W
 * wrong of N" per case; exits with 1 if anything is wrong. Every case writes ints that encode their
 * place and their round. Every rank checks them after each round, in cases without atomic mode
 * after sync, barrier and sync; rank 0 checks them on the server after the close. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients_common.h"

enum { kInts = 2400, kRounds = 2 };

static int value(int place, int round) {
    return (round + 1) * 1000003 + place;
}

/* A way to write all ranks' ints. An int that belongs to no rank is a hole: it keeps the value that
 * it had before the rounds of writes. */
typedef struct Case Case;
struct Case {
    const char* name;
    int block; /* number of consecutive ints that belong to one rank */
    int keeps; /* if not 0, the last of every ranks + 1 blocks is a hole */
    void (*write)(const Case* one, MPI_File file, const int* mine, int count);
    int atomic;
};

/* Returns the rank that writes an int, or -1 if the int is a hole. */
static int owner(const Case* one, int place) {
    const int block = place / one->block, turn = ranks + (one->keeps ? 1 : 0);
    return block % turn < ranks ? block % turn : -1;
}

static int expected(const Case* one, int place, int round) {
    return value(place, owner(one, place) < 0 ? -1 : round);
}

static void set_own_view(const Case* one, MPI_File file) {
    MPI_Datatype block, type;
    const int turn = ranks + (one->keeps ? 1 : 0);
    MPI_Type_contiguous(one->block, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)4 * one->block * turn, &type);
    MPI_Type_commit(&type);
    must(MPI_File_set_view(file, (MPI_Offset)4 * one->block * rank, MPI_INT, type, "native",
                           MPI_INFO_NULL),
         "view");
    MPI_Type_free(&type);
    MPI_Type_free(&block);
}

static void one_by_one(const Case* one, MPI_File file, const int* mine, int count) {
    for (int i = 0; i < count; i += one->block)
        must(MPI_File_write(file, mine + i, one->block, MPI_INT, MPI_STATUS_IGNORE), "write");
}

static void by_offset(const Case* one, MPI_File file, const int* mine, int count) {
    for (int i = 0; i < count; i += one->block)
        must(MPI_File_write_at(file, i, mine + i, one->block, MPI_INT, MPI_STATUS_IGNORE),
             "write_at");
}

static void all_pieces(const Case* one, MPI_File file, const int* mine, int count) {
    (void)one;
    must(MPI_File_write(file, mine, count, MPI_INT, MPI_STATUS_IGNORE), "write");
}

static void collective(const Case* one, MPI_File file, const int* mine, int count) {
    (void)one;
    must(MPI_File_write_all(file, mine, count, MPI_INT, MPI_STATUS_IGNORE), "write_all");
}

static void small_collective(const Case* one, MPI_File file, const int* mine, int count) {
    const int part = 10 * one->block;
    for (int i = 0; i < count; i += part)
        must(MPI_File_write_all(file, mine + i, i + part < count ? part : count - i, MPI_INT,
                                MPI_STATUS_IGNORE),
             "write_all");
}

static void split(const Case* one, MPI_File file, const int* mine, int count) {
    const int half = count / one->block / 2 * one->block;
    must(MPI_File_write_all_begin(file, mine, half, MPI_INT), "begin");
    must(MPI_File_write_all_end(file, mine, MPI_STATUS_IGNORE), "end");
    must(MPI_File_write_all_begin(file, mine + half, count - half, MPI_INT), "begin");
    must(MPI_File_write_all_end(file, mine + half, MPI_STATUS_IGNORE), "end");
}

static void nonblocking(const Case* one, MPI_File file, const int* mine, int count) {
    MPI_Request requests[8];
    for (int i = 0; i < count;) {
        int started = 0;
        for (; started < 8 && i < count; ++started, i += one->block)
            must(MPI_File_iwrite_at(file, i, mine + i, one->block, MPI_INT, &requests[started]),
                 "iwrite_at");
        must(MPI_Waitall(started, requests, MPI_STATUSES_IGNORE), "wait");
    }
}

static void nonblocking_all(const Case* one, MPI_File file, const int* mine, int count) {
    MPI_Request request;
    (void)one;
    must(MPI_File_iwrite_all(file, mine, count, MPI_INT, &request), "iwrite_all");
    must(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
}

static int wrong_ints(const Case* one, const int* found, int round) {
    int wrong = 0;
    for (int i = 0; i < kInts; ++i) wrong += found[i] != expected(one, i, round);
    return wrong;
}

static int open_flags(void) {
    return MPI_MODE_CREATE | MPI_MODE_RDWR;
}

static int read_on_server(const char* server, const char* name, void* data, size_t bytes) {
    char path[4096];
    memset(data, 0, bytes);
    snprintf(path, sizeof path, "%s/%s", server, name);
    const int file = open(path, O_RDONLY);
    if (file < 0) return -1;
    const ssize_t got = pread(file, data, bytes, 0);
    close(file);
    return got == (ssize_t)bytes ? 0 : -1;
}

/* Collective. Prints the result of a case on rank 0. */
static void tell(const char* name, const char* seen, int wrong, int of, double seconds) {
    int sum = 0;
    MPI_Allreduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum > 0) failed = 1;
    if (rank == 0) printf("%s%s: %d wrong of %d, %.1f ms\n", name, seen, sum, of, seconds * 1e3);
}

static void fill(MPI_File file, int* all) {
    for (int i = 0; i < kInts; ++i) all[i] = value(i, -1);
    if (rank == 0) must(MPI_File_write_at(file, 0, all, kInts, MPI_INT, MPI_STATUS_IGNORE), "fill");
    sync_all(file);
    /* After this read the data may be in the cache of every client. */
    must(MPI_File_read_at(file, 0, all, kInts, MPI_INT, MPI_STATUS_IGNORE), "read_at");
    MPI_Barrier(MPI_COMM_WORLD);
}

static int is_chosen(const char* name, char** chosen) {
    if (!*chosen) return 1;
    while (*chosen)
        if (strcmp(name, *chosen++) == 0) return 1;
    return 0;
}

static void run_case(const Case* one, const char* folder, const char* server) {
    char name[200], path[4096];
    int* all = malloc(sizeof(int) * kInts);
    int* mine = malloc(sizeof(int) * kInts);
    int wrong_seen = 0, wrong_there = 0;
    double seconds = 0;
    MPI_File file;
    snprintf(name, sizeof name, "%s.%d", one->name, one->block);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    must(MPI_File_open(MPI_COMM_WORLD, path, open_flags(), MPI_INFO_NULL, &file), "open");
    fill(file, all);
    if (one->atomic) must(MPI_File_set_atomicity(file, 1), "atomic");
    for (int round = 0; round < kRounds; ++round) {
        int count = 0;
        for (int i = 0; i < kInts; ++i)
            if (owner(one, i) == rank) mine[count++] = value(i, round);
        set_own_view(one, file);
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        one->write(one, file, mine, count);
        MPI_Barrier(MPI_COMM_WORLD);
        seconds += MPI_Wtime() - begin;
        if (!one->atomic) sync_all(file);
        must(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), "view");
        if (round % 2 == 0) {
            must(MPI_File_read_at(file, 0, all, kInts, MPI_INT, MPI_STATUS_IGNORE), "read_at");
        } else {
            must(MPI_File_read_at_all(file, 0, all, kInts, MPI_INT, MPI_STATUS_IGNORE),
                 "read_at_all");
        }
        wrong_seen += wrong_ints(one, all, round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    must(MPI_File_close(&file), "close");
    MPI_Barrier(MPI_COMM_WORLD);
    if (server && rank == 0) {
        if (read_on_server(server, name, all, sizeof(int) * kInts) != 0) wrong_there = kInts;
        wrong_there += wrong_ints(one, all, kRounds - 1);
    }
    snprintf(name, sizeof name, "%s of %d bytes", one->name, 4 * one->block);
    tell(name, ", read by every rank", wrong_seen, kInts * kRounds * ranks, seconds);
    if (server) tell(name, ", on the server", wrong_there, kInts, seconds);
    free(all);
    free(mine);
}

/* Writes records of 5 ints. The shared file pointer decides where each record is stored, but each
 * is in the file exactly once. */
static void shared_records(const char* folder, const char* server, int ordered) {
    enum { kRecords = 100, kRecord = 5 };
    char path[4096];
    const char* name = ordered ? "ordered" : "shared pointer";
    const int total = kRecords * ranks;
    int* all = malloc(sizeof(int) * kRecord * (size_t)total);
    char* times = calloc((size_t)total, 1);
    int wrong = 0;
    MPI_File file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    must(MPI_File_open(MPI_COMM_WORLD, path, open_flags(), MPI_INFO_NULL, &file), "open");
    const double begin = MPI_Wtime();
    for (int i = 0; i < kRecords; ++i) {
        int record[kRecord];
        for (int k = 0; k < kRecord; ++k) record[k] = value((i * ranks + rank) * kRecord + k, 0);
        must(ordered ? MPI_File_write_ordered(file, record, kRecord, MPI_INT, MPI_STATUS_IGNORE)
                     : MPI_File_write_shared(file, record, kRecord, MPI_INT, MPI_STATUS_IGNORE),
             "write_shared");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - begin;
    sync_all(file);
    must(MPI_File_read_at(file, 0, all, kRecord * total * 4, MPI_BYTE, MPI_STATUS_IGNORE),
         "read_at");
    must(MPI_File_close(&file), "close");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int seen = 0; seen < (server && rank == 0 ? 2 : 1); ++seen) {
        if (seen && read_on_server(server, name, all, sizeof(int) * kRecord * (size_t)total) != 0)
            wrong += total;
        memset(times, 0, (size_t)total);
        for (int i = 0; i < total; ++i) {
            const int first = all[i * kRecord] - value(0, 0);
            const int which = first >= 0 && first % kRecord == 0 ? first / kRecord : total;
            int good = which < total;
            for (int k = 0; k < kRecord && good; ++k)
                good = all[i * kRecord + k] == value(first + k, 0);
            if (good && ordered) good = which == i;
            if (good) ++times[which];
        }
        for (int i = 0; i < total; ++i) wrong += times[i] != 1;
    }
    tell(name, " of 20 bytes", wrong, total * ranks, seconds);
    free(all);
    free(times);
}

/* Prints the values on this rank if they differ. Returns 1 if they do, else 0. */
static int differs(const char* what, long long found, long long expected) {
    if (found != expected)
        fprintf(stderr, "rank %d: %s %lld instead of %lld\n", rank, what, found, expected);
    return found != expected;
}

enum { kSteps = 12, kStep = 1000, kShrunk = 1234, kGrown = 9000 };

/* Lets the ranks extend the file in turn. All ranks must see the new size, and zeros in the hole
 * before the new data. Returns the number of differences on this rank. */
static int grown_wrong(MPI_File file) {
    int wrong = 0;
    for (int step = 0; step < kSteps; ++step) {
        const MPI_Offset at = (MPI_Offset)(step + 1) * kStep - 4;
        const int number = value(step, 0);
        MPI_Offset size = -1;
        int found[kStep / 4], zeros = 0;
        if (step % ranks == rank)
            must(MPI_File_write_at(file, at, &number, 4, MPI_BYTE, MPI_STATUS_IGNORE), "write_at");
        sync_all(file);
        must(MPI_File_get_size(file, &size), "size");
        wrong += differs("size", size, at + 4);
        memset(found, 0xff, sizeof found);
        must(MPI_File_read_at(file, at + 4 - kStep, found, kStep, MPI_BYTE, MPI_STATUS_IGNORE),
             "read_at");
        for (int i = 0; i < kStep / 4 - 1; ++i) zeros += found[i] == 0;
        wrong += differs("zeros", zeros, kStep / 4 - 1);
        wrong += differs("number", found[kStep / 4 - 1], number);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return wrong;
}

/* Checks that a rank sees, after a sync, a size that another client has set, also by a set_size
 * that shrinks the file. */
static void growth(const char* folder) {
    char path[4096];
    unsigned char tail[kGrown];
    MPI_Offset size = -1;
    MPI_File file;
    int zeros = 0;
    snprintf(path, sizeof path, "%s/growth", folder);
    must(MPI_File_open(MPI_COMM_WORLD, path, open_flags(), MPI_INFO_NULL, &file), "open");
    must(MPI_File_set_size(file, 0), "set_size");
    const double begin = MPI_Wtime();
    int wrong = grown_wrong(file);
    must(MPI_File_set_size(file, kShrunk), "set_size");
    must(MPI_File_set_size(file, kGrown), "set_size");
    must(MPI_File_get_size(file, &size), "size");
    wrong += differs("size after set_size", size, kGrown);
    memset(tail, 0xff, sizeof tail);
    must(MPI_File_read_at(file, 0, tail, kGrown, MPI_BYTE, MPI_STATUS_IGNORE), "read_at");
    for (int i = kShrunk; i < kGrown; ++i) zeros += tail[i] == 0;
    wrong += differs("zeros after set_size", zeros, kGrown - kShrunk);
    must(MPI_File_close(&file), "close");
    tell("growth", "", wrong, (3 * kSteps + 2) * ranks, MPI_Wtime() - begin);
}

/* Checks that in atomic mode a rank sees what another wrote before a barrier, without a sync. */
static void atomic_turns(const char* folder) {
    enum { kTurns = 60 };
    char path[4096];
    int wrong = 0;
    MPI_File file;
    snprintf(path, sizeof path, "%s/turns", folder);
    must(MPI_File_open(MPI_COMM_WORLD, path, open_flags(), MPI_INFO_NULL, &file), "open");
    must(MPI_File_set_atomicity(file, 1), "atomic");
    const double begin = MPI_Wtime();
    for (int turn = 0; turn < kTurns; ++turn) {
        int number = value(turn, 0), found = -1;
        const MPI_Offset at = 4 * (turn * 7 % 50);
        if (turn % ranks == rank)
            must(MPI_File_write_at(file, at, &number, 1, MPI_INT, MPI_STATUS_IGNORE), "write_at");
        MPI_Barrier(MPI_COMM_WORLD);
        must(MPI_File_read_at(file, at, &found, 1, MPI_INT, MPI_STATUS_IGNORE), "read_at");
        wrong += found != number;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    must(MPI_File_close(&file), "close");
    tell("atomic turns", "", wrong, kTurns * ranks, MPI_Wtime() - begin);
}

/* Checks that a client that opens a file reads what another client has written and closed. */
static void reopened(const char* folder) {
    char path[4096];
    int wrong = 0;
    snprintf(path, sizeof path, "%s/reopened", folder);
    const double begin = MPI_Wtime();
    for (int round = 0; round < 8; ++round) {
        MPI_File file;
        int found[300], writer = round % ranks;
        if (rank == writer) {
            for (int i = 0; i < 300; ++i) found[i] = value(i, round);
            must(MPI_File_open(MPI_COMM_SELF, path, open_flags(), MPI_INFO_NULL, &file), "open");
            must(MPI_File_write_at(file, 0, found, 300, MPI_INT, MPI_STATUS_IGNORE), "write_at");
            must(MPI_File_close(&file), "close");
        }
        MPI_Barrier(MPI_COMM_WORLD);
        must(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), "open");
        must(MPI_File_read_at(file, 0, found, 300, MPI_INT, MPI_STATUS_IGNORE), "read_at");
        must(MPI_File_close(&file), "close");
        for (int i = 0; i < 300; ++i) wrong += found[i] != value(i, round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    tell("reopened", "", wrong, 8 * 300 * ranks, MPI_Wtime() - begin);
}

int main(int count, char** words) {
    static const Case cases[] = {
        {"write", 1, 0, one_by_one, 0},
        {"write", 4, 0, one_by_one, 0},
        {"write", 25, 0, one_by_one, 0},
        {"write", 256, 0, one_by_one, 0},
        {"write", 1024, 0, one_by_one, 0},
        {"write holes", 3, 3, one_by_one, 0},
        {"write_at", 5, 0, by_offset, 0},
        {"pieces", 3, 0, all_pieces, 0},
        {"pieces holes", 7, 1, all_pieces, 0},
        {"pieces", 300, 0, all_pieces, 0},
        {"write_all", 3, 0, collective, 0},
        {"write_all holes", 3, 1, collective, 0},
        {"write_all holes", 400, 1, collective, 0},
        {"small write_all", 5, 0, small_collective, 0},
        {"small write_all holes", 5, 1, small_collective, 0},
        {"split", 7, 1, split, 0},
        {"iwrite_at", 5, 0, nonblocking, 0},
        {"iwrite_all", 5, 1, nonblocking_all, 0},
        {"atomic pieces", 6, 0, all_pieces, 1},
        {"atomic write", 30, 1, one_by_one, 1},
    };
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char* const folder = words[1];
    const char* const server = strcmp(words[2], "-") == 0 ? NULL : words[2];
    char** const chosen = words + 3;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        if (is_chosen(cases[i].name, chosen)) run_case(&cases[i], folder, server);
    if (is_chosen("shared pointer", chosen)) shared_records(folder, server, 0);
    if (is_chosen("ordered", chosen)) shared_records(folder, server, 1);
    if (is_chosen("growth", chosen)) growth(folder);
    if (is_chosen("turns", chosen)) atomic_turns(folder);
    if (is_chosen("reopened", chosen)) reopened(folder);
    MPI_Finalize();
    return rank == 0 ? failed : 0;
}
