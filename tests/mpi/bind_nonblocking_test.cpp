// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking accesses as the program sees them. The host's calls complete requests in any order,
// mixed with requests of messages. The test checks statuses, failures, and accesses that are
// started and never waited for. With the argument "thread" MPI is initialised with
// MPI_THREAD_MULTIPLE.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "mpi/bind_support.hpp"

namespace oratorio::test {
namespace {

constexpr int kCount = 250;
constexpr int kOperations = 120;  // accesses under way at once
constexpr int kLarge = 100'000;   // large enough that the access cannot complete when it starts

/// The data of many accesses. Access i of a rank is kCount ints, which are interleaved with the
/// ints of the other ranks.
struct Data {
    std::vector<int> ints = std::vector<int>(static_cast<std::size_t>(kCount) * kOperations);
    Data() {
        for (std::size_t i = 0; i < ints.size(); ++i)
            ints[i] = rank_of_world() * 1000000 + static_cast<int>(i);
    }
    [[nodiscard]] int* of(int access) { return ints.data() + access * kCount; }
};

MPI_Offset place(int access) {
    return (static_cast<MPI_Offset>(access) * size_of_world() + rank_of_world()) *
           static_cast<MPI_Offset>(kCount * sizeof(int));
}

MPI_Request start_write(MPI_File file, Data& data, int access) {
    MPI_Request request = MPI_REQUEST_NULL;
    const auto write = access % 2 == 0 ? MPI_File_iwrite_at : MPI_File_iwrite_at_all;
    CHECK(write(file, place(access), data.of(access), kCount, MPI_INT, &request) == MPI_SUCCESS);
    CHECK(request != MPI_REQUEST_NULL);
    return request;
}

MPI_Request start_read(MPI_File file, Data& data, int access) {
    MPI_Request request = MPI_REQUEST_NULL;
    const auto read = access % 3 == 0 ? MPI_File_iread_at : MPI_File_iread_at_all;
    CHECK(read(file, place(access), data.of(access), kCount, MPI_INT, &request) == MPI_SUCCESS);
    return request;
}

bool counts(const MPI_Status& status, int count) {
    int got = -1, cancelled = 1;
    MPI_Get_count(&status, MPI_INT, &got);
    MPI_Test_cancelled(&status, &cancelled);
    return got == count && cancelled == 0;
}

void many_are_completed_together_with_messages(MPI_File file) {
    Data data, back;
    const int next = (rank_of_world() + 1) % size_of_world();
    const int before = (rank_of_world() + size_of_world() - 1) % size_of_world();
    std::vector<MPI_Request> requests;
    for (int i = 0; i < kOperations; ++i) requests.push_back(start_write(file, data, i));
    int in = -1, out = rank_of_world();
    requests.resize(kOperations + 2);
    MPI_Irecv(&in, 1, MPI_INT, before, 1, MPI_COMM_WORLD, &requests[kOperations]);
    MPI_Isend(&out, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[kOperations + 1]);
    std::vector<MPI_Status> statuses(requests.size());
    CHECK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data()) ==
          MPI_SUCCESS);
    CHECK(in == before);
    for (int i = 0; i < kOperations; ++i)
        CHECK(counts(statuses[static_cast<std::size_t>(i)], kCount));

    std::memset(back.ints.data(), 0, back.ints.size() * sizeof(int));
    requests.resize(kOperations);
    for (int i = 0; i < kOperations; ++i)
        requests[static_cast<std::size_t>(i)] = start_read(file, back, i);
    // The last request is completed first, then one by MPI_Test, then the others in any order.
    MPI_Status status;
    CHECK(MPI_Wait(&requests.back(), &status) == MPI_SUCCESS && counts(status, kCount));
    int flag = 0;
    while (flag == 0) CHECK(MPI_Test(&requests[5], &flag, &status) == MPI_SUCCESS);
    CHECK(counts(status, kCount) && requests[5] == MPI_REQUEST_NULL);
    int index = -1;
    CHECK(MPI_Waitany(kOperations, requests.data(), &index, &status) == MPI_SUCCESS);
    CHECK(index >= 0 && counts(status, kCount));
    std::vector<int> indices(kOperations);
    for (int left = kOperations - 3; left > 0;) {
        int done = 0;
        CHECK(MPI_Waitsome(kOperations, requests.data(), &done, indices.data(), statuses.data()) ==
              MPI_SUCCESS);
        CHECK(done > 0);
        if (done <= 0) break;
        left -= done;
    }
    CHECK(back.ints == data.ints);
}

