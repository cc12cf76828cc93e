// SPDX-License-Identifier: BSD-3-Clause
/* Writes until the second client is killed.
 *
 * usage: clients_killed FILE MODE MARK   first all ranks write kSynced bytes together and sync
 * them; then rank 0 creates the file MARK, and all ranks write after those bytes forever:
 * `collective`, with holes; `atomic`, the same pieces in atomic mode; `lock`, by data sieving
 * through a second handle, so that a lock is held most of the time. A call that fails ends the
 * job. Byte i of the synced ones is i % 251 (survivor.py checks them). */
#include <stdlib.h>
#include <string.h>

#include "clients_common.h"

enum { kSynced = 1 << 16, kPieces = 200, kPiece = 40 };

static void write_synced(MPI_File file) {
    const int share = kSynced / ranks;
    unsigned char* data = malloc((size_t)share);
    for (int i = 0; i < share; ++i) data[i] = (unsigned char)((rank * share + i) % 251);
    must(MPI_File_write_at_all(file, (MPI_Offset)rank * share, data, share, MPI_BYTE,
                               MPI_STATUS_IGNORE),
         "write_at_all");
    sync_all(file);
    free(data);
}

/* Sets a view of the pieces of this rank only or, if `is_common`, of the pieces that all ranks
 * write. */
static void set_view(MPI_File file, int is_common) {
    MPI_Datatype type;
    MPI_Type_vector(kPieces, kPiece, 2 * kPiece * ranks, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    must(MPI_File_set_view(file, kSynced + (is_common ? 0 : 2 * kPiece * rank), MPI_BYTE, type,
                           "native", MPI_INFO_NULL),
         "view");
    MPI_Type_free(&type);
}

int main(int count, char** words) {
    static unsigned char data[kPieces * kPiece];
    MPI_File file, second;
    MPI_Info info;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char* const mode = words[2];
    const int is_collective = strcmp(mode, "collective") == 0,
              is_atomic = strcmp(mode, "atomic") == 0;
    const int flags = MPI_MODE_CREATE | MPI_MODE_RDWR;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "enable");
    must(MPI_File_open(MPI_COMM_WORLD, words[1], flags, info, &file), "open");
    write_synced(file);
    must(MPI_File_open(MPI_COMM_WORLD, words[1], flags, info, &second), "open");
    set_view(file, is_atomic);
    set_view(second, 0);
    if (is_atomic) must(MPI_File_set_atomicity(file, 1), "atomicity");
    FILE* mark = rank == 0 ? fopen(words[3], "w") : NULL;
    if (mark) fclose(mark);
    for (int round = 0;; ++round) {
        memset(data, round % 100 + rank, sizeof data);
        if (is_collective)
            must(MPI_File_write_at_all(file, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE),
                 "write_at_all");
        else
            must(MPI_File_write_at(is_atomic ? file : second, 0, data, sizeof data, MPI_BYTE,
                                   MPI_STATUS_IGNORE),
                 "write_at");
        if (!is_collective && round % 50 == 49) MPI_Barrier(MPI_COMM_WORLD);
    }
}
