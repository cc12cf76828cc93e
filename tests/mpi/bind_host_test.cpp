// SPDX-License-Identifier: BSD-3-Clause
// Files that use the host MPI's own MPI-IO: every call on such a file goes to the host.
// usage: bind_host_test all|hinted
//   all     the environment passes every file to the host (ORATORIO_DISABLE or ORATORIO_METHOD)
//   hinted  the info of one file passes it to the host; Oratorio serves another at the same time
#include <cstring>

#include "mpi/bind_support.hpp"

extern "C" __attribute__((weak)) int MPI_File_write_at_c(MPI_File, MPI_Offset, const void*,
                                                         MPI_Count, MPI_Datatype, MPI_Status*);

extern "C" __attribute__((weak)) int MPIX_File_create_errhandler_x(void (*)(MPI_File, int, void*),
                                                                   void (*)(void*), void*,
                                                                   MPI_Errhandler*);

namespace oratorio::test {
namespace {

int calls = 0;
extern "C" void count_call(MPI_File*, int*, ...) {
    ++calls;
}

/// Returns true if Oratorio serves the file: it then reports its own hints for the file.
bool is_ours(MPI_File file) {
    MPI_Info info;
    char value[64] = {};
    int found = 0;
    CHECK(MPI_File_get_info(file, &info) == MPI_SUCCESS);
    MPI_Info_get(info, "oratorio_slots", sizeof value - 1, value, &found);
    MPI_Info_free(&info);
    return found != 0;
}

void iwrite_completes(MPI_File file) {
    MPI_Request request = MPI_REQUEST_NULL;
    int value = 4711;
    CHECK(MPI_File_iwrite_at(file, 4 * rank_of_world(), &value, 1, MPI_INT, &request) ==
          MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

void the_host_does_everything(MPI_File file) {
    CHECK(!is_ours(file));
    iwrite_completes(file);
    const int rank = rank_of_world();
    int value = rank, got = -1;
    CHECK(MPI_File_write_at_all(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, 4 * rank, &got, 1, MPI_INT, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS &&
          got == rank);
    value = rank + 100;
    CHECK(MPI_File_write_at_c(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_File_read_at(file, 4 * rank, &got, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
          got == value);
    int mode = 0;
    CHECK(MPI_File_get_amode(file, &mode) == MPI_SUCCESS && (mode & MPI_MODE_RDWR) != 0);
#ifndef MPI_ABI
    CHECK(MPI_File_f2c(MPI_File_c2f(file)) == file);
#endif
    MPI_Errhandler handler;
    CHECK(MPI_File_create_errhandler(count_call, &handler) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(file, handler) == MPI_SUCCESS);
    calls = 0;
    // The return code is not checked, because MPICH 5 returns success after a user's handler has
    // run.
    MPI_File_seek(file, -1, MPI_SEEK_SET);
    CHECK(calls == 1);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
}

/// Returns true if the host is MPICH 5 or newer, which has handlers with state. MPICH's library of
/// the standard ABI only declares them.
bool host_has_handlers_with_state() {
#ifdef MPI_ABI
    return false;
#else
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0, number = 0;
    MPI_Get_library_version(version, &length);
    return std::sscanf(version, "MPICH Version: %d", &number) == 1 && number >= 5;
#endif
}

/// Checks that the state outlives the handle that the program frees.
void a_handler_with_state_runs_for_the_hosts_file(MPI_File file) {
    if (!host_has_handlers_with_state()) return;
    struct State {
        int calls = 0;
        bool destroyed = false;
    };
    static State state;
    MPI_Errhandler handler;
    const auto function = [](MPI_File, int, void* extra) {
        CHECK(extra == &state && !state.destroyed);
        ++state.calls;
    };
    CHECK(MPIX_File_create_errhandler_x(
              function, [](void*) { state.destroyed = true; }, &state, &handler) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(file, handler) == MPI_SUCCESS);
    MPI_File_seek(file, -1, MPI_SEEK_SET);
    CHECK(state.calls == 1);
    // With Oratorio off, the host runs the destructor at once, as it does without Oratorio.
    if (std::getenv("ORATORIO_DISABLE") == nullptr) {
        CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
        MPI_File_seek(file, -1, MPI_SEEK_SET);
        CHECK(state.calls == 2);
    }
}

void a_hint_hands_one_file_to_the_host() {
    MPI_Info info;
    MPI_Info_create(&info);
    // The value of rank 0 counts on all ranks, as with all hints.
    MPI_Info_set(info, "oratorio_method", rank_of_world() == 0 ? "host" : "auto");
    MPI_File theirs = open_scratch(info), ours = open_scratch();
    MPI_Info_free(&info);
    the_host_does_everything(theirs);
    a_handler_with_state_runs_for_the_hosts_file(theirs);
    CHECK(is_ours(ours));
    iwrite_completes(ours);
    CHECK(MPI_File_close(&theirs) == MPI_SUCCESS && theirs == MPI_FILE_NULL);
    CHECK(MPI_File_close(&ours) == MPI_SUCCESS);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    using namespace oratorio::test;
    if (argc == 2 && std::strcmp(argv[1], "hinted") == 0) {
        a_hint_hands_one_file_to_the_host();
    } else {
        MPI_File file = open_scratch();
        the_host_does_everything(file);
        a_handler_with_state_runs_for_the_hosts_file(file);
        CHECK(MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL);
    }
    const int result = verdict("bind_host");
    MPI_Finalize();
    return result;
}
