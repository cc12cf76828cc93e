// Repeats one block-cyclic collective access without checking anything, so that a profiler sees the
// access and nothing else; tells its best rate and that of contiguous POSIX calls of the same
// bytes.
//
//     mpicxx -O2 -std=c++20 tools/bench/profile/repeat.cpp -o repeat
//     mpiexec -n 8 env LD_PRELOAD=.../liboratorio.so ./repeat FILE METHOD read|write BLOCK BYTES
//     REPEATS
//
// BLOCK and BYTES are bytes, of a piece and of a rank.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

/// MiB per second of all ranks, from the slowest one's time.
double rate(double seconds, double bytes_each) {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return bytes_each * ranks / seconds / (1 << 20);
}

template <class Action>
double timed(Action action) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    action();
    return MPI_Wtime() - start;
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
    std::vector<char> data(static_cast<std::size_t>(bytes), 'x');
    const int descriptor = open(argv[1], O_RDWR | O_CREAT, 0600);
    const off_t begin = static_cast<off_t>(rank) * bytes;
    bool whole = pwrite(descriptor, data.data(), data.size(), begin) == bytes;
    MPI_File file = open_with_view(argv[1], argv[2], block, bytes / block, rank, ranks);
    double best = 0, raw = 0;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        best = std::max(best, rate(timed([&] {
                                       direction == "write"
                                           ? MPI_File_write_at_all(file, 0, data.data(), bytes,
                                                                   MPI_BYTE, MPI_STATUS_IGNORE)
                                           : MPI_File_read_at_all(file, 0, data.data(), bytes,
                                                                  MPI_BYTE, MPI_STATUS_IGNORE);
                                   }),
                                   bytes));
        raw = std::max(raw, rate(timed([&] {
                                     whole &=
                                         bytes ==
                                         (direction == "write"
                                              ? pwrite(descriptor, data.data(), data.size(), begin)
                                              : pread(descriptor, data.data(), data.size(), begin));
                                 }),
                                 bytes));
    }
    if (rank == 0)
        std::printf("%s %s, %d-byte blocks, %d ranks: %.0f MiB/s, raw %.0f MiB/s%s\n", argv[2],
                    argv[3], block, ranks, best, raw, whole ? "" : " (a raw call was short)");
    MPI_File_close(&file);
    if (rank == 0) unlink(argv[1]);
    MPI_Finalize();
    return 0;
}
