// SPDX-License-Identifier: BSD-3-Clause
// File handles: values are reused, the use of a closed handle is detected, and C and Fortran have
// the same number for a handle.
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "mpi/bind_support.hpp"

extern "C" {
__attribute__((weak)) int MPI_File_toint(MPI_File);
__attribute__((weak)) MPI_File MPI_File_fromint(int);
}
#if defined(MPI_ABI)
extern "C" __attribute__((weak)) int MPI_File_c2f(MPI_File);
extern "C" __attribute__((weak)) MPI_File MPI_File_f2c(int);
#endif

namespace oratorio::test {
namespace {

constexpr int kMode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;

MPI_File open_alone(const std::string& name) {
    MPI_File file = MPI_FILE_NULL;
    CHECK(MPI_File_open(MPI_COMM_SELF, name.c_str(), kMode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    return file;
}

/// Opens and closes one file at a time, so that only one slot is in use, its generations wrap
/// around, and the value of the first handle comes back.
void a_handle_can_be_opened_and_closed_without_end(const std::string& name) {
    MPI_File made = MPI_FILE_NULL;
    CHECK(MPI_File_open(MPI_COMM_SELF, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                        &made) == MPI_SUCCESS);
    const MPI_File first = made;
    MPI_File before = made;
    MPI_File_close(&made);
    int came_back = 0;
    for (int i = 0; i < 40000; ++i) {
        MPI_File file = MPI_FILE_NULL;
        const int opened =
            MPI_File_open(MPI_COMM_SELF, name.c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        if (opened != MPI_SUCCESS || file == before || file == MPI_FILE_NULL)
            return CHECK(!"open works each time");
        before = file;
        came_back += file == first;
        if (MPI_File_close(&file) != MPI_SUCCESS || file != MPI_FILE_NULL)
            return CHECK(!"close works each time");
    }
    CHECK(came_back == 1);
    CHECK(MPI_File_delete(name.c_str(), MPI_INFO_NULL) == MPI_SUCCESS);
}

void a_closed_handle_stays_dead(const std::string& name) {
    MPI_File file = open_alone(name);
    const MPI_File dead = file;
    MPI_Offset size = -1;
    MPI_File_close(&file);
    for (int i = 0; i < 100; ++i) {
        file = open_alone(name);
        CHECK(file != dead && class_of(MPI_File_get_size(dead, &size)) == MPI_ERR_FILE);
        MPI_File_close(&file);
    }
    MPI_File again = dead;
    CHECK(class_of(MPI_File_close(&again)) == MPI_ERR_FILE);
}

/// A thread that has just used a file finds it closed by another thread, although its slot of the
/// table has another file by then.
void another_thread_sees_that_a_file_is_closed(const std::string& name) {
    MPI_File file = open_alone(name);
    const MPI_File dead = file;
    std::atomic<int> turn{0};
    std::thread user([&] {
        MPI_Offset size = -1;
        CHECK(MPI_File_get_size(dead, &size) == MPI_SUCCESS);
        turn = 1;
        turn.notify_all();
        turn.wait(1);
        CHECK(class_of(MPI_File_get_size(dead, &size)) == MPI_ERR_FILE);
    });
    turn.wait(0);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    file = open_alone(name);
    turn = 2;
    turn.notify_all();
    user.join();
    CHECK(file != dead && MPI_File_close(&file) == MPI_SUCCESS);
}

/// A request that is not completed yet keeps the file in memory, but its handle is dead.
void a_request_does_not_keep_a_handle_alive(const std::string& name) {
    MPI_File file = open_alone(name);
    const MPI_File dead = file;
    MPI_Request request = MPI_REQUEST_NULL;
    const char byte = 'a';
    CHECK(MPI_File_iwrite_at(file, 0, &byte, 1, MPI_BYTE, &request) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    CHECK(class_of(MPI_File_get_errhandler(dead, &handler)) == MPI_ERR_FILE);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

void open_files_have_their_own_handles(const std::string& name) {
    std::set<MPI_File> files;
    for (int i = 0; i < 300; ++i) files.insert(open_alone(name + std::to_string(i)));
    CHECK(files.size() == 300);
    int number = 0;
    for (MPI_File file : files) {
        CHECK(MPI_File_set_size(file, number) == MPI_SUCCESS);
        ++number;
    }
    number = 0;
    for (MPI_File file : files) {
        MPI_Offset size = -1;
        CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == number);
        ++number;
        CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    }
}

void a_handle_survives_its_integer(const std::string& name) {
    MPI_File file = open_alone(name);
    const int number = MPI_File_c2f(file);
    CHECK(number > 0 && MPI_File_f2c(number) == file);
    CHECK(MPI_File_toint(file) == number && MPI_File_fromint(number) == file);
    const int null = MPI_File_c2f(MPI_FILE_NULL);
    CHECK(null != number && MPI_File_f2c(null) == MPI_FILE_NULL);
    CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Offset size = -1;
    CHECK(class_of(MPI_File_get_size(MPI_File_f2c(number), &size)) == MPI_ERR_FILE);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    int level = MPI_THREAD_SINGLE;  // the threads of the test take turns
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    using namespace oratorio::test;
    const std::string name = shared_name();
    a_handle_can_be_opened_and_closed_without_end(name);
    a_handle_survives_its_integer(name);
    a_closed_handle_stays_dead(name);
    another_thread_sees_that_a_file_is_closed(name);
    a_request_does_not_keep_a_handle_alive(name);
    open_files_have_their_own_handles(name);
    const int result = verdict("bind_handles");
    MPI_Finalize();
    return result;
}
