// SPDX-License-Identifier: BSD-3-Clause
/* A program that isn't linked to an MPI: it loads a library and looks names up in it, as some
 * languages do. usage: own_choice LIBRARY FOLDER [now|lazy [write]]
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void* library;

static void* find(const char* name) {
    void* found = dlsym(library, name);
    if (found) return found;
    fprintf(stderr, "failed: %s\n", name);
    exit(1);
}

#ifdef OPEN_MPI
#define WORLD ((MPI_Comm)find("ompi_mpi_comm_world"))
#define NO_INFO ((MPI_Info)find("ompi_mpi_info_null"))
#define INT ((MPI_Datatype)find("ompi_mpi_int"))
#else
#define WORLD MPI_COMM_WORLD
#define NO_INFO MPI_INFO_NULL
#define INT MPI_INT
#endif
#define MPI(name) ((__typeof__(&MPI_##name))find("MPI_" #name))

int main(int argc, char** argv) {
    char path[4096];
    int rank = 0;
    library = dlopen(argv[1], argc > 3 && argv[3][0] == 'n' ? RTLD_NOW : RTLD_LAZY);
    if (!library) return fprintf(stderr, "failed: %s\n", dlerror()), 1;
    MPI(Init)(&argc, &argv);
    MPI(Comm_rank)(WORLD, &rank);
    if (argc > 4) {
        MPI_File file;
        snprintf(path, sizeof path, "%s/own.dat", argv[2]);
        MPI(File_open)(WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, NO_INFO, &file);
        MPI(File_write_at)(file, rank * (MPI_Offset)sizeof rank, &rank, 1, INT, MPI_STATUS_IGNORE);
        MPI(File_close)(&file);
    }
    MPI(Finalize)();
    return 0;
}
