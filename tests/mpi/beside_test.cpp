// SPDX-License-Identifier: BSD-3-Clause
// Independent reads and writes of a rank while collective calls on the same handle are under way
// and an I/O thread makes their storage calls: every call ends, and each byte is right. The test is
// a plain MPI program; with the argument "multiple" it requests MPI_THREAD_MULTIPLE.
#include <cstring>

#include "mpi/file_support.hpp"

namespace oratorio::test {
namespace {

constexpr int kTimes = 30;
constexpr int kTogether = 64 << 10;  // bytes per rank and collective call; a call takes many rounds
constexpr int kAlone = 512;
constexpr int kCalls = 20;  // independent calls during each collective one
constexpr MPI_Offset kAlonePlace = MPI_Offset{1} << 24;

Bytes data_of(int length, int salt) {
    Bytes data(static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = pattern(i, static_cast<std::uint64_t>(salt * 64 + rank_of_world()));
    return data;
}

/// Makes small accesses of this rank, one after another. Returns the number of accesses with a
/// wrong result.
int wrong_alone(MPI_File file, int salt) {
    int wrong = 0;
    for (int call = 0; call < kCalls; ++call) {
        const MPI_Offset at =
            kAlonePlace + MPI_Offset{kAlone} * (call * size_of_world() + rank_of_world());
        const Bytes data = data_of(kAlone, salt + call);
        Bytes back(data.size());
        MPI_File_write_at(file, at, data.data(), kAlone, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_read_at(file, at, back.data(), kAlone, MPI_BYTE, MPI_STATUS_IGNORE);
        wrong += back == data ? 0 : 1;
    }
    return wrong;
}

/// Makes a collective call of all ranks, and independent calls of this rank while the collective
/// one is under way. Returns the number of independent calls that went wrong.
int wrong_beside(MPI_File file, bool split, bool writes, Bytes& memory, int salt) {
    const MPI_Offset at = MPI_Offset{kTogether} * rank_of_world();
    MPI_Request request = MPI_REQUEST_NULL;
    if (split && writes) MPI_File_write_at_all_begin(file, at, memory.data(), kTogether, MPI_BYTE);
    if (split && !writes) MPI_File_read_at_all_begin(file, at, memory.data(), kTogether, MPI_BYTE);
    if (!split && writes)
        MPI_File_iwrite_at_all(file, at, memory.data(), kTogether, MPI_BYTE, &request);
    if (!split && !writes)
        MPI_File_iread_at_all(file, at, memory.data(), kTogether, MPI_BYTE, &request);
    const int wrong = wrong_alone(file, salt);
    if (split && writes) MPI_File_write_at_all_end(file, memory.data(), MPI_STATUS_IGNORE);
    if (split && !writes) MPI_File_read_at_all_end(file, memory.data(), MPI_STATUS_IGNORE);
    if (!split) MPI_Wait(&request, MPI_STATUS_IGNORE);
    return wrong;
}

void run(const std::string& store, bool split) {
    const ScratchFile scratch;
    MPI_File file = open_file(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                              {{"oratorio_method", "multithreaded"},
                               {"oratorio_store", store},
                               {"cb_buffer_size", "16384"}});
    int wrong = 0;
    for (int time = 0; time < kTimes; ++time) {
        Bytes data = data_of(kTogether, time);
        Bytes back(data.size());
        wrong += wrong_beside(file, split, true, data, time);
        wrong += wrong_beside(file, split, false, back, time);
        wrong += back == data ? 0 : 1;
    }
    CHECK_IN(store + (split ? ", split" : ", nonblocking") + ", wrong " + std::to_string(wrong),
             wrong == 0);
    MPI_File_close(&file);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    const bool multiple = argc > 1 && std::strcmp(argv[1], "multiple") == 0;
    int level = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    for (const char* store : {"posix", "thread", "uring"}) {
        for (const bool split : {false, true}) oratorio::test::run(store, split);
    }
    const int result = oratorio::test::verdict("beside");
    MPI_Finalize();
    return result;
}
