// SPDX-License-Identifier: BSD-3-Clause
// A rank that waits in a call of the library advances everything that other ranks may wait for: the
// program's own messages, and operations on other files. The test is a plain MPI program; each case
// hung before the library did so. With the argument "late" one rank enters a call late, so that
// the other ranks print what they wait for.
#include <unistd.h>

#include <algorithm>

#include "mpi/file_support.hpp"

namespace oratorio::test {
namespace {

constexpr int kMessages = 200;  // more than hosts send at once to a rank that doesn't receive
constexpr int kLength = 8000;

/// Makes sure that rank 0 is in `call` before the last rank has received its messages.
template <class Call>
void messages_arrive_while_the_sender_waits(const Call& call) {
    const int last = size_of_world() - 1;
    Bytes bytes(kLength, 7);
    std::vector<MPI_Request> requests;
    if (rank_of_world() == 0) {
        requests.resize(kMessages);
        for (MPI_Request& request : requests)
            MPI_Isend(bytes.data(), kLength, MPI_BYTE, last, 1, MPI_COMM_WORLD, &request);
    } else if (rank_of_world() == last) {
        usleep(20'000);
        for (int i = 0; i < kMessages; ++i)
            MPI_Recv(bytes.data(), kLength, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    call();
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

void in_collective_calls(const std::string& method) {
    const ScratchFile name;
    MPI_File file =
        open_file(name.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, {{"oratorio_method", method}});
    int value = rank_of_world();
    const MPI_Offset mine = rank_of_world() * static_cast<MPI_Offset>(sizeof value);
    messages_arrive_while_the_sender_waits([&] {
        CHECK(MPI_File_write_at_all(file, mine, &value, 1, MPI_INT, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
    });
    messages_arrive_while_the_sender_waits([&] {
        CHECK(MPI_File_read_at_all(file, mine, &value, 1, MPI_INT, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
    });
    messages_arrive_while_the_sender_waits([&] {
        CHECK(MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    });
    messages_arrive_while_the_sender_waits(
        [&] { CHECK(MPI_File_set_size(file, 100) == MPI_SUCCESS); });
    messages_arrive_while_the_sender_waits([&] { CHECK(MPI_File_close(&file) == MPI_SUCCESS); });
}

/// Lets the last rank complete an access of one file before it enters the call on the other file,
/// in which rank 0 already waits. Accesses progress only in calls of the program.
void another_file_moves_on_while_a_rank_waits(const std::string& method) {
    const ScratchFile first, second;
    const Hints hints{{"oratorio_method", method}, {"oratorio_progress", "calls"}};
    MPI_File one = open_file(first.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
    MPI_File two = open_file(second.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
    const int value = rank_of_world();
    const MPI_Offset mine = rank_of_world() * static_cast<MPI_Offset>(sizeof value);
    const bool waits_first = rank_of_world() == size_of_world() - 1;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(MPI_File_iwrite_at_all(one, mine, &value, 1, MPI_INT, &request) == MPI_SUCCESS);
    if (waits_first) CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(two, mine, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (!waits_first) CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_close(&one) == MPI_SUCCESS);
    CHECK(MPI_File_close(&two) == MPI_SUCCESS);
}

void the_last_rank_is_late() {
    MPI_File file = open_scratch();
    const int value = 1;
    if (rank_of_world() == size_of_world() - 1) usleep(2'500'000);
    CHECK(MPI_File_write_at_all(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void nobody_waits_in_vain() {
    for (const char* method : {"auto", "two_phase"}) in_collective_calls(method);
    for (const char* method : {"auto", "shared_buffer", "shared_data", "two_phase"})
        another_file_moves_on_while_a_rank_waits(method);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    MPI_Init(&argc, &argv);
    if (argc > 1) {
        the_last_rank_is_late();
    } else {
        nobody_waits_in_vain();
    }
    const int code = verdict("waiting");
    MPI_Finalize();
    return code;
}
