// SPDX-License-Identifier: BSD-3-Clause
// Ranks that mix calls without a barrier between them. Data that a rank wrote before it enters a
// collective call is in the file afterwards, and data that it writes during one is kept, with every
// method. The test is a plain MPI program. Bytes that don't overlap don't conflict (MPI-4.1, 14.6).
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "mpi/file_support.hpp"

namespace oratorio::test {
namespace {

constexpr int kMode = MPI_MODE_CREATE | MPI_MODE_RDWR;
constexpr int kTimes = 4;

/// Delays one rank, another one at each `time`.
void be_late(int time) {
    if (time % size_of_world() == rank_of_world()) ::usleep(2000);
}

unsigned char value(int rank, int time, long long at) {
    return pattern(static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(rank * 100 + time));
}

/// Sets a view in which every n-th byte is this rank's, for n ranks.
void set_byte_view(MPI_File file, int count) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(count, 1, size_of_world(), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_set_view(file, rank_of_world(), MPI_BYTE, type, "native", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    MPI_Type_free(&type);
}

void a_rank_reads_its_own_bytes(const Hints& hints) {
    constexpr int kBytes = 5000;
    const ScratchFile scratch;
    MPI_File file = open_file(scratch.name(), kMode, hints);
    set_byte_view(file, kBytes);
    Bytes mine(kBytes), got(kBytes);
    int wrong = 0;
    for (int time = 0; time < kTimes; ++time) {
        be_late(time);
        for (int i = 0; i < kBytes; ++i)
            mine[static_cast<std::size_t>(i)] = value(rank_of_world(), time, i);
        MPI_File_write_at(file, 0, mine.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_read_at_all(file, 0, got.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
        wrong += got == mine ? 0 : 1;
    }
    CHECK_IN(hints[0].second + ", " + std::to_string(wrong) + " reads", wrong == 0);
    MPI_File_close(&file);
}

// In a collective write each rank has pieces of this length, and after each piece a hole of the
// same length.
constexpr int kPiece = 40;
constexpr int kPieces = 100;

MPI_Datatype pieces_of_a_rank() {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(kPieces, kPiece, 2 * kPiece * size_of_world(), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

long long place_of(int rank, int piece) {
    return 2LL * kPiece * (static_cast<long long>(piece) * size_of_world() + rank);
}

Bytes pieces_at(int rank, int time) {
    Bytes bytes(static_cast<std::size_t>(kPiece) * kPieces);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = value(rank, time, static_cast<long long>(i));
    return bytes;
}

Bytes hole_at(int rank, int time, int piece) {
    Bytes bytes(kPiece);
    for (int i = 0; i < kPiece; ++i)
        bytes[static_cast<std::size_t>(i)] = value(rank + 50, time, piece * kPiece + i);
    return bytes;
}

/// Checks on rank 0 that the file holds the pieces and holes that all ranks wrote at `time`.
void expect_all(const std::string& name, int time, const std::string& context) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_of_world() == 0) {
        const Bytes file = bytes_of_file(name, 0, place_of(0, kPieces));
        const auto holds = [&](long long at, const unsigned char* wanted) {
            const auto place = static_cast<std::size_t>(at);
            return place + kPiece <= file.size() &&
                   std::memcmp(file.data() + place, wanted, kPiece) == 0;
        };
        int lost = 0, wrong = 0;
        for (int rank = 0; rank < size_of_world(); ++rank) {
            const Bytes all = pieces_at(rank, time);
            for (int piece = 0; piece < kPieces; ++piece) {
                const Bytes hole = hole_at(rank, time, piece);
                const long long place = place_of(rank, piece);
                wrong += holds(place, all.data() + piece * kPiece) ? 0 : 1;
                lost += holds(place + kPiece, hole.data()) ? 0 : 1;
            }
        }
        CHECK_IN(context + ", " + std::to_string(lost) + " independent writes lost", lost == 0);
        CHECK_IN(context + ", " + std::to_string(wrong) + " collective pieces wrong", wrong == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/// Makes the file long enough in advance: mappings don't survive another process extending the file
/// (docs/internals/decisions/stores.md).
void make_long_enough(MPI_File file, const Hints& hints, long long bytes) {
    if (hints[0].second == "mmap") CHECK(MPI_File_set_size(file, bytes) == MPI_SUCCESS);
}

/// Writes this rank's pieces through `all`, and its holes independently through `own`, two handles
/// of the same file.
using Write = std::function<void(MPI_File all, MPI_File own, int time)>;

/// Writes independently into the holes after this rank's pieces.
void write_holes(MPI_File own, int time) {
    for (int piece = 0; piece < kPieces; ++piece) {
        const Bytes hole = hole_at(rank_of_world(), time, piece);
        MPI_File_write_at(own, place_of(rank_of_world(), piece) + kPiece, hole.data(), kPiece,
                          MPI_BYTE, MPI_STATUS_IGNORE);
    }
}

/// Runs `write` repeatedly. The independent writes use a second handle of the file, opened on
/// MPI_COMM_SELF if `second_handle` is true, else on all ranks.
void with_holes(const Hints& hints, const std::string& what, const Write& write,
                bool second_handle) {
    const ScratchFile scratch;
    MPI_File all = open_file(scratch.name(), kMode, hints);
    MPI_File own =
        open_file(scratch.name(), kMode, hints, second_handle ? MPI_COMM_SELF : MPI_COMM_WORLD);
    make_long_enough(all, hints, place_of(0, kPieces));
    MPI_Datatype type = pieces_of_a_rank();
    MPI_File_set_view(all, place_of(rank_of_world(), 0), MPI_BYTE, type, "native", MPI_INFO_NULL);
    for (int time = 0; time < kTimes; ++time) {
        be_late(time);
        write(all, own, time);
        expect_all(scratch.name(), time, what + ", " + hints[0].second);
    }
    MPI_Type_free(&type);
    MPI_File_close(&own);
    MPI_File_close(&all);
}

void writes_before_a_collective_one_are_kept(MPI_File all, MPI_File own, int time) {
    write_holes(own, time);
    const Bytes mine = pieces_at(rank_of_world(), time);
    MPI_File_write_at_all(all, 0, mine.data(), static_cast<int>(mine.size()), MPI_BYTE,
                          MPI_STATUS_IGNORE);
}

void writes_beside_a_nonblocking_one_are_kept(MPI_File all, MPI_File own, int time) {
    const Bytes mine = pieces_at(rank_of_world(), time);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_File_iwrite_at_all(all, 0, mine.data(), static_cast<int>(mine.size()), MPI_BYTE, &request);
    write_holes(own, time);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void writes_beside_a_split_one_are_kept(MPI_File all, MPI_File own, int time) {
    const Bytes mine = pieces_at(rank_of_world(), time);
    MPI_File_write_at_all_begin(all, 0, mine.data(), static_cast<int>(mine.size()), MPI_BYTE);
    write_holes(own, time);
    MPI_File_write_at_all_end(all, mine.data(), MPI_STATUS_IGNORE);
}

/// Writes collectively and independently through one handle, at explicit offsets,
/// while the collective write is pending.
void one_handle_will_do(const Hints& hints) {
    const ScratchFile scratch;
    MPI_File file = open_file(scratch.name(), kMode, hints);
    const int ranks = size_of_world();
    const long long block = 8LL * ranks;
    make_long_enough(file, hints, 40 * 2 * block);
    for (int time = 0; time < kTimes; ++time) {
        be_late(time);
        std::vector<std::uint64_t> data(2);
        data[0] = data[1] = mix(static_cast<std::uint64_t>(time * 64 + rank_of_world()));
        MPI_Request request = MPI_REQUEST_NULL;
        // Each rank writes the first half of its data collectively and the second half
        // independently.
        for (int turn = 0; turn < 40; ++turn) {
            const long long base = turn * 2 * block;
            MPI_File_iwrite_at_all(file, base + 16LL * rank_of_world(), data.data(), 8, MPI_BYTE,
                                   &request);
            MPI_File_write_at(file, base + 16LL * rank_of_world() + 8, &data[1], 8, MPI_BYTE,
                              MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        int lost = 0;
        for (int turn = 0; turn < 40; ++turn) {
            const Bytes got =
                bytes_of_file(scratch.name(), turn * 2 * block + 16LL * rank_of_world(), 16);
            lost += got.size() == 16 && std::memcmp(got.data(), data.data(), 16) == 0 ? 0 : 1;
        }
        CHECK_IN(hints[0].second + ", " + std::to_string(lost) + " lost", lost == 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_close(&file);
}

/// Lets all ranks write by data sieving while others make plain writes into the holes.
void sieving_keeps_others_writes(const Hints& more) {
    Hints hints = more;
    hints.push_back({"romio_ds_write", "enable"});
    const Write sieve = [](MPI_File all, MPI_File own, int time) {
        const Bytes mine = pieces_at(rank_of_world(), time);
        MPI_File_write_at(all, 0, mine.data(), static_cast<int>(mine.size()), MPI_BYTE,
                          MPI_STATUS_IGNORE);
        write_holes(own, time);
    };
    with_holes(hints, "sieving", sieve, false);
    with_holes(hints, "sieving, handles of their own", sieve, true);
}

/// Starts an atomic write on one handle, which holds a lock while it is half done, and writes the
/// same range through another handle of the process. The second write must not wait forever.
void a_process_does_not_wait_for_its_own_lock() {
    const ScratchFile scratch;
    MPI_File one = open_file(scratch.name(), kMode, {}, MPI_COMM_SELF);
    MPI_File two = open_file(scratch.name(), kMode, {}, MPI_COMM_SELF);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(100000, 1, 2, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    for (MPI_File file : {one, two}) MPI_File_set_atomicity(file, 1);
    MPI_File_set_view(one, 0, MPI_BYTE, type, "native", MPI_INFO_NULL);
    Bytes bytes(100000, 7);
    MPI_Request request = MPI_REQUEST_NULL;
    int done = 0;
    MPI_File_iwrite_at(one, 0, bytes.data(), 100000, MPI_BYTE, &request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    CHECK(MPI_File_write_at(two, 0, bytes.data(), 100000, MPI_BYTE, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    MPI_File_close(&two);
    MPI_File_close(&one);
}

/// Runs the tests with the named methods, or with all if none is named.
void run(std::vector<std::string> methods) {
    std::vector<Hints> all;
    if (methods.empty()) methods.assign(std::begin(kMethods), std::end(kMethods));
    for (const std::string& method : methods) all.push_back({{"oratorio_method", method}});
    all.push_back({{"romio_cb_write", "enable"}, {"romio_cb_read", "enable"}});
    for (const Hints& hints : all) {
        a_rank_reads_its_own_bytes(hints);
        one_handle_will_do(hints);
        for (const bool second : {false, true}) {
            const std::string handles = second ? "own handles, " : "two handles, ";
            with_holes(hints, handles + "before", writes_before_a_collective_one_are_kept, second);
            with_holes(hints, handles + "beside", writes_beside_a_nonblocking_one_are_kept, second);
            with_holes(hints, handles + "split", writes_beside_a_split_one_are_kept, second);
        }
    }
    sieving_keeps_others_writes({{"oratorio_method", "auto"}});
    a_process_does_not_wait_for_its_own_lock();
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    oratorio::test::run({argv + 1, argv + argc});
    const int result = oratorio::test::verdict("unsynchronised");
    MPI_Finalize();
    return result;
}
