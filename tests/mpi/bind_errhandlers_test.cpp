// SPDX-License-Identifier: BSD-3-Clause
// Error handlers of files: which handler runs, with which arguments, and that a handler outlives
// the handle that the program frees.
#include <unistd.h>

#include <stdexcept>

#include "mpi/bind_support.hpp"

#if defined(MPI_ABI)
using MPI_Fint = int;
#endif

extern "C" {
__attribute__((weak)) int MPIX_File_create_errhandler_x(void (*)(MPI_File, int, void*),
                                                        void (*)(void*), void*, MPI_Errhandler*);
__attribute__((weak)) void mpi_file_create_errhandler_(void (*)(), MPI_Fint*, MPI_Fint*);
}

namespace oratorio::test {
namespace {

struct Told {
    int calls = 0;
    MPI_File file = MPI_FILE_NULL;
    int error_class = -1;
};
Told told;

extern "C" void tell_handler(MPI_File* file, int* code, ...) {
    told = {told.calls + 1, *file, class_of(*code)};
}

extern "C" void silent_handler(MPI_File*, int*, ...) {}

int bad_seek(MPI_File file) {
    return class_of(MPI_File_seek(file, -1, MPI_SEEK_SET));
}

/// Returns true if tell_handler() ran exactly once since the last query, for this file and class.
bool told_of(MPI_File file, int error_class) {
    const bool right = told.calls == 1 && told.file == file && told.error_class == error_class;
    told = {};
    return right;
}

MPI_Errhandler made_handler() {
    MPI_Errhandler handler;
    CHECK(MPI_File_create_errhandler(tell_handler, &handler) == MPI_SUCCESS);
    return handler;
}

void errors_return_at_first() {
    MPI_Errhandler handler;
    CHECK(MPI_File_get_errhandler(MPI_FILE_NULL, &handler) == MPI_SUCCESS &&
          handler == MPI_ERRORS_RETURN);
    MPI_File file = open_scratch();
    CHECK(MPI_File_get_errhandler(file, &handler) == MPI_SUCCESS && handler == MPI_ERRORS_RETURN);
    CHECK(bad_seek(file) == MPI_ERR_ARG);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void a_users_handler_runs_after_its_handle_was_freed_and_used_again() {
    MPI_File file = open_scratch(), other = open_scratch();
    MPI_Errhandler handler = made_handler();
    CHECK(MPI_File_set_errhandler(file, handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    MPI_Errhandler recycled;
    CHECK(MPI_File_create_errhandler(silent_handler, &recycled) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(other, recycled) == MPI_SUCCESS);
    CHECK(bad_seek(file) == MPI_ERR_ARG && told_of(file, MPI_ERR_ARG));
    CHECK(bad_seek(other) == MPI_ERR_ARG && told.calls == 0);
    MPI_Errhandler_free(&recycled);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    CHECK(MPI_File_close(&other) == MPI_SUCCESS);
}

void a_got_handler_is_the_set_one() {
    MPI_File file = open_scratch(), other = open_scratch();
    MPI_Errhandler handler = made_handler(), got;
    MPI_File_set_errhandler(file, handler);
    MPI_Errhandler_free(&handler);
    CHECK(MPI_File_get_errhandler(file, &got) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(bad_seek(file) == MPI_ERR_ARG && told.calls == 0);
    CHECK(MPI_File_set_errhandler(other, got) == MPI_SUCCESS);
    MPI_Errhandler_free(&got);
    CHECK(bad_seek(other) == MPI_ERR_ARG && told_of(other, MPI_ERR_ARG));
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    CHECK(MPI_File_close(&other) == MPI_SUCCESS);
}

void predefined_handlers_come_back() {
    MPI_File file = open_scratch();
    MPI_Errhandler got;
    CHECK(MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
    CHECK(MPI_File_get_errhandler(file, &got) == MPI_SUCCESS && got == MPI_ERRORS_ARE_FATAL);
#ifdef MPI_ERRORS_ABORT
    CHECK(MPI_File_set_errhandler(file, MPI_ERRORS_ABORT) == MPI_SUCCESS);
    CHECK(MPI_File_get_errhandler(file, &got) == MPI_SUCCESS && got == MPI_ERRORS_ABORT);
#endif
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void the_default_handler_is_for_opening_and_inherited() {
    MPI_Errhandler handler = made_handler();
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, handler) == MPI_SUCCESS);
    MPI_Errhandler_free(&handler);
    MPI_File file;
    const int code = MPI_File_open(MPI_COMM_WORLD, "/no/such/folder/file", MPI_MODE_RDONLY,
                                   MPI_INFO_NULL, &file);
    CHECK(class_of(code) == MPI_ERR_NO_SUCH_FILE && told_of(MPI_FILE_NULL, MPI_ERR_NO_SUCH_FILE));
    CHECK(class_of(MPI_File_delete("/no/such/folder/file", MPI_INFO_NULL)) == MPI_ERR_NO_SUCH_FILE);
    CHECK(told_of(MPI_FILE_NULL, MPI_ERR_NO_SUCH_FILE));
    file = open_scratch();
    CHECK(bad_seek(file) == MPI_ERR_ARG && told_of(file, MPI_ERR_ARG));
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(bad_seek(file) == MPI_ERR_ARG && told_of(file, MPI_ERR_ARG));
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void a_program_may_call_the_handler_itself() {
    MPI_File file = open_scratch();
    MPI_Errhandler handler = made_handler();
    MPI_File_set_errhandler(file, handler);
    CHECK(MPI_File_call_errhandler(file, MPI_ERR_QUOTA) == MPI_SUCCESS &&
          told_of(file, MPI_ERR_QUOTA));
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    CHECK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO) == MPI_SUCCESS &&
          told_of(MPI_FILE_NULL, MPI_ERR_IO));
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

int errors_left = 0;

/// Calls the library from a handler: no lock may be held while a handler runs.
extern "C" void nested_handler(MPI_File* file, int*, ...) {
    if (--errors_left > 0) bad_seek(*file);
    MPI_Offset size = -1;
    CHECK(MPI_File_get_size(*file, &size) == MPI_SUCCESS && size == 0);
}

void a_handler_may_use_the_file() {
    MPI_File file = open_scratch();
    MPI_Errhandler handler;
    MPI_File_create_errhandler(nested_handler, &handler);
    MPI_File_set_errhandler(file, handler);
    errors_left = 3;
    CHECK(bad_seek(file) == MPI_ERR_ARG && errors_left == 0);
    MPI_Errhandler_free(&handler);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Collective. Opens a file that the close deletes, and removes it, so that the close fails on all
/// ranks.
MPI_File open_without_name() {
    MPI_File file = MPI_FILE_NULL;
    const std::string name = shared_name();
    CHECK(MPI_File_open(MPI_COMM_WORLD, name.c_str(),
                        MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &file) == MPI_SUCCESS);
    if (rank_of_world() == 0) CHECK(::unlink(name.c_str()) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    return file;
}

/// Makes `file` call `function` on errors.
void set_handler(MPI_File file, MPI_File_errhandler_function* function) {
    MPI_Errhandler handler;
    CHECK(MPI_File_create_errhandler(function, &handler) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(file, handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
}

#define CHECK_CLOSED(call) CHECK(class_of(call) == MPI_ERR_FILE)

void ask_about_closed_file(MPI_File file) {
    MPI_Offset offset = 0;
    MPI_Group group;
    MPI_Info info;
    MPI_Datatype etype, filetype;
    MPI_Aint extent = 0;
    int number = 0;
    char name[MPI_MAX_DATAREP_STRING];
    CHECK_CLOSED(MPI_File_get_size(file, &offset));
    CHECK_CLOSED(MPI_File_get_group(file, &group));
    CHECK_CLOSED(MPI_File_get_amode(file, &number));
    CHECK_CLOSED(MPI_File_get_info(file, &info));
    CHECK_CLOSED(MPI_File_get_atomicity(file, &number));
    CHECK_CLOSED(MPI_File_get_view(file, &offset, &etype, &filetype, name));
    CHECK_CLOSED(MPI_File_get_position(file, &offset));
    CHECK_CLOSED(MPI_File_get_position_shared(file, &offset));
    CHECK_CLOSED(MPI_File_get_byte_offset(file, 0, &offset));
    CHECK_CLOSED(MPI_File_get_type_extent(file, MPI_INT, &extent));
}

void change_closed_file(MPI_File file) {
    CHECK_CLOSED(MPI_File_set_size(file, 1));
    CHECK_CLOSED(MPI_File_preallocate(file, 1));
    CHECK_CLOSED(MPI_File_set_info(file, MPI_INFO_NULL));
    CHECK_CLOSED(MPI_File_set_atomicity(file, 1));
    CHECK_CLOSED(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_CLOSED(MPI_File_sync(file));
    CHECK_CLOSED(MPI_File_seek(file, 0, MPI_SEEK_END));
    CHECK_CLOSED(MPI_File_seek_shared(file, 0, MPI_SEEK_END));
}

void access_closed_file(MPI_File file) {
    char byte = 1;
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_CLOSED(MPI_File_write_at(file, 0, &byte, 1, MPI_BYTE, &status));
    CHECK_CLOSED(MPI_File_read(file, &byte, 1, MPI_BYTE, &status));
    CHECK_CLOSED(MPI_File_write_shared(file, &byte, 1, MPI_BYTE, &status));
    CHECK_CLOSED(MPI_File_write_all(file, &byte, 1, MPI_BYTE, &status));
    CHECK_CLOSED(MPI_File_read_ordered(file, &byte, 1, MPI_BYTE, &status));
    CHECK_CLOSED(MPI_File_iwrite(file, &byte, 1, MPI_BYTE, &request));
    CHECK_CLOSED(MPI_File_iread_at_all(file, 0, &byte, 1, MPI_BYTE, &request));
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_CLOSED(MPI_File_write_all_begin(file, &byte, 1, MPI_BYTE));
    CHECK_CLOSED(MPI_File_write_all_end(file, &byte, &status));
}

int closes_failed = 0;

extern "C" void closing_handler(MPI_File* file, int* code, ...) {
    ++closes_failed;
    CHECK(class_of(*code) == MPI_ERR_NO_SUCH_FILE && *file != MPI_FILE_NULL);
    ask_about_closed_file(*file);
    change_closed_file(*file);
    access_closed_file(*file);
    MPI_File again = *file;
    CHECK_CLOSED(MPI_File_close(&again));
    MPI_Errhandler mine;
    CHECK(MPI_File_get_errhandler(*file, &mine) == MPI_SUCCESS && mine != MPI_ERRORS_RETURN);
    CHECK(MPI_File_set_errhandler(*file, mine) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&mine) == MPI_SUCCESS);
}

/// Checks that calls in the handler that use the closed file return errors and don't run the
/// handler again: the recursion might never end. The file's error handler can still be changed.
void a_handler_of_a_close_finds_the_file_closed() {
    for (const bool inherited : {false, true}) {
        if (inherited) set_handler(MPI_FILE_NULL, closing_handler);
        MPI_File file = open_without_name();
        if (!inherited) set_handler(file, closing_handler);
        closes_failed = 0;
        CHECK(class_of(MPI_File_close(&file)) == MPI_ERR_NO_SUCH_FILE);
        CHECK(file == MPI_FILE_NULL && closes_failed == 1);
    }
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
}

extern "C" void throwing_handler(MPI_File*, int*, ...) {
    throw std::runtime_error("thrown by the handler");
}

/// Checks that the other ranks don't wait for the rank whose handler throws, and that the next file
/// can be opened.
void a_handler_of_a_close_may_throw_on_one_rank() {
    MPI_File file = open_without_name();
    const MPI_File handle = file;
    if (rank_of_world() == 0) set_handler(file, throwing_handler);
    bool caught = false;
    try {
        CHECK(class_of(MPI_File_close(&file)) == MPI_ERR_NO_SUCH_FILE);
    } catch (const std::runtime_error&) {
        caught = true;
    }
    CHECK(caught == (rank_of_world() == 0) && file == MPI_FILE_NULL);
    MPI_Errhandler none;
    CHECK(class_of(MPI_File_get_errhandler(handle, &none)) == MPI_ERR_FILE);
    MPI_File next = open_scratch();
    CHECK(MPI_File_close(&next) == MPI_SUCCESS);
}

void an_exception_of_a_handler_reaches_the_program() {
    MPI_File file = open_scratch();
    MPI_Errhandler handler;
    MPI_File_create_errhandler(throwing_handler, &handler);
    MPI_File_set_errhandler(file, handler);
    bool caught = false;
    try {
        bad_seek(file);
    } catch (const std::runtime_error&) {
        caught = true;
    }
    CHECK(caught);
    MPI_Offset position = -1;
    CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS && position == 0);
    MPI_Errhandler_free(&handler);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void a_handler_with_state_gets_it_and_the_state_lives_as_long_as_the_file() {
    struct State {
        Told told;
        bool destroyed = false;
    } state;
    MPI_File file = open_scratch();
    MPI_Errhandler handler;
    const auto function = [](MPI_File failed, int code, void* extra) {
        auto& known = *static_cast<State*>(extra);
        CHECK(!known.destroyed);
        known.told = {known.told.calls + 1, failed, class_of(code)};
    };
    CHECK(MPIX_File_create_errhandler_x(
              function, [](void* extra) { static_cast<State*>(extra)->destroyed = true; }, &state,
              &handler) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(file, handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    CHECK(bad_seek(file) == MPI_ERR_ARG);
    CHECK(state.told.calls == 1 && state.told.file == file &&
          state.told.error_class == MPI_ERR_ARG);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    // The host may give a new handler the value of the freed one. The library must then have
    // forgotten that value.
    MPI_Errhandler recycled = made_handler();
    MPI_Errhandler_free(&recycled);
}

#ifdef OPEN_MPI
struct FortranTold {
    MPI_Fint file = -1, code = -1;
} fortran_told;

extern "C" void fortran_handler(MPI_Fint* file, MPI_Fint* code) {
    fortran_told = {*file, *code};
}

void a_fortran_handler_gets_the_fortran_handle() {
    MPI_File file = open_scratch();
    MPI_Fint handle = -1, ierror = -1;
    CHECK(mpi_file_create_errhandler_ != nullptr);
    mpi_file_create_errhandler_(reinterpret_cast<void (*)()>(fortran_handler), &handle, &ierror);
    CHECK(ierror == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(file, MPI_Errhandler_f2c(handle)) == MPI_SUCCESS);
    CHECK(bad_seek(file) == MPI_ERR_ARG);
    CHECK(fortran_told.file == MPI_File_c2f(file) && class_of(fortran_told.code) == MPI_ERR_ARG);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}
#else
// With other hosts the Fortran bindings call the C routines, so there is nothing to test.
void a_fortran_handler_gets_the_fortran_handle() {}
#endif

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    using namespace oratorio::test;
    errors_return_at_first();
    a_users_handler_runs_after_its_handle_was_freed_and_used_again();
    a_got_handler_is_the_set_one();
    predefined_handlers_come_back();
    the_default_handler_is_for_opening_and_inherited();
    a_program_may_call_the_handler_itself();
    a_handler_may_use_the_file();
    an_exception_of_a_handler_reaches_the_program();
    a_handler_of_a_close_finds_the_file_closed();
    a_handler_of_a_close_may_throw_on_one_rank();
    a_handler_with_state_gets_it_and_the_state_lives_as_long_as_the_file();
    a_fortran_handler_gets_the_fortran_handle();
    const int result = verdict("bind_errhandlers");
    MPI_Finalize();
    return result;
}
