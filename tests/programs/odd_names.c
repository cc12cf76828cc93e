// SPDX-License-Identifier: BSD-3-Clause
/* Files with a prefix in their names. usage: odd_names FOLDER
 *
 * Creates a file by each name in FOLDER and closes it; then creates two more files and deletes them
 * by their names with the prefix. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void require(int holds, const char* what, const char* name) {
    if (holds) return;
    fprintf(stderr, "failed: %s %s\n", what, name);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void create(const char* name) {
    MPI_File file;
    require(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                          &file) == MPI_SUCCESS,
            "open", name);
    require(MPI_File_close(&file) == MPI_SUCCESS, "close", name);
}

int main(int argc, char** argv) {
    static const char* const names[] = {"ufs:a", "UFS:b", "nfs:c", "Nfs:d", "ufs:nfs:e", "f"};
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    require(chdir(argv[1]) == 0, "chdir", argv[1]);
    for (int i = 0; i < 6; ++i) create(names[i]);
    create("ufs:gone");
    create("NFS:gone too");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        require(MPI_File_delete("ufs:gone", MPI_INFO_NULL) == MPI_SUCCESS, "delete", "ufs:gone");
        require(MPI_File_delete("NFS:gone too", MPI_INFO_NULL) == MPI_SUCCESS, "delete", "NFS:");
    }
    MPI_Finalize();
    return 0;
}
