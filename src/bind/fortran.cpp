// SPDX-License-Identifier: BSD-3-Clause
// The Fortran routines that Oratorio implements. Hosts implement all others by calling C.
// - MPI_REGISTER_DATAREP, because its callbacks are Fortran routines. MPICH passes them to C
//   without marking them as such; Open MPI keeps the address of the extra state, not its value.
// - MPI_FILE_CREATE_ERRHANDLER with Open MPI, which makes the handler without calling C.
#include <dlfcn.h>

#include <string>

#include "bind/datarep.hpp"
#include "bind/entry.hpp"

namespace {

using namespace oratorio;
using namespace oratorio::bind;

/// MPI_Datarep_conversion_function and MPI_Datarep_extent_function as Fortran declares them
/// (MPI-4.1, 14.5.3): every argument by reference. Functions of the mpi_f08 module are called in
/// the same way.
using FortranConversion = void(void*, MPI_Fint*, MPI_Fint*, void*, MPI_Offset*, MPI_Aint*,
                               MPI_Fint*);
using FortranExtent = void(MPI_Fint*, MPI_Aint*, MPI_Aint*, MPI_Fint*);
using RegisterDatarep = void(const char*, void (*)(), void (*)(), void (*)(), MPI_Aint*, MPI_Fint*,
                             std::size_t);

/// Returns the host's own routine, for ORATORIO_DISABLE.
template <class Routine>
Routine* host_fortran_routine(const char* name) {
    for (const char* file : {"libmpi_mpifh.so.40", "libmpichfort.so.12", "libmpifort.so.12"}) {
        void* library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
        void* function = library != nullptr ? dlsym(library, name) : nullptr;
        if (function != nullptr) return reinterpret_cast<Routine*>(function);
    }
    return nullptr;
}

MPI_Fint fortran_handle(MPI_Datatype type) {
#ifdef OPEN_MPI
    return ORATORIO_HOST(MPI_Type_c2f)(type);
#else
    return type;  // handles are the same in both languages
#endif
}

/// Returns true for MPI_CONVERSION_FN_NULL, which is a routine of the host in Fortran.
bool is_null_function(void (*function)()) {
    for (const char* name :
         {"mpi_conversion_fn_null_", "mpi_conversion_fn_null", "mpi_conversion_fn_null__",
          "MPI_CONVERSION_FN_NULL", "__mpi_f08_callbacks_MOD_mpi_conversion_fn_null"}) {
        if (reinterpret_cast<void*>(function) == dlsym(RTLD_DEFAULT, name)) return true;
    }
    return function == nullptr;
}

ConversionFunction conversion_by(void (*function)(), MPI_Aint extra_state) {
    if (is_null_function(function)) return {};
    return [=](void* user, MPI_Datatype type, std::int64_t items, void* file, MPI_Offset position) {
        MPI_Fint datatype = fortran_handle(type), count = static_cast<MPI_Fint>(items);
        MPI_Fint error = MPI_SUCCESS;
        MPI_Aint extra = extra_state;
        reinterpret_cast<FortranConversion*>(function)(user, &datatype, &count, file, &position,
                                                       &extra, &error);
        return static_cast<int>(error);
    };
}

UserRepresentation representation_by(void (*read)(), void (*write)(), void (*extent)(),
                                     MPI_Aint extra_state) {
    return {conversion_by(read, extra_state), conversion_by(write, extra_state),
            [=](MPI_Datatype type, MPI_Aint* bytes) {
                MPI_Fint datatype = fortran_handle(type), error = MPI_SUCCESS;
                MPI_Aint extra = extra_state;
                reinterpret_cast<FortranExtent*>(extent)(&datatype, bytes, &extra, &error);
                return static_cast<int>(error);
            }};
}

/// Returns a string without leading and trailing blanks.
std::string trimmed(const char* text, std::size_t length) {
    const std::string all(text, length);
    const std::size_t first = all.find_first_not_of(' ');
    return first == std::string::npos ? ""
                                      : all.substr(first, all.find_last_not_of(' ') + 1 - first);
}

#ifdef OPEN_MPI
/// MPI_File_errhandler_function as Fortran declares it: both arguments are INTEGER.
using FortranHandler = void(MPI_Fint*, MPI_Fint*);
using CreateErrhandler = void(void (*)(), MPI_Fint*, MPI_Fint*);

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
#endif

}  // namespace

#ifdef OPEN_MPI
ORATORIO_ENTRY void mpi_file_create_errhandler_(void (*function)(), MPI_Fint* errhandler,
                                                MPI_Fint* ierror) {
    if (disabled()) {
        auto* const create =
            host_fortran_routine<CreateErrhandler>("ompi_file_create_errhandler_f");
        if (create != nullptr) return create(function, errhandler, ierror);
    }
    const int code = create_errhandler(reinterpret_cast<FortranHandler*>(function), errhandler);
    // The mpi_f08 module passes no address when the program leaves the error code out.
    if (ierror != nullptr) *ierror = code;
}
#endif

ORATORIO_ENTRY void mpi_register_datarep_(const char* datarep, void (*read_conversion_fn)(),
                                          void (*write_conversion_fn)(),
                                          void (*dtype_file_extent_fn)(), MPI_Aint* extra_state,
                                          MPI_Fint* ierror, std::size_t datarep_length) {
    if (disabled()) {
        for (const char* name : {"ompi_register_datarep_f", "pmpi_register_datarep_"}) {
            auto* const registers = host_fortran_routine<RegisterDatarep>(name);
            if (registers == nullptr) continue;
            return registers(datarep, read_conversion_fn, write_conversion_fn, dtype_file_extent_fn,
                             extra_state, ierror, datarep_length);
        }
    }
    const int code =
        register_representation(trimmed(datarep, datarep_length).c_str(),
                                representation_by(read_conversion_fn, write_conversion_fn,
                                                  dtype_file_extent_fn, *extra_state));
    if (ierror != nullptr) *ierror = code;
}

#define ORATORIO_FORTRAN_NAME(procedure, name) \
    ORATORIO_ENTRY decltype(procedure) name __attribute__((alias(#procedure)));
#include "fortran_names.inc"
