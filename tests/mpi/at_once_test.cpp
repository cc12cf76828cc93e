// SPDX-License-Identifier: BSD-3-Clause
// Concurrent threads in one process: threads of the program, which use files of their own or share
// a handle; the helper thread, which advances nonblocking accesses; the I/O thread, which makes
// storage calls; and the thread that serves a counter. The test is meant for ThreadSanitizer;
// without ThreadSanitizer it only checks bytes and numbers.
#include <atomic>
#include <functional>
#include <thread>

#include "mpi/file_support.hpp"
#include "mpi/mpi_transport.hpp"

namespace oratorio::test {
namespace {

constexpr int kMode = MPI_MODE_CREATE | MPI_MODE_RDWR;
constexpr int kPiece = 64;
constexpr int kPieces = 100;
constexpr int kBytes = kPiece * kPieces;

/// A thread of the program, with a communicator of its own.
struct Part {
    MPI_Comm comm = MPI_COMM_NULL;
    std::string name;  ///< name of this thread's file
    int rank = 0;
    int ranks = 1;
    std::atomic<int> wrong{0};
    void check(bool claim) {
        if (!claim) ++wrong;
    }
};

Bytes data_of(const Part& part, std::uint64_t salt, int bytes = kBytes) {
    Bytes data(static_cast<std::size_t>(bytes));
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = pattern(i + (static_cast<std::uint64_t>(part.rank) << 32), salt);
    return data;
}

/// Sets a view whose pieces belong to the ranks in turn.
void set_view(const Part& part, MPI_File file) {
    MPI_Datatype type;
    MPI_Type_vector(kPieces, kPiece, kPiece * part.ranks, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_File_set_view(file, kPiece * part.rank, MPI_BYTE, type, "native", MPI_INFO_NULL);
    MPI_Type_free(&type);
}

void write_and_read(Part& part, MPI_File file, std::uint64_t salt) {
    const Bytes data = data_of(part, salt);
    Bytes back(data.size());
    part.check(MPI_File_write_at_all(file, 0, data.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE) ==
               MPI_SUCCESS);
    part.check(MPI_File_read_at_all(file, 0, back.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE) ==
               MPI_SUCCESS);
    part.check(back == data);
}

/// Opens, uses and closes one file after the other. Several threads do this at once, and compete
/// for the cached workspaces. With the store `thread`, an I/O thread uses the store as well.
void files_come_and_go(Part& part) {
    for (const char* method : {"shared_buffer", "multithreaded", "auto"})
        for (const char* store : {"posix", "thread", "uring"}) {
            const Hints hints{{"oratorio_method", method},
                              {"oratorio_store", store},
                              {"cb_buffer_size", "8192"},
                              {"oratorio_slots", "4"}};
            MPI_File file = open_file(part.name, kMode, hints, part.comm);
            set_view(part, file);
            for (std::uint64_t turn = 0; turn < 3; ++turn) write_and_read(part, file, turn);
            part.check(MPI_File_close(&file) == MPI_SUCCESS);
        }
    for (int turn = 0; turn < 50; ++turn) {
        MPI_File file = open_file(part.name, kMode, {}, part.comm);
        part.check(MPI_File_close(&file) == MPI_SUCCESS);
    }
}

/// Starts many independent and collective accesses. This thread completes them while the helper
/// thread advances them.
void many_are_under_way(Part& part) {
    constexpr int kOperations = 24;
    constexpr int kShort = 500;
    MPI_File file = open_file(part.name, kMode, {}, part.comm);
    for (std::uint64_t turn = 0; turn < 4; ++turn) {
        std::vector<Bytes> data, back(kOperations, Bytes(kShort));
        for (int i = 0; i < kOperations; ++i)
            data.push_back(data_of(part, turn * 100 + static_cast<std::uint64_t>(i), kShort));
        for (const bool writes : {true, false}) {
            std::vector<MPI_Request> requests(kOperations);
            for (int i = 0; i < kOperations; ++i) {
                const auto at = static_cast<MPI_Offset>(kShort) * (i * part.ranks + part.rank);
                const auto which = static_cast<std::size_t>(i);
                const int code =
                    writes ? (i % 3 == 0 ? MPI_File_iwrite_at : MPI_File_iwrite_at_all)(
                                 file, at, data[which].data(), kShort, MPI_BYTE, &requests[which])
                           : (i % 3 == 1 ? MPI_File_iread_at : MPI_File_iread_at_all)(
                                 file, at, back[which].data(), kShort, MPI_BYTE, &requests[which]);
                part.check(code == MPI_SUCCESS);
            }
            int done = 0;
            while (done == 0) MPI_Test(&requests[5], &done, MPI_STATUS_IGNORE);
            part.check(MPI_Waitall(kOperations, requests.data(), MPI_STATUSES_IGNORE) ==
                       MPI_SUCCESS);
        }
        part.check(back == data);
        const Bytes split = data_of(part, turn, kShort);
        MPI_File_write_at_all_begin(file, kShort * part.rank, split.data(), kShort, MPI_BYTE);
        part.check(MPI_File_write_at_all_end(file, split.data(), MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    part.check(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Lets several threads use one handle: each writes at offsets of its own, and appends records at
/// the shared file pointer.
void one_handle_is_shared(Part& part) {
    constexpr int kThreads = 2;
    constexpr int kTurns = 40;
    constexpr int kRecord = 100;
    MPI_File file = open_file(part.name, kMode, {}, part.comm);
    const auto use = [&](int thread) {
        const Bytes data = data_of(part, static_cast<std::uint64_t>(thread), kRecord);
        for (int turn = 0; turn < kTurns; ++turn) {
            const auto at = static_cast<MPI_Offset>(kRecord) *
                                ((turn * kThreads + thread) * part.ranks + part.rank) +
                            (1 << 20);
            Bytes back(data.size());
            MPI_Request request = MPI_REQUEST_NULL;
            part.check(MPI_File_iwrite_at(file, at, data.data(), kRecord, MPI_BYTE, &request) ==
                       MPI_SUCCESS);
            part.check(MPI_File_write_shared(file, data.data(), kRecord, MPI_BYTE,
                                             MPI_STATUS_IGNORE) == MPI_SUCCESS);
            part.check(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            part.check(MPI_File_read_at(file, at, back.data(), kRecord, MPI_BYTE,
                                        MPI_STATUS_IGNORE) == MPI_SUCCESS);
            part.check(back == data);
        }
    };
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(use, thread);
    for (std::thread& thread : threads) thread.join();
    MPI_Barrier(part.comm);
    MPI_Offset end = 0;
    MPI_File_get_position_shared(file, &end);
    part.check(end == static_cast<MPI_Offset>(kRecord) * kThreads * kTurns * part.ranks);
    part.check(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Increments a counter that rank 0 serves, as it does if the ranks are on several nodes.
void a_counter_is_served(Part& part) {
    constexpr int kTimes = 200;
    CounterService counters;
    for (int turn = 0; turn < 3; ++turn) {
        auto opened = MpiTransport::open(part.comm);
        if (!opened.ok()) return part.check(false);
        MpiTransport& transport = **opened;
        transport.share_counter(counters);
        std::int64_t last = -1;
        for (int i = 0; i < kTimes; ++i) {
            const auto given = transport.counter().fetch_add(1);
            part.check(given.ok() && *given > last);
            last = given.ok() ? *given : last;
        }
        MPI_Barrier(part.comm);
        const auto all = transport.counter().fetch_add(0);
        part.check(all.ok() && *all == std::int64_t{kTimes} * part.ranks);
        MPI_Barrier(part.comm);
    }
}

void run() {
    const ScratchFile scratch;
    const std::vector<std::function<void(Part&)>> bodies{files_come_and_go, files_come_and_go,
                                                         many_are_under_way, one_handle_is_shared,
                                                         a_counter_is_served};
    std::vector<Part> parts(bodies.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        MPI_Comm_dup(MPI_COMM_WORLD, &parts[i].comm);
        parts[i].name = scratch.name() + "." + std::to_string(i);
        parts[i].rank = rank_of_world();
        parts[i].ranks = size_of_world();
    }
    for (std::size_t i = 0; i < parts.size(); ++i)
        threads.emplace_back([&, i] { bodies[i](parts[i]); });
    for (std::thread& thread : threads) thread.join();
    for (Part& part : parts) {
        CHECK_IN(part.name, part.wrong == 0);
        MPI_Comm_free(&part.comm);
        if (rank_of_world() == 0) ::unlink(part.name.c_str());
    }
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    constexpr int kSkipped = 77;
    int level = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level == MPI_THREAD_MULTIPLE) oratorio::test::run();
    const int result = oratorio::test::verdict("at_once");
    MPI_Finalize();
    if (level == MPI_THREAD_MULTIPLE) return result;
    std::printf("skipped: this MPI has no MPI_THREAD_MULTIPLE\n");
    return kSkipped;
}
