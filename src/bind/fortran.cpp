// MPI_FILE_CREATE_ERRHANDLER of Open MPI's Fortran bindings, which makes its handler without
// calling C. All other Fortran routines of all hosts call C, so this is the one Fortran routine
// that is answered here.
#include <dlfcn.h>

#include "bind/entry.hpp"

namespace {

using namespace oratorio;
using namespace oratorio::bind;

/// MPI_File_errhandler_function as Fortran declares it: both arguments are INTEGER.
using FortranHandler = void(MPI_Fint*, MPI_Fint*);
using CreateErrhandler = void(void (*)(), MPI_Fint*, MPI_Fint*);

/// The host's own, for ORATORIO_DISABLE.
CreateErrhandler* host_create_errhandler() {
    void* library = dlopen("libmpi_mpifh.so.40", RTLD_LAZY | RTLD_NOLOAD);
    void* function = library != nullptr ? dlsym(library, "ompi_file_create_errhandler_f") : nullptr;
    return reinterpret_cast<CreateErrhandler*>(function);
}

int create_errhandler(FortranHandler* function, MPI_Fint* errhandler) {
    MPI_Errhandler handle{};
    const ErrorHandler handler = user_handler([function](MPI_File fh, int error) {
        MPI_Fint unit = file_c2f(fh);
        MPI_Fint fortran_error = error;
        function(&unit, &fortran_error);
        return static_cast<int>(fortran_error);
    });
    const int code = process().handlers.make_handle(handler, &handle);
    if (code == MPI_SUCCESS) *errhandler = ORATORIO_HOST(MPI_Errhandler_c2f)(handle);
    return code;
}

}  // namespace

ORATORIO_ENTRY void mpi_file_create_errhandler_(void (*function)(), MPI_Fint* errhandler,
                                                MPI_Fint* ierror) {
    if (disabled()) {
        CreateErrhandler* const create = host_create_errhandler();
        if (create != nullptr) return create(function, errhandler, ierror);
    }
    const int code = create_errhandler(reinterpret_cast<FortranHandler*>(function), errhandler);
    // The mpi_f08 module passes no address when the program leaves the error code out.
    if (ierror != nullptr) *ierror = code;
}

#define ORATORIO_FORTRAN_NAME(name)                                                      \
    ORATORIO_ENTRY void name(void (*function)(), MPI_Fint* errhandler, MPI_Fint* ierror) \
        __attribute__((alias("mpi_file_create_errhandler_")));
#include "fortran_names.inc"
