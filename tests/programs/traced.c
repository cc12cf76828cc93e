// SPDX-License-Identifier: BSD-3-Clause
/* Accesses of several kinds, to be traced. usage: traced FOLDER
 *
 * All ranks share one file: STEPS collective writes of strided blocks, one nonblocking access,
 * one independent read. Then each rank has a file of its own, and all close them at the same
 * time. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 3, BLOCKS = 64, BLOCK = 512 };

static void require(int code, const char* what) {
    if (code == MPI_SUCCESS) return;
    fprintf(stderr, "failed: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_File open_file(MPI_Comm comm, const char* folder, const char* name) {
    char path[4096];
    MPI_File file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    require(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
            "open");
    return file;
}

static void use_shared_file(const char* folder, int rank, int ranks, char* data) {
    MPI_File file = open_file(MPI_COMM_WORLD, folder, "all.dat");
    MPI_Datatype tiles;
    MPI_Request request;
    MPI_Type_vector(BLOCKS, BLOCK, BLOCK * ranks, MPI_BYTE, &tiles);
    MPI_Type_commit(&tiles);
    const MPI_Offset step = (MPI_Offset)ranks * BLOCKS * BLOCK;
    for (int i = 0; i < STEPS; ++i) {
        require(MPI_File_set_view(file, i * step + rank * BLOCK, MPI_BYTE, tiles, "native",
                                  MPI_INFO_NULL),
                "view");
        require(MPI_File_write_all(file, data, BLOCKS * BLOCK, MPI_BYTE, MPI_STATUS_IGNORE),
                "write");
    }
    require(MPI_File_iwrite_at_all(file, 0, data, BLOCKS * BLOCK, MPI_BYTE, &request), "iwrite");
    require(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
    require(MPI_File_read_at(file, 0, data, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), "read");
    MPI_Type_free(&tiles);
    require(MPI_File_close(&file), "close");
}

static void use_own_file(const char* folder, int rank, const char* data) {
    char name[64];
    snprintf(name, sizeof name, "own-%d.dat", rank);
    MPI_File file = open_file(MPI_COMM_SELF, folder, name);
    require(MPI_File_write_at(file, 0, data, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), "write of one");
    MPI_Barrier(MPI_COMM_WORLD);
    require(MPI_File_close(&file), "close of one");
}

int main(int argc, char** argv) {
    static char data[BLOCKS * BLOCK];
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    memset(data, 'a' + rank, sizeof data);
    use_shared_file(argv[1], rank, ranks, data);
    use_own_file(argv[1], rank, data);
    MPI_Finalize();
    return 0;
}
