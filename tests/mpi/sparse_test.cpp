// SPDX-License-Identifier: BSD-3-Clause
// Sparse data with the hint IBM_sparse_access. Before each access every rank learns which ranks
// have data, and where. Only ranks with data exchange messages and receive the outcome. The test
// reads the counters in the output of ORATORIO_EXPLAIN.
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "mpi/file_support.hpp"

namespace oratorio::test {
namespace {

constexpr int kBlock = 1024;
constexpr long long kApart = 1 << 20;  ///< distance from one block of a rank to its next
constexpr int kTiles = 6;              ///< tiles of the file; each rank has two blocks in each tile

/// Returns the name of the file for explanations. Each process uses a different name, and only rank
/// 0 writes its file.
std::string explained() {
    return "/tmp/oratorio-sparse-explained-" + std::to_string(::getpid());
}

/// Returns the sum of a counter over the accesses of all ranks, for the file closed last. REQUIRES:
/// this is rank 0.
long long took(const std::string& counter) {
    std::ifstream file(explained());
    long long last = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.find("closed; totals") != std::string::npos) last = 0;
        if (line.starts_with("  " + counter + ' '))
            last = std::atoll(line.c_str() + 3 + counter.size());
    }
    return last;
}

class ThinFile {
  public:
    ThinFile(const std::string& name, const char* sparse) : name_(name) {
        file_ = open_file(name, MPI_MODE_CREATE | MPI_MODE_RDWR,
                          {{"IBM_sparse_access", sparse},
                           {"oratorio_method", "two_phase"},
                           {"cb_nodes", "1"},
                           {"cb_buffer_size", "131072"}});
        MPI_Datatype blocks, tile;
        MPI_Type_create_hvector(2, kBlock, kApart, MPI_BYTE, &blocks);
        MPI_Type_create_resized(blocks, 0, 2 * kApart, &tile);
        MPI_Type_commit(&tile);
        MPI_File_set_view(file_, kBlock * rank_of_world(), MPI_BYTE, tile, "native", MPI_INFO_NULL);
        MPI_Type_free(&blocks);
        MPI_Type_free(&tile);
    }

    void write(int tile, int bytes, std::uint64_t salt) {
        const Bytes data = data_of(tile, bytes, salt);
        const int code =
            MPI_File_write_at_all(file_, at(tile), data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        CHECK_IN("write of tile " + std::to_string(tile), code == MPI_SUCCESS);
        for (int block = 0; block * kBlock < bytes; ++block) {
            const auto from = data.begin() + block * kBlock;
            CHECK_IN("tile " + std::to_string(tile),
                     bytes_of_file(name_, offset_of(tile, block * kBlock), kBlock) ==
                         Bytes(from, from + kBlock));
        }
    }
    void read(int tile, int bytes, std::uint64_t salt) {
        Bytes got(static_cast<std::size_t>(bytes));
        const int code =
            MPI_File_read_at_all(file_, at(tile), got.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        CHECK_IN("read of tile " + std::to_string(tile), code == MPI_SUCCESS);
        CHECK_IN("read of tile " + std::to_string(tile), got == data_of(tile, bytes, salt));
    }
    void hint(const char* sparse) {
        const Info info(Hints{{"IBM_sparse_access", sparse}});
        CHECK(MPI_File_set_info(file_, info) == MPI_SUCCESS);
    }
    void close() { CHECK(MPI_File_close(&file_) == MPI_SUCCESS); }

  private:
    /// Returns the position of a tile in the view, in bytes.
    static MPI_Offset at(int tile) { return MPI_Offset{2} * kBlock * tile; }
    static long long offset_of(int tile, int byte) {
        return kBlock * rank_of_world() + kApart * (2 * tile + byte / kBlock) + byte % kBlock;
    }
    static Bytes data_of(int tile, int bytes, std::uint64_t salt) {
        Bytes data(static_cast<std::size_t>(bytes));
        for (int i = 0; i < bytes; ++i)
            data[static_cast<std::size_t>(i)] =
                pattern(static_cast<std::uint64_t>(offset_of(tile, i)), salt);
        return data;
    }

    std::string name_;
    MPI_File file_ = MPI_FILE_NULL;
};

int ranks_of_world() {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return ranks;
}

void expect(const std::string& in, const std::string& counter, long long expected) {
    if (rank_of_world() != 0) return;
    const long long counted = took(counter);
    CHECK_IN(
        in + ": " + counter + ' ' + std::to_string(counted) + ", not " + std::to_string(expected),
        counted == expected);
}

/// Checks the numbers of messages. Each access has data in two rounds of the aggregator. In each of
/// these rounds every other rank sends its data if it writes; if it reads, it sends its contents
/// message and the request, and gets the reply. At the end of each access every other rank gets the
/// outcome.
void only_ranks_with_data_talk(const std::string& name) {
    ThinFile file(name, "true");
    for (int tile = 0; tile < kTiles; ++tile) file.write(tile, 2 * kBlock, 1);
    for (int tile = 0; tile < kTiles; ++tile) file.read(tile, 2 * kBlock, 1);
    file.close();
    const int others = ranks_of_world() - 1;
    expect("sparse", "rounds", 2 * 2 * kTiles);
    expect("sparse", "messages_sent", 2 * kTiles * others * (1 + 3) + 2 * kTiles * others);
    expect("sparse", "plans", 2 * kTiles * ranks_of_world());
}

void a_rank_may_have_less(const std::string& name) {
    const bool last = rank_of_world() == ranks_of_world() - 1;
    ThinFile file(name, "true");
    for (int tile = 0; tile < kTiles; ++tile)
        file.write(tile, tile == 2 && last ? kBlock : 2 * kBlock, 2);
    for (int tile = 0; tile < kTiles; ++tile)
        file.read(tile, tile == 2 && last ? kBlock : 2 * kBlock, 2);
    file.close();
    expect("another shape", "plans", 2 * kTiles * ranks_of_world());
}

void the_hint_counts_from_when_it_is_given(const std::string& name) {
    ThinFile file(name, "false");
    for (int tile = 0; tile < 2; ++tile) file.write(tile, 2 * kBlock, 3);
    file.hint("true");
    for (int tile = 2; tile < kTiles; ++tile) file.write(tile, 2 * kBlock, 3);
    file.close();
    // Half of the buffer is the write mask, so the hull of a tile takes 17 rounds.
    expect("hint given later", "rounds", 17 * 2 + 2 * (kTiles - 2));
    expect("hint given later", "plans", (1 + kTiles - 2) * ranks_of_world());
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    setenv("ORATORIO_EXPLAIN", explained().c_str(), 1);
    MPI_Init(&argc, &argv);
    {
        const ScratchFile scratch;
        only_ranks_with_data_talk(scratch.name());
        a_rank_may_have_less(scratch.name());
        the_hint_counts_from_when_it_is_given(scratch.name());
    }
    const int code = verdict("sparse_test");
    MPI_Finalize();
    ::unlink(explained().c_str());
    return code;
}
