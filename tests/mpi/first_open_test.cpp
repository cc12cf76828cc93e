// SPDX-License-Identifier: BSD-3-Clause
// Counts the page faults of a program's first MPI_File_open. MPICH reserves memory for eight
// communicators, including its internal ones, and allocates memory for 256 more (1.9 MB, 459 pages)
// when all eight are in use. The first open must not need more than eight.
#include <sys/resource.h>

#include <cstdio>

#include "mpi/bind_support.hpp"

namespace oratorio::test {
namespace {

long page_faults() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

void the_first_open_needs_no_block_of_communicators() {
    constexpr long kBlockPages = 459;
    const long before = page_faults();
    MPI_File file = open_scratch(MPI_INFO_NULL);
    const long faults = page_faults() - before;
    std::printf("rank %d: %ld page faults\n", rank_of_world(), faults);
    CHECK(faults < kBlockPages);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    MPI_Init(&argc, &argv);
    the_first_open_needs_no_block_of_communicators();
    const int code = verdict("first_open");
    MPI_Finalize();
    return code;
}