/// Lets rank 0, which takes part in the other ranks' collective write, wait in MPI_Recv until the
/// others have completed the write.
void a_rank_that_waits_for_a_message_does_not_hold_up_the_others(MPI_File file) {
    const std::vector<int> ints(kLarge, rank_of_world());
    const MPI_Offset mine = rank_of_world() * static_cast<MPI_Offset>(kLarge * sizeof(int));
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(MPI_File_iwrite_at_all(file, mine, ints.data(), kLarge, MPI_INT, &request) ==
          MPI_SUCCESS);
    int token = 0;
    if (rank_of_world() == 0) {
        for (int from = 1; from < size_of_world(); ++from)
            MPI_Recv(&token, 1, MPI_INT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        MPI_Send(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
}

/// A call that tests the second of two requests; the first is MPI_REQUEST_NULL.
struct Question {
    const char* name;
    bool (*is_done)(const MPI_Request* both, MPI_Status* status);
};

const Question kQuestions[] = {
    {"MPI_Request_get_status",
     [](const MPI_Request* both, MPI_Status* status) {
         int flag = 0;
         CHECK(MPI_Request_get_status(both[1], &flag, status) == MPI_SUCCESS);
         return flag != 0;
     }},
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION > 0)
    {"MPI_Request_get_status_any",
     [](const MPI_Request* both, MPI_Status* status) {
         int flag = 0, index = -1;
         CHECK(MPI_Request_get_status_any(2, both, &index, &flag, status) == MPI_SUCCESS);
         if (flag != 0) CHECK(index == 1);
         return flag != 0;
     }},
    {"MPI_Request_get_status_all",
     [](const MPI_Request* both, MPI_Status* status) {
         int flag = 0;
         MPI_Status statuses[2];
         CHECK(MPI_Request_get_status_all(2, both, &flag, statuses) == MPI_SUCCESS);
         *status = statuses[1];
         return flag != 0;
     }},
    {"MPI_Request_get_status_some",
     [](const MPI_Request* both, MPI_Status* status) {
         int indices[2] = {-1, -1}, done = 0;
         CHECK(MPI_Request_get_status_some(2, both, &done, indices, status) == MPI_SUCCESS);
         if (done > 0) CHECK(done == 1 && indices[0] == 1);
         return done > 0;
     }},
#endif
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000 && !defined(MPI_ABI)
    {"MPIX_Request_is_complete",
     [](const MPI_Request* both, MPI_Status* status) {
         if (MPIX_Request_is_complete(both[1]) == 0) return false;
         int flag = 0;
         return MPI_Request_get_status(both[1], &flag, status) == MPI_SUCCESS && flag != 0;
     }},
#endif
};

/// Returns true if the host has the call. A program compiled for a newer MPI may run on an older
/// host.
bool host_has(const Question& question) {
    int version = 0, subversion = 0;
    MPI_Get_version(&version, &subversion);
    const bool old = std::strcmp(question.name, "MPI_Request_get_status") == 0;
    return old || version > MPI_VERSION || (version == MPI_VERSION && subversion >= MPI_SUBVERSION);
}

/// Repeats one testing call, without any other call. That must complete the access (MPI-4.1,
/// 3.7.6).
void each_way_to_ask_moves_them_on(MPI_File file) {
    std::vector<int> ints(kLarge, rank_of_world());
    const MPI_Offset mine = rank_of_world() * static_cast<MPI_Offset>(kLarge * sizeof(int));
    for (const Question& question : kQuestions) {
        if (!host_has(question)) continue;
        for (const auto write : {MPI_File_iwrite_at_all, MPI_File_iwrite_at}) {
            MPI_Request both[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
            MPI_Status status;
            CHECK(write(file, mine, ints.data(), kLarge, MPI_INT, &both[1]) == MPI_SUCCESS);
            while (!question.is_done(both, &status)) {
            }
            CHECK(counts(status, kLarge) && both[1] != MPI_REQUEST_NULL);
            CHECK(MPI_Wait(&both[1], &status) == MPI_SUCCESS && counts(status, kLarge));
        }
    }
}

int handled = 0;
extern "C" void count_failures(MPI_File*, int*, ...) {
    ++handled;
}

void failures_reach_the_files_handler_when_they_are_completed() {
    const std::string name = shared_name();
    MPI_File file = MPI_FILE_NULL;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY,
                        MPI_INFO_NULL, &file) == MPI_SUCCESS);
    MPI_Errhandler handler;
    MPI_File_create_errhandler(count_failures, &handler);
    MPI_File_set_errhandler(file, handler);
    int value = 7;
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    CHECK(class_of(MPI_File_iread_at(file, 0, &value, 1, MPI_INT, &requests[0])) == MPI_ERR_ACCESS);
    CHECK(requests[0] == MPI_REQUEST_NULL && handled == 1);
    // A collective access starts even if it must fail, because the other ranks wait for this rank.
    // Its error is reported when it is completed.
    CHECK(MPI_File_iread_at_all(file, 0, &value, 1, MPI_INT, &requests[0]) == MPI_SUCCESS);
    CHECK(class_of(MPI_Wait(&requests[0], MPI_STATUS_IGNORE)) == MPI_ERR_ACCESS && handled == 2);
    MPI_File_iwrite_at_all(file, 0, &value, 1, MPI_INT, &requests[0]);
    MPI_File_iread_at_all(file, 0, &value, 1, MPI_INT, &requests[1]);
    MPI_File_iwrite_at(file, 4 * rank_of_world(), &value, 1, MPI_INT, &requests[2]);
    MPI_Status statuses[3];
    CHECK(MPI_Waitall(3, requests, statuses) == MPI_ERR_IN_STATUS && handled == 3);
    CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && counts(statuses[0], 1));
    CHECK(class_of(statuses[1].MPI_ERROR) == MPI_ERR_ACCESS && counts(statuses[1], 0));
    CHECK(statuses[2].MPI_ERROR == MPI_SUCCESS && counts(statuses[2], 1));
    MPI_Errhandler_free(&handler);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_of_world() == 0) MPI_File_delete(name.c_str(), MPI_INFO_NULL);
}

