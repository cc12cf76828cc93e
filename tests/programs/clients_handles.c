// SPDX-License-Identifier: BSD-3-Clause
/* Accesses that need locks between clients: sieved writes, a second handle used during a
 * collective write with holes, and atomic mode.
 *
 * usage: clients_handles FOLDER [ROUNDS]   prints a line "CASE: W wrong of N" per case;
 * exits with 1 if anything is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients_common.h"

static int rounds;
static const char* folder;

static MPI_File opened(MPI_Comm comm, const char* name, MPI_Info info) {
    char path[4096];
    MPI_File file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    must(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file), "open");
    return file;
}

/* Collective. Prints the result of a case on rank 0. */
static void tell(const char* name, int wrong, int of, double begin) {
    int sum = 0;
    const double seconds = MPI_Wtime() - begin;
    MPI_Allreduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum > 0) failed = 1;
    if (rank != 0) return;
    printf("%s: %d wrong of %d, %.1f ms\n", name, sum, of * ranks, seconds * 1e3);
    fflush(stdout);
}

static MPI_Datatype pieces(int count, int length, int stride, MPI_Datatype of) {
    MPI_Datatype type;
    MPI_Type_vector(count, length, stride, of, &type);
    MPI_Type_commit(&type);
    return type;
}

static void set_view(MPI_File file, MPI_Offset at, MPI_Datatype unit, MPI_Datatype type) {
    must(MPI_File_set_view(file, at, unit, type, "native", MPI_INFO_NULL), "view");
}

/* Lets each rank write its ints, which alternate with the ints of the other ranks, through a view.
 * The library uses data sieving if it follows the hint. */
static void sieved(void) {
    enum { kInts = 400 };
    int wrong = 0, mine[kInts];
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "enable");
    MPI_File file = opened(MPI_COMM_WORLD, "sieved", info);
    MPI_Info_free(&info);
    MPI_Datatype type = pieces(kInts, 1, ranks, MPI_INT);
    int* all = malloc(sizeof(int) * kInts * (size_t)ranks);
    const double begin = MPI_Wtime();
    for (int round = 0; round < rounds; ++round) {
        const int base = (round + 1) * 1000000;
        for (int i = 0; i < kInts; ++i) mine[i] = base + rank * kInts + i;
        set_view(file, 4 * rank, MPI_INT, type);
        MPI_Barrier(MPI_COMM_WORLD);
        must(MPI_File_write_at(file, 0, mine, kInts, MPI_INT, MPI_STATUS_IGNORE), "write_at");
        sync_all(file);
        set_view(file, 0, MPI_INT, MPI_INT);
        must(MPI_File_read_at(file, 0, all, kInts * ranks, MPI_INT, MPI_STATUS_IGNORE), "read_at");
        for (int i = 0; i < kInts * ranks; ++i)
            wrong += all[i] != base + i % ranks * kInts + i / ranks;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    must(MPI_File_close(&file), "close");
    tell("sieved", wrong, rounds * kInts * ranks, begin);
    MPI_Type_free(&type);
    free(all);
}

/* Pieces of kPiece bytes. They belong in turn to a collective write through `all` and to the ranks'
 * own writes through `own`. The ranks make their own writes before the collective write, or during
 * it if it is nonblocking. */
enum { kPieces = 100, kPiece = 40 };

static unsigned char collective_byte(int of, int round) {
    return (unsigned char)(1 + of + 10 * (round % 10));
}

static unsigned char own_byte(int of, int round) {
    return (unsigned char)(129 + of + 10 * (round % 10));
}

static void write_own(MPI_File own, int round) {
    unsigned char data[kPiece];
    memset(data, own_byte(rank, round), kPiece);
    for (int i = 0; i < kPieces; ++i)
        must(MPI_File_write_at(own, 2 * kPiece * (i * ranks + rank) + kPiece, data, kPiece,
                               MPI_BYTE, MPI_STATUS_IGNORE),
             "write_at");
}

