// SPDX-License-Identifier: BSD-3-Clause
// Repeats one block-cyclic collective access without checking anything, so that a profiler sees
// only the access. Prints the median of its rates, and that of contiguous POSIX calls of the same
// bytes. REQUIRES: all ranks are on one node, as they must share a clock.
//
//     mpicxx -O2 -std=c++20 lab/bench/profile/repeat.cpp -o repeat
//     mpiexec -n 8 env LD_PRELOAD=.../liboratorio.so ./repeat FILE METHOD read|write BLOCK BYTES
//     REPEATS
//
// BLOCK is the size of a piece, and BYTES the size of a rank's data, in bytes.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

double node_clock() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Returns MiB per second of all ranks, from the first one's start to the last one's end.
template <class Action>
double rate_of(double bytes_each, Action action) {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = node_clock();
    action();
    double end = node_clock();
    MPI_Allreduce(MPI_IN_PLACE, &start, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &end, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return bytes_each * ranks / (end - start) / (1 << 20);
}

double median(std::vector<double> rates) {
    std::sort(rates.begin(), rates.end());
    return rates[rates.size() / 2];
}

MPI_File open_with_view(const char* path, const char* method, int block, int blocks, int rank,
                        int ranks) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "oratorio_method", method);
    MPI_File file;
    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file) !=
        MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Info_free(&info);
    MPI_Datatype type;
    MPI_Type_vector(blocks, block, block * ranks, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_File_set_view(file, static_cast<MPI_Offset>(rank) * block, MPI_BYTE, type, "native",
                      MPI_INFO_NULL);
    MPI_Type_free(&type);
    return file;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 7) {
        std::fprintf(stderr, "usage: repeat FILE METHOD read|write BLOCK BYTES REPEATS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const std::string direction = argv[3];
    const int block = std::atoi(argv[4]), bytes = std::atoi(argv[5]), repeats = std::atoi(argv[6]);
    // The array begins at a page. 16 bytes after it, where malloc places large arrays, some
    // processors copy slowly (src/base/byte_copy.hpp).
    constexpr std::size_t kPage = 4096;
    std::vector<char> memory(static_cast<std::size_t>(bytes) + kPage, 'x');
    void* begin_of_page = memory.data();
    std::size_t room = memory.size();
    const std::span data(
        static_cast<char*>(std::align(kPage, static_cast<std::size_t>(bytes), begin_of_page, room)),
        static_cast<std::size_t>(bytes));
    const int descriptor = open(argv[1], O_RDWR | O_CREAT, 0600);
    const off_t begin = static_cast<off_t>(rank) * bytes;
    bool whole = pwrite(descriptor, data.data(), data.size(), begin) == bytes;
    MPI_File file = open_with_view(argv[1], argv[2], block, bytes / block, rank, ranks);
    const bool write = direction == "write";
    std::vector<double> collective, raw;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        collective.push_back(rate_of(bytes, [&] {
            write ? MPI_File_write_at_all(file, 0, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE)
                  : MPI_File_read_at_all(file, 0, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        }));
        raw.push_back(rate_of(bytes, [&] {
            whole &= bytes == (write ? pwrite(descriptor, data.data(), data.size(), begin)
                                     : pread(descriptor, data.data(), data.size(), begin));
        }));
    }
    if (rank == 0)
        std::printf("%s %s, %d-byte blocks, %d ranks: %.0f MiB/s, raw %.0f MiB/s%s\n", argv[2],
                    argv[3], block, ranks, median(collective), median(raw),
                    whole ? "" : " (a raw call was short)");
    MPI_File_close(&file);
    if (rank == 0) unlink(argv[1]);
    MPI_Finalize();
    return 0;
}
