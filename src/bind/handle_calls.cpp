// SPDX-License-Identifier: BSD-3-Clause
// Converts file handles to integers and back, for Fortran and for the standard ABI. Oratorio's
// handles are small integers already, and are returned unchanged. The host converts its own handles
// and MPI_FILE_NULL.
#include <cstdint>

#include "bind/entry.hpp"

namespace oratorio::bind {

namespace {

/// Returns the host's number for a handle. Hosts have c2f and f2c, or toint and fromint, or both;
/// both give the same number.
int host_number(MPI_File fh) {
    const auto& to_int = ORATORIO_HOST(MPI_File_toint);
    return to_int.present() ? to_int(fh) : ORATORIO_HOST(MPI_File_c2f)(fh);
}

MPI_File host_handle(int number) {
    const auto& from_int = ORATORIO_HOST(MPI_File_fromint);
    return from_int.present() ? from_int(number) : ORATORIO_HOST(MPI_File_f2c)(number);
}

int number_of(MPI_File fh) {
    if (fh == MPI_FILE_NULL || belongs_to_host(fh)) return host_number(fh);
    if (process().files.find(fh)) return static_cast<int>(FileTable::number_of(fh));
    return host_number(MPI_FILE_NULL);
}

MPI_File handle_of(int number) {
    return !disabled() && FileTable::in_range(number) ? FileTable::handle_of(number)
                                                      : host_handle(number);
}

}  // namespace

int host_lacks(const char* name) {
    tell(std::string(name) + " was called, but the host MPI has no such function");
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

MPI_Fint file_c2f(MPI_File fh) {
    return number_of(fh);
}
MPI_File file_f2c(MPI_Fint fh) {
    return handle_of(fh);
}
int file_toint(MPI_File fh) {
    return number_of(fh);
}
MPI_File file_fromint(int fh) {
    return handle_of(fh);
}

}  // namespace oratorio::bind