static void write_both(MPI_File all, MPI_File own, int is_nonblocking, int round) {
    static unsigned char data[kPieces * kPiece];
    MPI_Request request;
    memset(data, collective_byte(rank, round), sizeof data);
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_nonblocking) {
        must(MPI_File_iwrite_at_all(all, 0, data, sizeof data, MPI_BYTE, &request),
             "iwrite_at_all");
        write_own(own, round);
        must(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
    } else {
        write_own(own, round);
        must(MPI_File_write_at_all(all, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE),
             "write_at_all");
    }
}

static void second_handle(int is_self, int is_nonblocking) {
    int wrong = 0;
    char name[100];
    snprintf(name, sizeof name, "%s, %s handle",
             is_nonblocking ? "beside iwrite_at_all" : "before write_at_all",
             is_self ? "own" : "second");
    MPI_File all = opened(MPI_COMM_WORLD, name, MPI_INFO_NULL);
    MPI_File own = opened(is_self ? MPI_COMM_SELF : MPI_COMM_WORLD, name, MPI_INFO_NULL);
    MPI_Datatype type = pieces(kPieces, kPiece, 2 * kPiece * ranks, MPI_BYTE);
    set_view(all, 2 * kPiece * rank, MPI_BYTE, type);
    const int bytes = 2 * kPiece * kPieces * ranks;
    unsigned char* found = malloc((size_t)bytes);
    const double begin = MPI_Wtime();
    for (int round = 0; round < rounds; ++round) {
        write_both(all, own, is_nonblocking, round);
        sync_all(all);
        sync_all(own);
        must(MPI_File_read_at(own, 0, found, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "read_at");
        for (int i = 0; i < bytes; ++i) {
            const int of = i / (2 * kPiece) % ranks;
            const int is_own = i / kPiece % 2;
            wrong += found[i] != (is_own ? own_byte(of, round) : collective_byte(of, round));
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    must(MPI_File_close(&own), "close");
    must(MPI_File_close(&all), "close");
    tell(name, wrong, rounds * bytes, begin);
    MPI_Type_free(&type);
    free(found);
}

/* Lets all ranks write the same pieces at the same time in atomic mode. Afterwards all pieces must
 * hold the data of one rank. */
static void atomic(int is_collective) {
    enum { kInts = 50 };
    int wrong = 0, mine[kInts], found[kInts];
    const char* const name = is_collective ? "atomic collective" : "atomic";
    MPI_File file = opened(MPI_COMM_WORLD, name, MPI_INFO_NULL);
    must(MPI_File_set_atomicity(file, 1), "atomicity");
    MPI_Datatype type = pieces(kInts, 1, 2, MPI_INT);
    set_view(file, 0, MPI_INT, type);
    const double begin = MPI_Wtime();
    for (int round = 0; round < rounds; ++round) {
        int others = 0;
        for (int i = 0; i < kInts; ++i) mine[i] = round * 100 + rank + 1;
        MPI_Barrier(MPI_COMM_WORLD);
        must(is_collective ? MPI_File_write_at_all(file, 0, mine, kInts, MPI_INT, MPI_STATUS_IGNORE)
                           : MPI_File_write_at(file, 0, mine, kInts, MPI_INT, MPI_STATUS_IGNORE),
             "write");
        MPI_Barrier(MPI_COMM_WORLD);
        must(MPI_File_read_at(file, 0, found, kInts, MPI_INT, MPI_STATUS_IGNORE), "read_at");
        for (int i = 0; i < kInts; ++i) others += found[i] != found[0];
        wrong += others > 0 || found[0] <= round * 100 || found[0] > round * 100 + ranks;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    must(MPI_File_close(&file), "close");
    tell(name, wrong, rounds, begin);
    MPI_Type_free(&type);
}

int main(int count, char** words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    folder = words[1];
    rounds = count > 2 ? atoi(words[2]) : 10;
    sieved();
    for (int is_nonblocking = 0; is_nonblocking < 2; ++is_nonblocking)
        for (int is_self = 0; is_self < 2; ++is_self) second_handle(is_self, is_nonblocking);
    atomic(0);
    atomic(1);
    MPI_Finalize();
    return rank == 0 ? failed : 0;
}
