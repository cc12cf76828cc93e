// SPDX-License-Identifier: BSD-3-Clause
// What the generated entry points (entry.cpp) call: one function for each C procedure of
// mpi_file.def, except that all data accesses share access, start, begin_split and end_split.
// Arguments, results and errors are those of the procedure in the standard (MPI-4.1, chapter 14
// unless a comment names other sections).
#pragma once

#include "base/direction.hpp"
#include "bind/host_routine.hpp"
#include "bind/process.hpp"
#include "bind/waiting.hpp"
#include "file/file.hpp"

#define ORATORIO_ENTRY extern "C" __attribute__((visibility("default")))

namespace oratorio::bind {

int file_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh);
int file_close(MPI_File* fh);
int file_delete(const char* filename, MPI_Info info);

int file_set_size(MPI_File fh, MPI_Offset size);
int file_preallocate(MPI_File fh, MPI_Offset size);
int file_get_size(MPI_File fh, MPI_Offset* size);
int file_get_group(MPI_File fh, MPI_Group* group);
int file_get_amode(MPI_File fh, int* amode);
int file_set_info(MPI_File fh, MPI_Info info);
int file_get_info(MPI_File fh, MPI_Info* info_used);
int file_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                  const char* datarep, MPI_Info info);
int file_get_view(MPI_File fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype,
                  char* datarep);
int file_seek(MPI_File fh, MPI_Offset offset, int whence);
int file_get_position(MPI_File fh, MPI_Offset* offset);
int file_get_byte_offset(MPI_File fh, MPI_Offset offset, MPI_Offset* disp);
int file_set_atomicity(MPI_File fh, int flag);
int file_get_atomicity(MPI_File fh, int* flag);
int file_sync(MPI_File fh);
int type_extent(MPI_File fh, MPI_Datatype datatype, MPI_Count* extent);
/// Implements both forms of MPI_File_get_type_extent, with MPI_Aint and with MPI_Count.
template <class Integer>
int file_get_type_extent(MPI_File fh, MPI_Datatype datatype, Integer* extent) {
    MPI_Count wide = 0;
    const int code = type_extent(fh, datatype, &wide);
    if (code == MPI_SUCCESS) *extent = static_cast<Integer>(wide);
    return code;
}

int file_seek_shared(MPI_File fh, MPI_Offset offset, int whence);
int file_get_position_shared(MPI_File fh, MPI_Offset* offset);
int register_datarep(const char* datarep, MPI_Datarep_conversion_function* read_conversion_fn,
                     MPI_Datarep_conversion_function* write_conversion_fn,
                     MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state);
int register_datarep(const char* datarep, MPI_Datarep_conversion_function_c* read_conversion_fn,
                     MPI_Datarep_conversion_function_c* write_conversion_fn,
                     MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state);

/// One data access, as the program requests it.
struct AccessForm {
    Direction direction;
    bool collective;
    Positioning at;
    MPI_Offset offset;  ///< used with an explicit offset only
    const void* buffer;
    MPI_Count count;
    MPI_Datatype datatype;
};
int access(const AccessForm& form, MPI_Status* status, MPI_File fh);
/// Starts an access with a request, which is null if the start fails.
int start(const AccessForm& form, MPI_Request* request, MPI_File fh);
int begin_split(const AccessForm& form, MPI_File fh);
int end_split(Direction direction, Positioning at, const void* buffer, MPI_Status* status,
              MPI_File fh);

/// Calls that complete or query requests, and calls that start or end MPI (MPI-4.1, 3.7, 11.2 and
/// 11.3).
int init(int* argc, char*** argv);
int init_thread(int* argc, char*** argv, int required, int* provided);
int finalize();
int session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session);
int session_finalize(MPI_Session* session);
int wait(MPI_Request* request, MPI_Status* status);
int waitany(int count, MPI_Request* requests, int* index, MPI_Status* status);
int waitall(int count, MPI_Request* requests, MPI_Status* statuses);
int waitsome(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses);
int test(MPI_Request* request, int* flag, MPI_Status* status);
int testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status);
int testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
int testsome(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses);
int request_get_status(MPI_Request request, int* flag, MPI_Status* status);
int request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag,
                           MPI_Status* status);
int request_get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses);
int request_get_status_some(int count, const MPI_Request* requests, int* completed, int* indices,
                            MPI_Status* statuses);
/// Implements MPICH's own routine of this name, which returns true or false, not an error code.
int request_is_complete(MPI_Request request);
/// Returns true if an operation of Oratorio isn't done, or its request isn't freed yet.
[[nodiscard]] bool requests_of_ours();

/// Error handlers of files (MPI-4.1, 9.3.3 and 9.5).
int file_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* errhandler);
int file_create_errhandler_x(MPIX_File_errhandler_function_x* function,
                             MPIX_Destructor_function* destructor, void* extra_state,
                             MPI_Errhandler* errhandler);
int file_set_errhandler(MPI_File fh, MPI_Errhandler errhandler);
int file_get_errhandler(MPI_File fh, MPI_Errhandler* errhandler);
int file_call_errhandler(MPI_File fh, int errorcode);

MPI_Fint file_c2f(MPI_File fh);
MPI_File file_f2c(MPI_Fint fh);
int file_toint(MPI_File fh);
MPI_File file_fromint(int fh);

}  // namespace oratorio::bind
