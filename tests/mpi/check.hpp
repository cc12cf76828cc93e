// SPDX-License-Identifier: BSD-3-Clause
// Checks for programs that run under mpiexec. After a failure a rank continues, so that no peer
// hangs. The job's verdict is the same on all ranks.
#pragma once

#include <mpi.h>

#include <cstdio>

namespace oratorio::test {

inline int failures = 0;

inline void fail(const char* file, int line, const char* claim) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (++failures <= 20)
        std::fprintf(stderr, "%s:%d: rank %d: not true: %s\n", file, line, rank, claim);
}

/// Collective. Returns the exit code of the program, which is the same on all ranks.
inline int verdict(const char* name) {
    int total = 0, rank = 0;
    MPI_Allreduce(&failures, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        std::printf("%s: %s (%d failures)\n", name, total == 0 ? "passed" : "FAILED", total);
    return total == 0 ? 0 : 1;
}

}  // namespace oratorio::test

#define CHECK(claim) ((claim) ? void() : ::oratorio::test::fail(__FILE__, __LINE__, #claim))