void what_is_freed_is_done_by_the_close_and_cancelling_changes_nothing() {
    const std::string name = shared_name();
    MPI_File file = MPI_FILE_NULL;
    MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                  &file);
    Data data;
    for (int i = 0; i < 8; ++i) {
        MPI_Request request = start_write(file, data, i);
        if (i < 4) {
            CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
        } else {
            MPI_Status status;
            CHECK(MPI_Cancel(&request) == MPI_SUCCESS);
            CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && counts(status, kCount));
        }
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    for (int i = 0; i < 8; ++i) {
        std::vector<int> back(kCount);
        CHECK(MPI_File_read_at(file, place(i), back.data(), kCount, MPI_INT, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(std::memcmp(back.data(), data.of(i), sizeof(int) * kCount) == 0);
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Starts a small write, and finds its data in the file before any other call is made: the access
/// needs no thread to wake up.
void a_small_access_is_made_when_it_starts() {
    const std::string name = shared_name();
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    MPI_File file = MPI_FILE_NULL;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), mode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    const int value = 1000 + rank_of_world();
    MPI_Request request = MPI_REQUEST_NULL;
    const MPI_Offset mine = rank_of_world() * static_cast<MPI_Offset>(sizeof value);
    CHECK(MPI_File_iwrite_at(file, mine, &value, 1, MPI_INT, &request) == MPI_SUCCESS);
    int stored = -1;
    const int descriptor = open(name.c_str(), O_RDONLY);
    CHECK(pread(descriptor, &stored, sizeof stored, mine) == sizeof stored && stored == value);
    close(descriptor);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Leaves a request that is never waited for. MPI_Finalize must not hang.
void one_is_left_to_finalize() {
    static Data data;
    MPI_File file = open_scratch();
    (void)start_write(file, data, 1);
}

void run() {
    MPI_File file = open_scratch();
    many_are_completed_together_with_messages(file);
    each_way_to_ask_moves_them_on(file);
    a_rank_that_waits_for_a_message_does_not_hold_up_the_others(file);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    a_small_access_is_made_when_it_starts();
    failures_reach_the_files_handler_when_they_are_completed();
    what_is_freed_is_done_by_the_close_and_cancelling_changes_nothing();
    one_is_left_to_finalize();
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    int level = MPI_THREAD_SINGLE;
    if (argc > 1) {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    } else {
        MPI_Init(&argc, &argv);
    }
    oratorio::test::run();
    const int result = oratorio::test::verdict("bind_nonblocking");
    MPI_Finalize();
    return result;
}
