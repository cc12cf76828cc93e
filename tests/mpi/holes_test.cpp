// SPDX-License-Identifier: BSD-3-Clause
// Collective writes with holes: in a new file the holes read as zeros, in an existing one they keep
// their content, and the file ends exactly where it should. The test runs with every method and
// the stores posix and uring; the collective buffers are filled with other data in advance.
#include <algorithm>

#include "mpi/file_support.hpp"
#include "support/random.hpp"

namespace oratorio::test {
namespace {

struct Piece {
    long long at = 0;
    int length = 0;
};
using Pieces = std::vector<Piece>;

/// Returns the pattern of HPIO: regions of 488 bytes, alternating between the ranks, with gaps of
/// 256 bytes between them.
Pieces hpio(int rank, int ranks) {
    Pieces pieces;
    for (int i = 0; i < 12; ++i) pieces.push_back({(488LL + 256) * (i * ranks + rank), 488});
    return pieces;
}

Pieces eight_of_64(int rank, int ranks) {
    Pieces pieces;
    for (int i = 0; i < 100; ++i) pieces.push_back({64LL * (i * ranks + rank), 8});
    return pieces;
}

/// Returns the pieces of a rank if each block belongs to a random rank or to no rank. Rank 1 has no
/// block.
Pieces random_blocks(int rank, int ranks) {
    Random random(20240607);
    Pieces pieces;
    long long at = 100;
    for (int i = 0; i < 30 * ranks; ++i) {
        const auto owner = random.between(0, ranks);
        const auto length = static_cast<int>(random.chance(10) ? random.between(1000, 5000)
                                                               : random.between(1, 200));
        if (owner == rank && rank != 1) pieces.push_back({at, length});
        at += length + (random.chance(50) ? random.between(1, 400) : 0);
    }
    return pieces;
}

/// Returns pieces like those of E3SM's decompositions: 1 to 8 doubles at scattered places. Most of
/// the file belongs to no rank.
Pieces tiny_pieces(int rank, int ranks) {
    Random random(77);
    Pieces pieces;
    long long at = 0;
    for (int i = 0; i < 60 * ranks; ++i) {
        at += 8 * random.between(1, 40);
        const auto length = static_cast<int>(8 * random.between(1, 8));
        if (random.between(0, ranks - 1) == rank) pieces.push_back({at, length});
        at += length;
    }
    return pieces;
}

struct Pattern {
    const char* name;
    Pieces (*of)(int rank, int ranks);
};
constexpr Pattern kPatterns[] = {{"hpio", hpio},
                                 {"8 of 64", eight_of_64},
                                 {"random blocks", random_blocks},
                                 {"tiny pieces", tiny_pieces}};

/// Length of the first part of the file, which is written without gaps.
constexpr long long kDense = 20000;
constexpr long long kTail = 777;  ///< bytes that an existing file has after the written part

void write_dense(MPI_File file) {
    const long long each = kDense / size_of_world(), begin = each * rank_of_world();
    const long long end = rank_of_world() + 1 == size_of_world() ? kDense : begin + each;
    const Bytes bytes(static_cast<std::size_t>(end - begin), 0xee);
    CHECK(MPI_File_write_at_all(file, begin, bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE,
                                MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

void write_pieces(MPI_File file, const Pieces& pieces, const std::string& told) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;
    Bytes bytes;
    for (const Piece& piece : pieces) {
        lengths.push_back(piece.length);
        places.push_back(static_cast<MPI_Aint>(piece.at));
        for (int i = 0; i < piece.length; ++i)
            bytes.push_back(pattern(static_cast<std::uint64_t>(piece.at + i)));
    }
    if (pieces.empty()) {  // no data is written, but the datatype of a view must hold some
        lengths.push_back(1);
        places.push_back(0);
    }
    MPI_Datatype type;
    MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(),
                             MPI_BYTE, &type);
    MPI_Type_commit(&type);
    CHECK_IN(told, MPI_File_set_view(file, kDense, MPI_BYTE, type, "native", MPI_INFO_NULL) ==
                       MPI_SUCCESS);
    MPI_Type_free(&type);
    MPI_Status status;
    CHECK_IN(told, MPI_File_write_all(file, bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE,
                                      &status) == MPI_SUCCESS);
    CHECK_IN(told, moved_bytes(status) == static_cast<long long>(bytes.size()));
}

/// Checks the file on rank 0.
void check(const std::string& name, const Pattern& shape, bool existing, const std::string& told) {
    Bytes expected(kDense, 0xee);
    for (int rank = 0; rank < size_of_world(); ++rank) {
        for (const Piece& piece : shape.of(rank, size_of_world())) {
            const auto end = static_cast<std::size_t>(kDense + piece.at + piece.length);
            if (end > expected.size()) expected.resize(end);
            for (int i = 0; i < piece.length; ++i) {
                expected[static_cast<std::size_t>(kDense + piece.at + i)] =
                    pattern(static_cast<std::uint64_t>(piece.at + i));
            }
        }
    }
    if (existing) {
        expected.resize(expected.size() + kTail);
        for (std::size_t i = kDense; i < expected.size(); ++i) {
            if (expected[i] == 0) expected[i] = pattern(i, 1);
        }
    }
    const auto size = static_cast<long long>(expected.size());
    CHECK_IN(told, size_of_file(name) == size);
    CHECK_IN(told, bytes_of_file(name, 0, size) == expected);
}

long long end_of(const Pattern& shape) {
    long long end = 0;
    for (int rank = 0; rank < size_of_world(); ++rank) {
        for (const Piece& piece : shape.of(rank, size_of_world()))
            end = std::max(end, piece.at + piece.length);
    }
    return end;
}

void gaps_stay(const Pattern& shape, bool existing, const Hints& hints) {
    std::string told = std::string(shape.name) + (existing ? ", existing file" : ", new file");
    for (const auto& [key, value] : hints) told += " " + key + "=" + value;
    const ScratchFile scratch;
    if (existing && rank_of_world() == 0) {
        Bytes before(static_cast<std::size_t>(kDense + end_of(shape) + kTail));
        for (std::size_t i = 0; i < before.size(); ++i) before[i] = pattern(i, 1);
        put_into_file(scratch.name(), 0, before);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File file = open_file(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
    write_dense(file);
    write_pieces(file, shape.of(rank_of_world(), size_of_world()), told);
    CHECK_IN(told, MPI_File_close(&file) == MPI_SUCCESS);
    if (rank_of_world() == 0) check(scratch.name(), shape, existing, told);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    MPI_Init(&argc, &argv);
    int turn = 0;
    for (const Pattern& shape : kPatterns) {
        for (const std::string& method : kMethods) {
            for (const std::string& store : kStores) {
                // The buffer alternates between one that holds all data and one that needs several
                // rounds. The period is 3 turns and not 2, so that each of the 2 stores meets both
                // buffers.
                const char* const buffer = turn++ % 3 == 0 ? "16777216" : "7000";
                const Hints hints{{"oratorio_method", method},
                                  {"oratorio_store", store},
                                  {"cb_buffer_size", buffer}};
                gaps_stay(shape, false, hints);
                gaps_stay(shape, true, hints);
            }
        }
    }
    const int code = verdict("holes_test");
    MPI_Finalize();
    return code;
}
