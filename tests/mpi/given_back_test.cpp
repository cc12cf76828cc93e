// SPDX-License-Identifier: BSD-3-Clause
// MPI_File_close frees the host's handles that an open file holds, in the thread that calls it,
// even if a thread of the library still holds the file, because that thread must not call the host.
// The program contains the library's own objects, and intercepts the calls to the host that free
// handles.
#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "bind/process.hpp"
#include "mpi/bind_support.hpp"

namespace oratorio::test {
namespace {

enum class What { errhandler, type };

/// A handle that was freed, and the thread that freed it. `freed` lists them in order; the threads
/// of this test run one after the other.
struct Freed {
    What what;
    std::thread::id by;
};
std::vector<Freed> freed;
Host real;
/// The file's handler. The test records no other handlers, because the library also frees those of
/// communicators, which it replaces.
MPI_Errhandler of_file{};

int free_errhandler(MPI_Errhandler* handler) {
    if (*handler == of_file) freed.push_back({What::errhandler, std::this_thread::get_id()});
    return real.Errhandler_free(handler);
}

int free_type(MPI_Datatype* type) {
    freed.push_back({What::type, std::this_thread::get_id()});
    return real.Type_free(type);
}

void stand_in_for_the_host() {
    real = host();
    Host& functions = const_cast<Host&>(host());
    functions.Errhandler_free = free_errhandler;
    functions.Type_free = free_type;
}

long count(What what) {
    return std::count_if(freed.begin(), freed.end(),
                         [what](const Freed& each) { return each.what == what; });
}

void pass_over(MPI_File*, int*, ...) {}

/// Opens a file with an error handler, an etype and a filetype that the program has freed, so that
/// only the file holds them.
MPI_File open_with_handles() {
    MPI_File file = open_scratch();
    MPI_Errhandler handler{};
    CHECK(MPI_File_create_errhandler(pass_over, &handler) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(file, handler) == MPI_SUCCESS);
    of_file = handler;
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    MPI_Datatype etype{}, filetype{};
    MPI_Type_contiguous(2, MPI_INT, &etype);
    MPI_Type_vector(3, 1, 2, etype, &filetype);
    MPI_Type_commit(&etype);
    MPI_Type_commit(&filetype);
    CHECK(MPI_File_set_view(file, 0, etype, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&etype);
    MPI_Type_free(&filetype);
    return file;
}

void what_the_host_gave_goes_back_in_the_call_that_closes() {
    MPI_File file = open_with_handles();
    auto held = bind::process().files.find(file);
    CHECK(held != nullptr);
    const std::weak_ptr<bind::OpenFile> alive = held;
    freed.clear();
    CHECK(MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL);
    CHECK(count(What::errhandler) == 1);
    CHECK(count(What::type) == 2);
    CHECK(!alive.expired());
    std::thread([&held] { held.reset(); }).join();
    CHECK(alive.expired());
    for (const Freed& each : freed) CHECK(each.by == std::this_thread::get_id());
    CHECK(count(What::errhandler) == 1);
    CHECK(count(What::type) == 2);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    using namespace oratorio::test;
    stand_in_for_the_host();
    what_the_host_gave_goes_back_in_the_call_that_closes();
    const int result = verdict("given_back");
    MPI_Finalize();
    return result;
}
