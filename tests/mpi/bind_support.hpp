// SPDX-License-Identifier: BSD-3-Clause
// Helpers for programs that test the entry points: a file name that all ranks share, error classes,
// rank and size of MPI_COMM_WORLD, and a file for one test.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "mpi/check.hpp"

namespace oratorio::test {

/// Collective. Returns the same new file name on all ranks, without creating a file. The file's
/// folder is TMPDIR or /tmp.
inline std::string shared_name() {
    char name[512] = {};
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        const char* folder = std::getenv("TMPDIR");
        static int number = 0;
        // The name holds the process number: some clocks begin with the program, and other programs
        // may run at the same time.
        std::snprintf(name, sizeof name, "%s/oratorio-%ld-%ld-%d",
                      folder != nullptr ? folder : "/tmp", static_cast<long>(::getpid()),
                      static_cast<long>(MPI_Wtime() * 1e6), number++);
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    return name;
}

inline int class_of(int code) {
    int error_class = -1;
    MPI_Error_class(code, &error_class);
    return error_class;
}

inline int rank_of_world() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

inline int size_of_world() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

/// Collective. Opens a file for reading and writing that is deleted when it is closed.
inline MPI_File open_scratch(MPI_Info info = MPI_INFO_NULL, int more = 0) {
    MPI_File file = MPI_FILE_NULL;
    const std::string name = shared_name();
    const int code = MPI_File_open(
        MPI_COMM_WORLD, name.c_str(),
        MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE | more, info, &file);
    CHECK(code == MPI_SUCCESS);
    return file;
}

}  // namespace oratorio::test
