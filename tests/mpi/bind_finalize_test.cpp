// SPDX-License-Identifier: BSD-3-Clause
// Accesses in the delete callback of an attribute of MPI_COMM_SELF. MPI_Finalize calls these
// callbacks before anything else (MPI-4.1, 11.2.4), so MPI still works there; HDF5 closes its files
// that way. The first argument says whether the attribute is set "before" or "after" the program's
// first open; with "first", the callback makes that open. A second argument requests
// MPI_THREAD_MULTIPLE.
#include <cstring>
#include <vector>

#include "mpi/bind_support.hpp"

namespace oratorio::test {
namespace {

constexpr int kCount = 100'000;  // large enough that the access cannot complete when it starts

MPI_File file = MPI_FILE_NULL;
std::string name;

/// One way to write. Each way writes different numbers.
using Write = int (*)(MPI_Offset, const int*, MPI_Status*);
const Write kWrites[] = {
    [](MPI_Offset at, const int* ints, MPI_Status* status) {
        return MPI_File_write_at(file, at, ints, kCount, MPI_INT, status);
    },
    [](MPI_Offset at, const int* ints, MPI_Status* status) {
        return MPI_File_write_at_all(file, at, ints, kCount, MPI_INT, status);
    },
    [](MPI_Offset at, const int* ints, MPI_Status* status) {
        MPI_Request request = MPI_REQUEST_NULL;
        CHECK(MPI_File_iwrite_at(file, at, ints, kCount, MPI_INT, &request) == MPI_SUCCESS);
        return MPI_Wait(&request, status);
    },
    [](MPI_Offset at, const int* ints, MPI_Status* status) {
        MPI_Request request = MPI_REQUEST_NULL;
        CHECK(MPI_File_iwrite_at_all(file, at, ints, kCount, MPI_INT, &request) == MPI_SUCCESS);
        int flag = 0, code = MPI_SUCCESS;
        while (flag == 0 && code == MPI_SUCCESS) code = MPI_Test(&request, &flag, status);
        return code;
    },
    [](MPI_Offset at, const int* ints, MPI_Status* status) {
        CHECK(MPI_File_write_at_all_begin(file, at, ints, kCount, MPI_INT) == MPI_SUCCESS);
        return MPI_File_write_at_all_end(file, ints, status);
    },
    [](MPI_Offset, const int* ints, MPI_Status* status) {
        CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
        return MPI_File_write_ordered(file, ints, kCount, MPI_INT, status);
    },
};

void each_way_to_write() {
    std::vector<int> ints(kCount), back(kCount);
    const MPI_Offset mine = rank_of_world() * static_cast<MPI_Offset>(kCount * sizeof(int));
    int value = rank_of_world();
    for (const Write write : kWrites) {
        for (int& each : ints) each = value += 7;
        MPI_Status status;
        int count = -1;
        CHECK(write(mine, ints.data(), &status) == MPI_SUCCESS);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(count == kCount);
        CHECK(MPI_File_read_at_all(file, mine, back.data(), kCount, MPI_INT, &status) ==
              MPI_SUCCESS);
        CHECK(back == ints);
    }
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
}

void open_it() {
    CHECK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                        MPI_INFO_NULL, &file) == MPI_SUCCESS);
}

int called = 0;

/// Uses the program's file (with "first" it is opened here), then opens it again and uses it. Each
/// close completes an access whose request was freed.
int use_files(MPI_Comm, int, void*, void*) {
    ++called;
    if (file == MPI_FILE_NULL) open_it();
    for (int i = 0; i < 2; ++i) {
        each_way_to_write();
        MPI_Request left = MPI_REQUEST_NULL;
        static const std::vector<int> ints(kCount, 1);
        CHECK(MPI_File_iwrite_at_all(file, 0, ints.data(), kCount, MPI_INT, &left) == MPI_SUCCESS);
        CHECK(MPI_Request_free(&left) == MPI_SUCCESS);
        CHECK(MPI_File_close(&file) == MPI_SUCCESS);
        if (i == 0) open_it();
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (rank_of_world() == 0) CHECK(MPI_File_delete(name.c_str(), MPI_INFO_NULL) == MPI_SUCCESS);
    return MPI_SUCCESS;
}

void set_attribute() {
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, use_files, &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    const std::string when = argv[1];
    int level = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    name = shared_name();
    if (when != "after") set_attribute();
    if (when != "first") open_it();
    if (when == "after") set_attribute();
    MPI_Finalize();
    if (called != 1) std::fprintf(stderr, "the callback was called %d times\n", called);
    return failures == 0 && called == 1 ? 0 : 1;
}
