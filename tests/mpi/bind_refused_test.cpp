// Every procedure that isn't there yet says so: through the error handler, with the class for it,
// and never by the host's routine.
#include <dlfcn.h>

#include "mpi/bind_support.hpp"

namespace oratorio::test {
namespace {

// As the preload library: all arguments are words.
using Routine = long (*)(MPI_File, long, long, long, long, long);

const char* const kRefused[] = {
#define ORATORIO_REFUSED(name) #name,
#include "refused.inc"
#undef ORATORIO_REFUSED
};

int calls = 0;
int last_class = -1;

extern "C" void count_calls(MPI_File*, int* code, ...) {
    ++calls;
    last_class = class_of(*code);
}

void each_is_refused_through_the_handler(MPI_File file) {
    for (const char* name : kRefused) {
        void* address = dlsym(RTLD_DEFAULT, name);
        if (address == nullptr) std::fprintf(stderr, "%s is missing\n", name);
        CHECK(address != nullptr);
        if (address == nullptr) continue;
        const int before = calls;
        const int code = static_cast<int>(reinterpret_cast<Routine>(address)(file, 0, 0, 0, 0, 0));
        const bool refused = class_of(code) == MPI_ERR_UNSUPPORTED_OPERATION &&
                             calls == before + 1 && last_class == MPI_ERR_UNSUPPORTED_OPERATION;
        if (!refused)
            std::fprintf(stderr, "%s: code %d, %d calls of the handler\n", name, code,
                         calls - before);
        CHECK(refused);
    }
}

void a_refused_request_is_null(MPI_File file) {
    MPI_Request request;
    int value = 0;
    CHECK(MPI_File_iwrite_at(file, 0, &value, 1, MPI_INT, &request) != MPI_SUCCESS);
    CHECK(request == MPI_REQUEST_NULL);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    using namespace oratorio::test;
    MPI_Errhandler handler;
    MPI_File_create_errhandler(count_calls, &handler);
    MPI_File file = open_scratch();
    MPI_File_set_errhandler(file, handler);
    each_is_refused_through_the_handler(file);
    a_refused_request_is_null(file);
    MPI_Errhandler_free(&handler);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    const int result = verdict("bind_refused");
    MPI_Finalize();
    return result;
}
